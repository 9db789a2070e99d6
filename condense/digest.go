package condense

import (
	"context"
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
)

// Digest condenses an agent's work without a model: what was asked, what was
// decided, which files changed, which commands ran and how they ended (SPEC D7).
// It is deterministic (SPEC E6) and reads a span once.
//
// Tools are recognised by the shape of their arguments, see [MainArgument].
//
// If not everything fits in Input.Max, each section (task, decisions, changed files,
// errors, commands, the rest) gets a share before the first may take more. Within a
// section the newest items stay, and so do the first request and standing rules. The
// items are written in chronological order.
//
// A span without tool calls is a talk. Its digest is short and has other sections: what it
// is about, what was agreed, what is open, names and dates.
//
// A previous digest is merged section by section. Any other previous summary is
// kept in a section of its own, cut at the end of a sentence.
type Digest struct{}

// Condense returns the digest; its text is empty if nothing fits or is worth saying.
func (Digest) Condense(ctx context.Context, in Input) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	in = in.withDefaults()
	c := &collector{files: map[string]*file{}, commands: map[string]*command{}, errors: map[string]*item{}, todoAt: -1}
	c.previous(in.Previous)
	shares := workShares
	if isTalk(in.Messages) && !c.hasWork {
		c.asTalk()
		c.talk(bounded(read(in.Messages)))
		in.Max, shares = min(in.Max, TalkMax+c.earlierTokens(in.Count)), talkShares
	} else {
		c.span(bounded(read(in.Messages)))
	}
	c.finish()
	text := fill(c.items, c.folder, shares, in)
	return Output{Text: disarm(strings.ToValidUTF8(text, "\ufffd")), Kind: KindDigest}, nil
}

// item is one line of a digest.
type item struct {
	section section
	text    string
	// at orders items in time; those of a previous digest are below 0.
	at int
	// weight ranks some items of a section before newer ones if not all fit.
	weight int
}

// file is the history of one path.
type file struct {
	path                  string
	reads, changes, fails int
	// lastFailed reports that the newest change failed.
	lastFailed     bool
	readAt, lastAt int
}

// command is the history of one command, however often it ran.
type command struct {
	text        string
	runs, fails int
	last        string
	at          int
	show, test  bool
}

// collector gathers the items of a digest.
type collector struct {
	items []item
	// Lists keep the order of first appearance; maps are for lookup.
	fileList    []*file
	files       map[string]*file
	commandList []*command
	commands    map[string]*command
	errorList   []*item
	errors      map[string]*item
	// sources holds the errors of a command or path, which a later success removes.
	sources map[string][]*item

	// hasTask reports that the section task has an item, hasWork that a previous digest
	// is of work.
	hasTask, hasWork bool
	// subjects and known are the subjects and names of a previous digest of a talk.
	subjects, known []string
	// folder contains most paths.
	folder string
	// stillOpen is what a previous digest listed as open.
	stillOpen []item
	todo      []string
	todoAt    int
	buf       []byte
}

// span collects the events of a span.
func (c *collector) span(events []event) {
	c.sources = map[string][]*item{}
	asked, askedAt := "", 0 // the assistant's last question, until a user speaks
	requests := 0
	for i := range events {
		e := &events[i]
		switch {
		case e.call != nil:
			c.call(e)
		case e.who == chat.User:
			c.stillOpen = nil // the conversation has continued
			c.request(e, asked, requests == 0)
			requests++
			asked = ""
		default:
			last := i+1 == len(events) || events[i+1].who == chat.User
			asked, askedAt = c.answer(e, last), e.msg
		}
	}
	if asked != "" {
		c.add(secOpen, prompt.DigestAsked+clipLine(asked, 300), askedAt, 1)
	}
	for i, step := range c.todo {
		if i == 12 {
			break
		}
		c.add(secOpen, prompt.DigestStep+toolText(clipLine(step, 160)), c.todoAt, 0)
	}
}

func (c *collector) add(s section, text string, at, weight int) {
	c.hasTask = c.hasTask || s == secTask
	c.items = append(c.items, item{section: s, text: text, at: at, weight: weight})
}

// Limits in bytes for quoting one request; the first one sets the task.
const (
	firstRequest = 800
	nextRequest  = 320
	oneSentence  = 300
)

