package view

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// recall adds what the view does not show, if there is a place for it: before the newest
// words if the request ends with a person's, and at a cut beside the marker. total is the
// size of the view; recall reports whether it added anything.
func (e *draft) recall(ctx context.Context, total int) (bool, error) {
	if e.quiet {
		return false, nil
	}
	if !e.lacks() {
		return e.recallEarlier(ctx, total)
	}
	added, newest, err := e.recallHidden(ctx, total)
	e.recallsNewest, e.foundNothing = newest && added, newest && !added && !e.request.recallBegan.IsZero()
	return added, err
}

// recallHidden adds passages that the view does not show. added reports whether it
// added any; newest reports whether they are for the newest prompt.
func (e *draft) recallHidden(ctx context.Context, total int) (added, newest bool, err error) {
	spoken, marker := e.newPrompt(), -1
	if e.plan != nil {
		marker = e.marker()
	}
	into := spoken
	if into < 0 {
		into = marker
	}
	if into < 0 {
		return false, false, nil
	}
	room := min(min(e.recallTokens(), e.budget/recallShare)-e.request.recalled, e.budget-total)
	var texts []string
	if e.plan != nil {
		if standing := e.standing(ctx, min(room, mostStanding, e.budget/10)); standing != "" {
			texts = append(texts, standing)
		}
	}
	if e.plan != nil && spoken >= 0 && marker >= 0 && spoken != marker {
		// The cut is shared by all requests with this history. What is
		// recalled for the newest words belongs to them alone, and is the next
		// step.
		e.again = true
		added, err = e.bring(marker, texts, nil, total, room)
		return added, false, err
	}
	query := e.latest()
	if into == spoken {
		query = asksIn(e.message(e.pieces[into]))
	} else { // nobody has asked: at most a tenth of what a cut leaves for the messages
		room = min(room, (e.low()-e.fixed())/10)
	}
	left := room - e.tokensOf(texts)
	for search, try := left, 0; try < recallTries; try++ {
		text, found := e.find(ctx, query, search, into == spoken)
		if first := opening(query); text == "" && into == spoken && first != "" {
			query = first
			text, found = e.find(ctx, query, search, true)
		}
		if text == "" || into == spoken && e.crumbs(ctx, query, found, search) {
			break
		}
		if ok, err := e.bring(into, append(texts[:len(texts):len(texts)], text), found, total, room); ok || err != nil {
			return ok, into == spoken, err
		}
		// It has more tokens than recall counted: ask for that much less, and
		// a little.
		search = search*left/max(e.tokensOf([]string{text}), left) - recallSlack
	}
	added, err = e.bring(into, texts, nil, total, room)
	return added, into == spoken, err
}

// opening returns the first paragraph of long words, or "" if that is most of them or asks
// nothing: programs put rules and documents behind a question, in which it drowns.
func opening(words string) string {
	first, _, _ := strings.Cut(words, "\n\n")
	if first = strings.TrimSpace(first); len(words) < longWords || len(first) > len(words)/4 ||
		!recall.Questions(first) {
		return ""
	}
	return first
}

// longWords is the least size, in bytes, of words in which a question drowns.
const longWords = 1000

// makeRoom returns the draft with a cut that is due before the budget is used up, because
// the newest words ask for something of the history and there would be no room for it. It
// returns the draft itself if there is room, or if a cut would not make enough for this call
// and the next ones. total is the size of the view.
func (e *draft) makeRoom(ctx context.Context, total int) *draft {
	usual := e.usualRoom()
	if e.budget-total >= usual || !e.lacks() || e.quiet || e.v.o.Recall == nil || e.v.o.Condense != nil ||
		e.Thread.Stay {
		return e // a model's summary is not paid for to be thrown away
	}
	k := e.newPrompt()
	if k < 0 {
		return e
	}
	// What people say in passing seldom brings anything; what they tell an agent to do does.
	if query := asksIn(e.message(e.pieces[k])); !recall.Asks(query) ||
		!recall.Questions(query) && len(e.Body.Tools) == 0 {
		return e
	}
	smaller := e.clone()
	if err := smaller.cut(ctx, e.low(), window.Hard); err != nil || e.count(smaller.pieces).Total > e.budget-2*usual {
		return e
	}
	return smaller
}

// usualRoom returns the room in which a question usually finds what it needs.
func (e *draft) usualRoom() int { return min(e.recallTokens()/2, e.budget/5) }

