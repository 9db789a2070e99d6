package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// edition is a view in the making, on top of an earlier cut.
type edition struct {
	*sight
	before *Cut
	pieces []wire.Piece
	// changed: there is something that a cut must remember.
	changed bool
	plan    *window.Plan // of a new cut; nil for none
	// hidden are the messages of which something is not shown, by index.
	hidden map[int]bool
	// blocks are the verdicts, by depth.
	blocks   map[int]window.Block
	inserted []window.Insertion
	passages []string // blocks that were recalled, also earlier
	recalled int      // tokens that this call recalled
	again    bool     // a second step is to follow
	first    int      // the first piece that a new cut changes
	least    int      // what a cut that this one takes the place of covers
}

func (s *sight) edition(cut *Cut, pieces []wire.Piece) *edition {
	e := &edition{sight: s, before: cut, pieces: pieces, hidden: map[int]bool{}, blocks: map[int]window.Block{}}
	if cut == nil {
		return e
	}
	e.passages = slices.Clone(cut.Recalled)
	e.inserted = slices.Clone(cut.Plan.Inserted)
	for _, b := range cut.Plan.Blocks {
		e.blocks[b.Index] = b
	}
	e.lookAround()
	return e
}

// lookAround finds what is hidden now.
func (e *edition) lookAround() {
	clear(e.hidden)
	k := 0
	for i := e.lead; i < len(e.Body.Messages); i++ {
		for k < len(e.pieces) && e.pieces[k].Index < i {
			k++
		}
		shown := k < len(e.pieces) && e.pieces[k].Index == i
		if v := e.blocks[e.depth(i)].Verdict; !shown || v == window.Mask || v == window.Trim {
			e.hidden[i] = true
		}
	}
}

// set gives a message other bytes.
func (e *edition) set(k int, raw []byte) {
	e.pieces[k].Raw = raw
	e.changed = true
}

// cut fits the view, down to the low mark.
func (e *edition) cut(ctx context.Context, low int, mode window.Mode) error {
	sent := slices.Clone(e.pieces)
	summary, cost := e.summarised()
	out, err := e.Body.Write(e.pieces)
	if err != nil {
		return err
	}
	shown, err := wire.Read(out, e.Body.Format, wire.Limits{})
	if err != nil {
		return fmt.Errorf("read the view: %w", err)
	}
	// Who asks for a cut of what is within the budget wants it smaller all the same.
	budget := min(e.budget, e.count(e.pieces).Total-1)
	o := window.Options{
		Format: e.Body.Format, Model: e.Body.Model, Models: e.v.o.Models, Cache: e.v.o.Cache, Scale: e.v.o.Calibration.Scale(e.Body.Model),
		Budget: budget, Low: min(low, budget), Policy: e.profile.Policy, Mode: mode, Now: e.Now,
	}
	if summary != nil { // it may be so short that all fits: a cut is deep all the same
		o.Budget = max(o.Low, min(o.Budget, e.count(e.pieces).Total-1))
	}
	e.v.o.Condense.use(&o, summary)
	for k, p := range e.pieces {
		if d := e.depth(p.Index); d > 0 && slices.Contains(e.Pins, d) {
			o.Pins = append(o.Pins, k)
		}
	}
	v, err := window.FitView(ctx, shown, o)
	if err != nil {
		return err
	}
	if v.Plan.Action == "none" {
		return nil
	}
	was := e.pieces
	e.pieces = make([]wire.Piece, 0, len(v.Shown))
	for _, p := range v.Shown {
		old := was[p.Index]
		if p.Raw != nil {
			bare, _, err := wire.TakeMarks(e.Body.Format, p.Raw)
			if err != nil {
				return err
			}
			old.Raw = bare
		}
		e.pieces = append(e.pieces, old)
	}
	for _, b := range v.Plan.Blocks {
		b.Index = e.depth(was[b.Index].Index)
		if b.Index > 0 && b.Verdict != window.Keep {
			e.blocks[b.Index] = b
		}
	}
	for _, in := range v.Plan.Inserted {
		in.Into = e.depth(was[in.Into].Index)
		e.inserted = slices.DeleteFunc(e.inserted, func(o window.Insertion) bool { return sameInsertion(o, in) })
		e.inserted = append(e.inserted, in)
	}
	e.plan, e.changed = v.Plan, true
	e.plan.Summary.Cost += cost
	e.plan.Budget = e.budget
	for e.first = 0; e.first < min(len(sent), len(e.pieces)) && sent[e.first].Index == e.pieces[e.first].Index && sameBytes(sent[e.first].Raw, e.pieces[e.first].Raw); e.first++ {
	}
	if err := e.forget(); err != nil {
		return err
	}
	e.unbind(e.first)
	e.lookAround()
	e.fill(e.lead, e.budget-e.count(e.pieces).Total)
	return nil
}