// request collects a user's text. Sentences that decide go to the decisions, the
// others to the task.
func (c *collector) request(e *event, asked string, first bool) {
	all := lead(sentences(e.text))
	if len(all) == 1 && asked != "" && isReply(all[0]) {
		c.add(secDecisions, prompt.DigestAsked+clipLine(asked, 200)+" "+prompt.DigestUser+all[0].text, e.msg, 1)
		return
	}
	var rest []string
	blocks := 0
	for _, s := range all {
		if s.code {
			blocks++
			continue
		}
		c.buf = plain(c.buf, s.text)
		// Of the first request only rules go to the decisions: its wishes are the
		// task.
		if w := decides(c.buf, s.text, true); (w > 1 || w == 1 && !first) && len(s.text) < 2*oneSentence {
			c.add(secDecisions, prompt.DigestUser+clipLine(s.text, oneSentence), e.msg, w)
			continue
		}
		rest = append(rest, s.text)
	}
	text := pick(rest, map[bool]int{true: firstRequest, false: nextRequest}[first])
	c.buf = plain(c.buf, text)
	switch {
	case text == "" && blocks == len(all) && blocks > 0:
		text = fmt.Sprintf(prompt.DigestPasted, strings.Count(e.text, "\n")+1)
	case text == "" && first && len(all) > 0:
		text = clipLine(all[0].text, oneSentence)
	case text == "" || nodding(c.buf) && !first:
		return
	}
	weight := 0
	if first && !c.hasTask {
		weight = 3
	}
	c.add(secTask, text, e.msg, weight)
}

// isReply reports whether a sentence answers a question rather than making a new
// request.
func isReply(s sentence) bool {
	return !s.code && len(s.text) < 200 && !strings.HasSuffix(s.text, "?") && !hasCue(plain(nil, s.text), pleas)
}

// lead joins a sentence that ends with a colon to what it announces.
func lead(all []sentence) []sentence {
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && !s.code && !out[n-1].code && strings.HasSuffix(out[n-1].text, ":") &&
			len(out[n-1].text)+len(s.text) < oneSentence {
			out[n-1].text += " " + s.text
			continue
		}
		out = append(out, s)
	}
	return out
}

// pick quotes sentences up to a number of bytes: all if they fit, otherwise the
// first and the last, then the others from the front. Gaps are marked.
func pick(list []string, limit int) string {
	total := 0
	for _, s := range list {
		total += len(s) + 1
	}
	keep := make([]bool, len(list))
	room := limit
	take := func(i int) {
		if n := min(len(list[i]), oneSentence) + 1; !keep[i] && (n <= room || room == limit) {
			keep[i] = true
			room -= n
		}
	}
	if total > limit && len(list) > 1 {
		take(0)
		take(len(list) - 1)
	}
	for i := range list {
		take(i)
	}
	var b strings.Builder
	gap := false
	for i, s := range list {
		if !keep[i] {
			gap = true
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
			if gap {
				b.WriteString("… ")
			}
		}
		gap = false
		b.WriteString(clipLine(s, max(oneSentence, limit/2)))
	}
	return b.String()
}

// answer collects an assistant's text; last reports that it ends the turn. It
// returns the question with which the text ends, if any.
func (c *collector) answer(e *event, last bool) (asked string) {
	all := sentences(e.text)
	var head []string
	room := 260
	for i, s := range all {
		if s.code {
			continue
		}
		s.text = quote.Disarm(s.text) // a model repeats what pages say
		if strings.HasSuffix(s.text, "?") && last && i >= len(all)-4 {
			asked = s.text
			continue
		}
		c.buf = plain(c.buf, s.text)
		if decides(c.buf, s.text, false) > 0 && len(s.text) < 2*oneSentence {
			c.add(secDecisions, prompt.DigestAssistant+clipLine(withoutMarks(s.text), oneSentence), e.msg, 0)
		} else if room > 0 && s.text[0] != '|' && s.text[0] != '#' && !strings.HasSuffix(s.text, ":") &&
			s.text != noAnswer {
			head = append(head, clipLine(withoutMarks(s.text), 200))
			room -= len(s.text)
		}
	}
	if last && len(head) > 0 {
		c.add(secProgress, strings.Join(head, " "), e.msg, 0)
	}
	return withoutMarks(asked)
}

// noAnswer is what Claude Code writes if a model had nothing to say.
const noAnswer = "No response requested."

// withoutMarks removes emphasis and heading marks.
func withoutMarks(s string) string {
	s = strings.ReplaceAll(s, "**", "")
	return strings.TrimSpace(strings.TrimLeft(s, "#"))
}