// nearBest is how good a passage is, as a part of the best one's score, that is as likely to
// be needed.
const nearBest = .9

// crumbs reports whether less than half of what is likely to be needed was found, because
// the rest has no room: what is left would only take its place until the next cut.
func (e *draft) crumbs(ctx context.Context, query string, found []recall.Passage, room int) bool {
	if room >= e.usualRoom() {
		return false
	}
	_, all := e.find(ctx, query, e.usualRoom(), true)
	best := 0.0
	for i := range all {
		best = max(best, all[i].Score)
	}
	wanted, fits := 0, 0
	for i := range all {
		if all[i].Score < best*nearBest {
			continue
		}
		wanted += all[i].Tokens
		if slices.ContainsFunc(found, func(p recall.Passage) bool {
			return p.Block == all[i].Block &&
				p.Part == all[i].Part
		}) {
			fits += all[i].Tokens
		}
	}
	return fits*2 < wanted
}

// recallTokens returns the most tokens that one call recalls: the profile's
// own limit, or the general one.
func (s *request) recallTokens() int {
	if s.profile.Recall != 0 {
		return max(s.profile.Recall, 0)
	}
	return s.v.o.RecallTokens
}

// recallShare is the part of the budget, as a divisor, that recall may take for the newest
// words (SPEC D4). How much of it recall takes follows from how sure it is.
const recallShare = 2

// Recall counts passages in its own tokens, the view counts the whole in the
// model's. If what was found exceeds the room, a view searches recallTries
// times in all, each time for a little less than would fit.
const (
	recallTries = 3
	recallSlack = 16
)

// bring adds texts to a piece if they take at most room tokens, and reports
// whether it did. found are the passages of the last text.
func (e *draft) bring(into int, texts []string, found []recall.Passage, total, room int) (bool, error) {
	if len(texts) == 0 {
		return false, nil
	}
	raw, err := e.bare(into)
	if err != nil {
		return false, err
	}
	at := len(e.message(e.pieces[into]).Parts)
	if into == e.newPrompt() { // the newest words end the request
		_, at = wordsOf(e.message(e.pieces[into]))
	}
	for i, text := range texts {
		next, err := wire.InsertText(e.Body.Format, raw, text, at+i)
		if err != nil {
			return false, nil // no place for it
		}
		raw = next
	}
	pieces := slices.Clone(e.pieces)
	pieces[into].Raw = raw
	after := e.count(pieces).Total
	if after-total > room {
		return false, nil
	}
	e.set(into, raw)
	e.request.recalled += after - total
	for i, text := range texts {
		in := window.Insertion{Kind: "recall", Into: e.depth(e.pieces[into].Index), Tokens: e.counter.Text(text).Tokens,
			Text: text}
		if i == len(texts)-1 {
			in.Block, in.Parts = namesOf(found)
		}
		e.inserted, e.passages = append(e.inserted, in), append(e.passages, passagesIn(&in)...)
	}
	return true, nil
}

// tokensOf counts texts.
func (e *draft) tokensOf(texts []string) int {
	n := 0
	for _, text := range texts {
		n += e.counter.Text(text).Tokens
	}
	return n
}

// newPrompt returns the index of the piece with the user's new prompt; -1 if the request
// only continues an agent's work, or an earlier cut covers the prompt.
func (e *draft) newPrompt() int {
	if (e.Thread.Kind == thread.Retried || e.Thread.Again) && e.plan == nil {
		return -1 // as it was the first time
	}
	for k := len(e.pieces) - 1; k >= 0; k-- {
		m := e.message(e.pieces[k])
		if m.Role == chat.System || m.Role == chat.Developer {
			continue // a reminder belongs to the turn before it
		}
		if e.before != nil && e.depth(e.pieces[k].Index) <= e.before.Covers {
			return -1
		}
		if _, at := wordsOf(m); at < 0 {
			return -1
		}
		return k
	}
	return -1
}

// isPlainPrompt reports whether a message is a user's prompt without tool results. Text
// behind tool results would teach the model to stop early.
func isPlainPrompt(m *chat.Message) bool {
	return m.Prompts() && !slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind == chat.Result })
}