// forget drops what was inserted before and has left with its message: it may be needed
// again. What earlier cuts brought back beside what tells of them leaves where this one
// changes the message anyway: what matters now is found anew, and the rest would pile up
// until there is room for nothing else.
func (e *edition) forget() error {
	tells := map[int]bool{} // by depth
	for _, in := range e.inserted {
		tells[in.Into] = tells[in.Into] || in.Kind != "recall"
	}
	e.passages = nil
	kept := e.inserted[:0:0]
	for _, in := range e.inserted {
		shown, err := e.stillShows(in, tells[in.Into])
		if err != nil {
			return err
		}
		if shown {
			kept = append(kept, in)
			e.passages = append(e.passages, strings.Fields(in.Block)...)
		}
	}
	e.inserted = kept
	return nil
}

// stillShows reports whether a message still has what was inserted. tells: it also tells
// of what left.
func (e *edition) stillShows(in window.Insertion, tells bool) (bool, error) {
	k := slices.IndexFunc(e.pieces, func(p wire.Piece) bool { return e.depth(p.Index) == in.Into })
	if k < 0 || in.Kind != "recall" {
		return k >= 0, nil
	}
	if !slices.ContainsFunc(e.message(e.pieces[k]).Parts, func(p chat.Part) bool { return p.Text.String() == in.Text }) {
		return false, nil
	}
	if k < e.first || !tells || !strings.HasPrefix(in.Text, recallTitle) {
		return true, nil
	}
	raw, err := e.bare(k)
	if err != nil {
		return false, err
	}
	bare, err := wire.TakeTexts(e.Body.Format, raw, func(text string) bool { return text == in.Text })
	if err != nil || len(bare) == len(raw) {
		return true, err
	}
	e.set(k, bare)
	return false, nil
}

// recall brings back what the view does not show, where there is a place for it: in
// the newest message if a user speaks there, at a cut beside what says that something
// is missing. total is what the view has; it reports whether something was added.
func (e *edition) recall(ctx context.Context, total int) (bool, error) {
	if len(e.hidden) == 0 {
		return false, nil
	}
	spoken, marker := e.spoken(), -1
	if e.plan != nil {
		marker = e.marker()
	}
	into, query := spoken, ""
	if into < 0 {
		into = marker
	}
	if into < 0 {
		return false, nil
	}
	var texts []string
	if e.plan != nil {
		if standing := e.standing(); standing != "" {
			texts = append(texts, standing)
		}
	}
	var blocks []string
	if e.plan != nil && spoken >= 0 && marker >= 0 && spoken != marker {
		// The cut is everybody's who has this history; what is brought back for
		// the newest words belongs to them alone, and is the next step.
		into, e.again = marker, true
	} else {
		room := min(e.v.o.RecallTokens, e.budget/10, e.budget-total)
		if query = e.latest(); into == spoken {
			query = words(e.message(e.pieces[into]))
		} else { // nobody has asked: no more than a tenth of what a cut leaves to the messages
			room = min(room, (e.low()-e.fixed())/10)
		}
		var text string
		if text, blocks = e.find(ctx, query, room); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return false, nil
	}
	raw, err := e.bare(into)
	if err != nil {
		return false, err
	}
	for _, text := range texts {
		next, err := wire.AppendText(e.Body.Format, raw, text)
		if err != nil {
			return false, nil // no place for it
		}
		raw = next
	}
	pieces := slices.Clone(e.pieces)
	pieces[into].Raw = raw
	after := e.count(pieces).Total
	if after > e.budget {
		return false, nil
	}
	e.set(into, raw)
	e.recalled = after - total
	e.passages = append(e.passages, blocks...)
	for i, text := range texts {
		in := window.Insertion{Kind: "recall", Into: e.depth(e.pieces[into].Index), Tokens: e.counter.Text(text).Tokens, Text: text}
		if i == len(texts)-1 {
			in.Block = strings.Join(blocks, " ")
		}
		e.inserted = append(e.inserted, in)
	}
	return true, nil
}