// wordsOf returns what a person says in a message, and the index of the first part that
// has any of it; -1 if nothing does.
func wordsOf(m *chat.Message) (text string, part int) {
	part = -1
	var out []string
	for i, words := range m.Words() {
		if words = strings.TrimSpace(words); words != "" {
			if out = append(out, words); part < 0 {
				part = i
			}
		}
	}
	if part < 0 {
		return taskBehind(m)
	}
	return strings.Join(out, "\n"), part
}

// newTask opens the line behind which smolagents puts a person's next task, in one text with
// what the last tool returned.
const newTask = "\nNew task:\n"

// taskBehind returns the task behind what a tool returned. A page that a tool read may have
// such a line, too: it decides what is searched for, and nothing else.
func taskBehind(m *chat.Message) (text string, part int) {
	last := len(m.Parts) - 1
	if last < 0 || m.Role != chat.User || m.Parts[last].Kind != chat.Text || m.Parts[last].Inserted() {
		return "", -1
	}
	text = m.Parts[last].Text.String()
	at := strings.LastIndex(text, newTask)
	if at < 0 || !strings.HasPrefix(text, "Observation:") {
		return "", -1
	}
	if text = strings.TrimSpace(text[at+len(newTask):]); text == "" {
		return "", -1
	}
	return text, last
}

// asksIn returns what a person asks in a message.
func asksIn(m *chat.Message) string {
	words, _ := wordsOf(m)
	return envelope.ReplaceAllString(words, "")
}

// envelope matches what gateways of messengers put before a message, such as
// "[Tue 2026-11-17 20:17 UTC]". Its numbers would be searched for.
var envelope = regexp.MustCompile(`^\[[^\[\]\n]{0,120}\b\d{1,2}:\d{2}\b[^\[\]\n]{0,40}\]\s*`)

// latest returns the newest prompt and what the agent said last.
func (e *draft) latest() string {
	prompt, said := "", ""
	for i := len(e.Body.Messages) - 1; i >= e.lead && (prompt == "" || said == ""); i-- {
		m := &e.Body.Messages[i]
		switch {
		case prompt == "" && m.Role == chat.User:
			prompt = asksIn(m)
		case said == "" && m.Role == chat.Assistant:
			said = saidBy(m)
		}
	}
	return clip(prompt, 2000) + "\n" + clip(said, 1000)
}

// saidBy returns the texts of a message. Newer models of Anthropic give what they say between
// calls of tools as thinking: of a message with calls and no texts, saidBy returns that.
func saidBy(m *chat.Message) string {
	var texts, thoughts []string
	calls := false
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case chat.Text:
			texts = append(texts, p.Text.String())
		case chat.Thinking:
			thoughts = append(thoughts, p.Text.String())
		case chat.Call:
			calls = true
		}
	}
	said := strings.TrimSpace(strings.Join(texts, "\n"))
	if said == "" && calls {
		said = strings.TrimSpace(strings.Join(thoughts, "\n"))
	}
	return said
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// marker returns the piece in which this cut reports that something is
// missing, or -1. A marker that an earlier cut left unchanged stays in the
// provider's cache and does not count.
func (e *draft) marker() int {
	at := e.byDepth()
	for _, in := range e.inserted {
		if k, sent := at[in.Into]; sent && k >= e.first && in.Kind != "recall" &&
			isPlainPrompt(e.message(e.pieces[k])) {
			return k
		}
	}
	return -1
}

// asRecall counts as recall does; a model may count more tokens for the same
// text.
var asRecall = sync.OnceValue(func() *token.Counter {
	return token.NewCounter(token.Model{Encoding: "o200k_base", Exact: true}, token.Options{})
})

// recallOpens begins every recalled text, and recallEnd ends it. What stands between is
// quoted; see package quote.
const (
	recallOpens = prompt.Recalled
	recallEnd   = prompt.QuotedEnd
)

// recallTitle returns the title of passages. What tools and files said is named as that: it
// is not the user's.
func recallTitle(passages []recall.Passage) string {
	if slices.ContainsFunc(passages, func(p recall.Passage) bool { return p.Mixed || p.Role == string(chat.Tool) }) {
		return prompt.RecalledToolTitle
	}
	return prompt.RecalledTitle
}

// expected reports whether a failure of recall is part of normal operation:
// its time is over, the conversation is not stored yet or was deleted
// meanwhile, or the program ends.
func expected(err error) bool {
	for _, e := range []error{context.DeadlineExceeded, context.Canceled, timeline.ErrNoConversation,
		timeline.ErrNoPlace, recall.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