// spoken is the piece of what a user says in this request and has not said before; -1
// where it is an agent that goes on, or something was brought back already.
func (e *edition) spoken() int {
	if e.Thread.Kind == thread.Retried && e.plan == nil {
		return -1 // as it was the first time
	}
	for k := len(e.pieces) - 1; k >= 0; k-- {
		m := e.message(e.pieces[k])
		if m.Role == chat.System || m.Role == chat.Developer {
			continue // a reminder belongs to the turn before it
		}
		if e.before != nil && e.depth(e.pieces[k].Index) <= e.before.Covers || !speaks(m) {
			return -1
		}
		return k
	}
	return -1
}

// speaks reports whether a user says something in a message, and nothing else is in it:
// behind results of tools a text would teach the model to stop early.
func speaks(m *chat.Message) bool {
	return m.Prompts() && !slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind == chat.Result })
}

// words are the texts of a message, reminders aside.
func words(m *chat.Message) string {
	var out []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == chat.Text {
			if text := strings.TrimSpace(p.Text.String()); !slices.ContainsFunc(notSaid, func(tag string) bool { return strings.HasPrefix(text, tag) }) {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, "\n")
}

// notSaid is how texts begin that agents, and this program, put into a user's message.
var notSaid = []string{"<system-reminder>", "<local-command-", "<command-", "[Oriel"}

// latest is the newest prompt and what the agent said last.
func (e *edition) latest() string {
	prompt, said := "", ""
	for i := len(e.Body.Messages) - 1; i >= e.lead && (prompt == "" || said == ""); i-- {
		m := &e.Body.Messages[i]
		switch {
		case prompt == "" && m.Prompts():
			prompt = words(m)
		case said == "" && m.Role == chat.Assistant:
			said = words(m)
		}
	}
	return clip(prompt, 2000) + "\n" + clip(said, 1000)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// marker is the piece in which this cut says that something is missing, or -1: one that
// an earlier cut left as it is stays in the provider's cache.
func (e *edition) marker() int {
	for _, in := range e.inserted {
		if in.Kind == "recall" {
			continue
		}
		for k := e.first; k < len(e.pieces); k++ {
			if e.depth(e.pieces[k].Index) == in.Into && speaks(e.message(e.pieces[k])) {
				return k
			}
		}
	}
	return -1
}

// asRecall counts as recall does; models may have more tokens for the same text.
var asRecall = sync.OnceValue(func() *token.Counter { return token.NewCounter(token.Model{}, token.Options{}) })

// recallTitle stands before what was brought back.
const recallTitle = "[Oriel: earlier parts of this conversation that are no longer shown and may matter now]\n"

// find asks the history.
func (e *edition) find(ctx context.Context, query string, room int) (text string, blocks []string) {
	if e.v.o.Recall == nil || room < leastRecall || !recall.Asks(query) || e.Thread.Stay {
		return "", nil // beside the main line the history is that of others
	}
	defer func() { // a view never fails because recall does
		if p := recover(); p != nil {
			text, blocks, e.failed = "", nil, fmt.Errorf("recall: a panic: %v", p)
		}
	}()
	wait, cancel := context.WithTimeout(ctx, e.v.o.RecallWait)
	defer cancel()
	known := map[string]bool{}
	for _, b := range e.passages {
		known[b] = true
	}
	shown := map[string]bool{}
	for _, p := range e.pieces {
		if d := e.depth(p.Index); d > 0 && !e.hidden[p.Index] {
			shown[strconv.Itoa(d)] = true
		}
	}
	depth := e.Thread.Depth() // of what comes before, and is the conversation's
	if e.Thread.Kind == thread.Branched {
		depth = len(e.Thread.Before) + e.Thread.Known - e.Thread.From + 1
	}
	found, err := e.v.o.Recall.Recall(wait, recall.Where{Tenant: e.Thread.Tenant, Conversation: e.Thread.Conversation}, query, recall.RecallOptions{
		Budget: (room - e.counter.Text(recallTitle).Tokens - 8) * asRecall().Text(recallTitle).Tokens / e.counter.Text(recallTitle).Tokens, Now: e.Now,
		Exclude: func(block string) bool {
			if shown[block] || known[block] {
				return true
			}
			n, err := strconv.Atoi(block) // one of this conversation
			return err == nil && n >= depth
		},
	})
	if err != nil || found.Text == "" {
		return "", nil
	}
	for _, p := range found.Passages {
		blocks = append(blocks, p.Block)
	}
	return recallTitle + found.Text, blocks
}

// leastRecall is the least room in which anything is brought back.
const leastRecall = 96

// standing are the instructions that users gave in messages that left: they hold on.
func (e *edition) standing() string {
	const most = 256 // tokens
	var all []string
	used := 0
	for i := len(e.Body.Messages) - 1; i >= e.lead; i-- {
		m := &e.Body.Messages[i]
		if _, shown := e.piece(i); shown || m.Role != chat.User || !m.Prompts() {
			continue
		}
		for _, said := range recall.Detect(words(m)) {
			n := e.counter.Text(said.Text).Tokens + 2
			if said.Kind != recall.Instruction || used+n > most || slices.Contains(all, said.Text) || e.says(said.Text) {
				continue
			}
			used += n
			all = append(all, said.Text)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Reverse(all)
	return "[Oriel: the user said earlier, and it still holds]\n- " + strings.Join(all, "\n- ")
}

// piece is where message i is sent.
func (e *edition) piece(i int) (k int, ok bool) {
	return slices.BinarySearchFunc(e.pieces, i, func(p wire.Piece, i int) int { return p.Index - i })
}

// bare are the bytes of a piece without cache marks.
func (e *edition) bare(k int) ([]byte, error) {
	if raw := e.pieces[k].Raw; raw != nil {
		return raw, nil
	}
	raw, _, err := wire.TakeMarks(e.Body.Format, e.Body.Messages[e.pieces[k].Index].Raw)
	return raw, err
}

// says reports whether a text that was inserted before says this.
func (e *edition) says(text string) bool {
	return slices.ContainsFunc(e.inserted, func(in window.Insertion) bool { return in.Kind == "recall" && strings.Contains(in.Text, text) })
}

// finish makes the cut that does all this again.
func (e *edition) finish(total int) *Cut {
	id := "p-" + e.ID
	if e.steps > 0 {
		id += "r"
	}
	c := &Cut{ID: id, For: whose(e.model.ID, e.Body.Format), Bare: e.binds(), Instead: map[int][]byte{}, Recalled: e.passages}
	if c.Own = map[timeline.Hash][]byte{}; e.before != nil {
		maps.Copy(c.Own, e.before.Own)
	}
	known := 0 // the depth up to which c is made
	// What is not in this request is as it was before.
	carry := func(to int) {
		for known++; e.before != nil && known < min(to, e.before.Covers+1); known++ {
			if e.before.Gone.Has(known) {
				c.Gone.Add(known)
			} else if raw, ok := e.before.Instead[known]; ok {
				c.Instead[known] = raw
			}
		}
	}
	for i := e.lead; i < len(e.Body.Messages); i++ {
		d := e.depth(i)
		if d == 0 {
			if k, shown := e.piece(i); !shown {
				c.Own[e.identity(i)] = nil
			} else if e.pieces[k].Raw != nil {
				c.Own[e.identity(i)] = e.pieces[k].Raw
			} else {
				delete(c.Own, e.identity(i))
			}
			continue
		}
		carry(d)
		known = d
		if k, shown := e.piece(i); !shown {
			c.Gone.Add(d)
			c.Covers = d
		} else if e.pieces[k].Raw != nil {
			c.Instead[d] = e.pieces[k].Raw
			c.Covers = d
		}
	}
	if e.before != nil {
		c.Covers = max(c.Covers, e.before.Covers)
	}
	settled := e.settled()
	c.Covers = max(c.Covers, settled, e.least)
	if len(c.Own) > 0 { // it holds wherever the client's own message stands
		c.Covers = max(c.Covers, len(e.Thread.Before))
	}
	c.Open = c.Covers <= settled
	plan := window.Plan{Policy: "ladder", Mode: window.Hard, Model: e.Body.Model, Budget: e.budget, Low: e.low(), Action: "none", Blocks: []window.Block{}, Inserted: e.inserted}
	if e.before != nil {
		plan = e.before.Plan
		plan.Inserted = e.inserted
	}
	if e.plan != nil {
		plan = *e.plan
		plan.Inserted, plan.Blocks = e.inserted, nil
		for _, d := range sortedKeys(e.blocks) {
			plan.Blocks = append(plan.Blocks, e.blocks[d])
		}
	}
	plan.TokensBefore, plan.TokensAfter, plan.Undo = e.sight.before.Total, total, c.ID
	c.Plan = plan
	c.fold = foldOf(e.before, c)
	return c
}

// settled is the depth up to the newest exchange: what parallel calls have in common.
func (e *edition) settled() int {
	cuts := chat.NewCuts(e.Body.Messages, e.Body.Rules())
	if n := len(cuts.Exchanges); n > 0 {
		if start := cuts.Exchanges[n-1].Start; start > e.lead {
			return e.depth(start - 1)
		}
	}
	return 0
}

func sortedKeys(m map[int]window.Block) []int {
	out := make([]int, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
