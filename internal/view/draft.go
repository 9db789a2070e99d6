package view

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// draft is an unfinished view, based on an earlier cut.
type draft struct {
	*request
	before *plan.Plan
	pieces []wire.Piece
	// changed reports that there is something that a cut must remember.
	changed bool
	plan    *window.Plan // of a new cut; nil if there is none
	// hidden marks the messages of which something is not shown, by index.
	hidden map[int]bool
	// blocks are the verdicts, by depth.
	blocks   map[int]window.Block
	inserted []window.Insertion
	passages []string // what was recalled, now or earlier, as in plan.Plan.Recalled
	out      []int    // pieces that were out before, if others are restored
	again    bool     // a second step follows
	cleared  bool     // something that was recalled for earlier turns has left
	first    int      // the first piece that a new cut changes
	least    int      // how many messages the replaced cut covers
	reused   float64  // what a summary that takes the place of a digest cost
	// identified are the messages of the request with ids in all calls; nil until one is needed.
	identified []chat.Message
}

func (s *request) newDraft(cut *plan.Plan, pieces []wire.Piece) *draft {
	e := &draft{request: s, before: cut, pieces: pieces, hidden: map[int]bool{}, blocks: map[int]window.Block{}}
	if cut == nil {
		return e
	}
	e.passages = slices.Clone(cut.Recalled)
	e.inserted = slices.Clone(cut.Plan.Inserted)
	for _, b := range cut.Plan.Blocks {
		e.blocks[b.Index] = b
	}
	e.findHidden()
	return e
}

// clone returns a draft that can be changed without the original.
func (e *draft) clone() *draft {
	c := *e
	c.pieces, c.inserted, c.passages = slices.Clone(e.pieces), slices.Clone(e.inserted), slices.Clone(e.passages)
	c.hidden, c.blocks = maps.Clone(e.hidden), maps.Clone(e.blocks)
	return &c
}

// findHidden recomputes hidden.
func (e *draft) findHidden() {
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
func (e *draft) set(k int, raw []byte) {
	e.pieces[k].Raw = raw
	e.changed = true
}

// cut fits the view, down to the low mark.
func (e *draft) cut(ctx context.Context, low int, mode window.Mode) error {
	sent := slices.Clone(e.pieces)
	summary, cost := e.summarised()
	total := e.count(e.pieces).Total
	leaves, err := e.dropRecalled()
	if err != nil {
		return err
	}
	dropped := leaves >= 0
	// A caller that asks for a cut within the budget wants the view smaller
	// nevertheless.
	budget := min(e.budget, total-1)
	o := window.Options{
		Model: e.Body.Model, Models: e.v.o.Models,
		Window: e.model.WindowFor(e.Betas...), Budget: budget, Low: min(low, budget), Profile: e.Profile,
		Profiles: e.v.o.Profiles, Policy: e.profile.Policy, KeepTools: e.v.o.KeepTools, Mode: mode, Now: e.Now,
	}
	if o.Policy == "relevance" {
		o.Query = e.latest()
	}
	if summary != nil || dropped { // everything may fit now, but a cut is still deep
		o.Budget = max(o.Low, min(o.Budget, e.count(e.pieces).Total-1))
	}
	if o.Words = o.Budget; e.crowded {
		o.Words = o.Low
	}
	if o.Out = e.out; o.Out != nil {
		o.Low = o.Budget
	}
	if o.Policy == "condense" && o.Out == nil && total <= e.hard {
		o.Wish, o.Budget = o.Budget, e.hard // a summary that fails costs nothing (SPEC B3)
	}
	e.v.o.Condense.use(&o, summary, e.request)
	for k, p := range e.pieces {
		if e.pinned(p.Index) {
			o.Pins = append(o.Pins, k)
		}
	}
	e.request.omit = e.dismissedSentences(ctx)
	o.Omit = e.request.omit
	v, err := window.FitView(ctx, e.marked(), o)
	if err != nil {
		return err
	}
	if v.Plan.Action == "none" {
		e.request.unused = v.Plan.Summary
		if !dropped {
			return nil
		}
		*v.Plan = e.before.Plan // dropping recalled passages is enough
		v.Plan.Blocks, v.Plan.Inserted = nil, nil
	}
	was := e.pieces
	e.pieces = make([]wire.Piece, 0, len(v.Shown))
	for _, p := range v.Shown {
		old := was[p.Index]
		if p.Raw != nil {
			bare, _, err := wire.WithoutCacheMarks(e.Body.Format, p.Raw)
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
	e.plan.Summary.Cost, e.reused = e.plan.Summary.Cost+cost, cost
	e.plan.Budget, e.plan.Grown = e.budget, e.grown
	for e.first = 0; e.first < min(len(sent), len(e.pieces)) && sent[e.first].Index == e.pieces[e.first].Index &&
		sameBytes(sent[e.first].Raw, e.pieces[e.first].Raw); e.first++ {
	}
	e.forget()
	e.unbind(e.first)
	e.findHidden()
	return e.fill(ctx, e.lead, e.budget-e.count(e.pieces).Total)
}

// marked returns the view as a request in which the parts that plans put there are marked.
func (e *draft) marked() *window.Request {
	r := e.counted(e.pieces)
	for k := range r.Messages {
		parts := r.Messages[k].Parts
		for j := range parts {
			if !e.wrote(k, &parts[j]) {
				continue
			}
			if &r.Messages[k].Parts[0] == &parts[0] {
				r.Messages[k].Parts = slices.Clone(parts)
			}
			r.Messages[k].Parts[j].Written = true
		}
	}
	return r
}

// wrote reports whether a plan put a part of piece k there. A client's message that has
// such a text by itself is the client's.
func (e *draft) wrote(k int, p *chat.Part) bool {
	if e.pieces[k].Raw == nil || !p.Inserted() {
		return false
	}
	into, text := e.depth(e.pieces[k].Index), p.Text.String()
	return slices.ContainsFunc(e.inserted, func(in window.Insertion) bool {
		return in.Into == into && (in.Text == text || string(prompt.WithoutTool([]byte(in.Text))) == text)
	})
}

// oldRecalled returns the passages that were recalled for earlier turns, or at earlier cuts
// of the newest one, and are still sent: as indices of e.inserted, oldest first, and their
// tokens.
func (e *draft) oldRecalled() (old []int, tokens int) {
	at := e.byDepth()
	turn := len(e.pieces) - 1 // where the newest turn begins
	for turn > 0 {
		if _, part := wordsOf(e.message(e.pieces[turn])); part >= 0 {
			break
		}
		turn--
	}
	current := -1 // what was recalled last for the newest turn
	for i, in := range e.inserted {
		k, sent := at[in.Into]
		if !sent || in.Kind != "recall" || !strings.HasPrefix(in.Text, recallOpens) {
			continue
		}
		if k >= turn {
			i, current = current, i
		}
		if i >= 0 {
			old = append(old, i)
			tokens += e.inserted[i].Tokens
		}
	}
	return old, tokens
}

// mostUsed is of how many passages, the newest first, it is found out whether the model used
// them: that reads the view again for each.
const mostUsed = 8

// mostOld is the part of the budget, as a divisor, that passages of earlier turns may take.
const mostOld = 10

// clearOld removes the passages of earlier turns when a new one begins and they take more
// than their part of the budget. Otherwise they stay until the next cut, because the
// provider has them in its cache.
func (e *draft) clearOld() error {
	if _, tokens := e.oldRecalled(); tokens <= e.budget/mostOld || e.Thread.Stay || e.newPrompt() < 0 {
		return nil
	}
	first, err := e.dropRecalled()
	if err != nil || first < 0 {
		return err
	}
	e.forget()
	e.unbind(first)
	return nil
}

// dropRecalled removes the passages that were recalled for earlier turns, except those that
// the model used, as far as these fit their part of the budget. It returns the first piece
// that has changed, or -1.
func (e *draft) dropRecalled() (first int, err error) {
	first = -1
	at := e.byDepth()
	kept := 0
	old, _ := e.oldRecalled()
	for n, i := range slices.Backward(old) {
		in := &e.inserted[i]
		k := at[in.Into]
		if len(old)-n <= mostUsed && kept+in.Tokens <= e.budget/mostOld && e.uses(k, in.Text) {
			kept += in.Tokens
			continue
		}
		raw, err := e.bare(k)
		if err != nil {
			return first, err
		}
		bare, err := wire.RemoveTexts(e.Body.Format, raw, func(text string) bool { return text == in.Text })
		if err != nil {
			return first, err
		}
		if len(bare) < len(raw) {
			e.set(k, bare)
			if first < 0 || k < first {
				first = k
			}
			e.cleared = true
		}
	}
	return first, nil
}

// uses reports whether the model used what was recalled for the turn that begins with piece
// k: what it said and called until the next turn has words of it that nobody said before.
func (e *draft) uses(k int, recalled string) bool {
	var before, reply strings.Builder
	for i := range e.pieces[:k+1] {
		for j := range e.message(e.pieces[i]).Parts {
			if text := e.message(e.pieces[i]).Parts[j].Text.String(); text != recalled {
				before.WriteString(text + "\n")
			}
		}
	}
	for _, p := range e.pieces[k+1:] {
		m := e.message(p)
		if _, part := wordsOf(m); part >= 0 {
			break
		}
		for i := range m.Parts {
			switch part := &m.Parts[i]; {
			case part.Kind == chat.Text && m.Role == chat.Assistant:
				reply.WriteString(part.Text.String() + "\n")
			case part.Kind == chat.Call:
				reply.WriteString(part.Arguments() + "\n")
			}
		}
	}
	return recall.NewReply(reply.String(), before.String()).Uses(recalled)
}

// forget removes from the list what was inserted before and has left, alone or
// with its message: it may be needed again.
func (e *draft) forget() {
	at := e.byDepth()
	e.passages = nil
	kept := e.inserted[:0:0]
	for _, in := range e.inserted {
		k, sent := at[in.Into]
		if in.Into == 0 && in.Kind != "recall" { // in a message of the client's own
			sent = true
		}
		if !sent {
			continue
		}
		if in.Kind != "recall" ||
			slices.ContainsFunc(e.message(e.pieces[k]).Parts,
				func(p chat.Part) bool { return p.Text.String() == in.Text }) {
			kept = append(kept, in)
			e.passages = append(e.passages, passagesIn(&in)...)
		}
	}
	e.inserted = kept
}

// byDepth returns the piece of each message of the history that is sent.
func (e *draft) byDepth() map[int]int {
	at := make(map[int]int, len(e.pieces))
	for k, p := range e.pieces {
		if d := e.depth(p.Index); d > 0 {
			at[d] = k
		}
	}
	return at
}

// piece returns the piece that sends message i.
func (e *draft) piece(i int) (k int, ok bool) {
	return slices.BinarySearchFunc(e.pieces, i, func(p wire.Piece, i int) int { return p.Index - i })
}

// bare returns the bytes of a piece without cache marks.
func (e *draft) bare(k int) ([]byte, error) {
	if raw := e.pieces[k].Raw; raw != nil {
		return raw, nil
	}
	raw, _, err := wire.WithoutCacheMarks(e.Body.Format, e.Body.Messages[e.pieces[k].Index].Raw)
	return raw, err
}

// finish returns the cut that repeats the draft's changes on later calls.
func (e *draft) finish(total int) *plan.Plan {
	id := "p-" + e.ID
	if e.steps > 0 {
		id += "r"
	}
	c := &plan.Plan{ID: id, For: e.audience(), ThinkingStripped: e.binds(), Budget: e.wanted,
		Replaced: map[int][]byte{}, Recalled: e.passages, Reused: e.reused}
	if c.ClientOwn = map[timeline.Hash][]byte{}; e.before != nil {
		maps.Copy(c.ClientOwn, e.before.ClientOwn)
	}
	known := 0 // the depth up to which c is complete
	// What is not in this request stays as it was.
	carry := func(to int) {
		for known++; e.before != nil && known < min(to, e.before.Covers+1); known++ {
			if e.before.Dropped.Has(known) {
				c.Dropped.Add(known)
			} else if raw, ok := e.before.Replaced[known]; ok {
				c.Replaced[known] = raw
			}
		}
	}
	for i := e.lead; i < len(e.Body.Messages); i++ {
		d := e.depth(i)
		if d == 0 {
			if k, shown := e.piece(i); !shown {
				c.ClientOwn[e.identity(i)] = nil
			} else if e.pieces[k].Raw != nil {
				c.ClientOwn[e.identity(i)] = e.pieces[k].Raw
			} else {
				delete(c.ClientOwn, e.identity(i))
			}
			continue
		}
		carry(d)
		known = d
		if k, shown := e.piece(i); !shown {
			c.Dropped.Add(d)
			c.Covers = d
		} else if e.pieces[k].Raw != nil {
			c.Replaced[d] = e.pieces[k].Raw
			c.Covers = d
		}
	}
	if e.before != nil {
		c.Covers = max(c.Covers, e.before.Covers)
	}
	settled := e.settled()
	c.Covers = max(c.Covers, e.least)
	if !e.Thread.Moves { // what the client moves is not there on the next call
		c.Covers = max(c.Covers, settled)
	}
	if len(c.ClientOwn) > 0 { // it applies wherever the client's own message is
		c.Covers = max(c.Covers, len(e.Thread.Before))
	}
	c.ExceptNewest = c.Covers <= settled
	plan := *window.NewPlan("ladder", e.Body.Model, e.budget, e.low())
	if e.before != nil {
		plan = e.before.Plan
	}
	plan.Inserted = e.inserted
	if e.plan != nil {
		plan = *e.plan
		plan.Inserted, plan.Blocks = e.inserted, nil
		for _, d := range slices.Sorted(maps.Keys(e.blocks)) {
			plan.Blocks = append(plan.Blocks, e.blocks[d])
		}
	}
	plan.TokensBefore, plan.TokensAfter = e.request.before.Total, total
	plan.Blocks = e.weighed(plan.Blocks)
	plan.Thinking = e.lostThinking()
	c.Plan = plan
	c.Fold = foldOf(e.before, c)
	return c
}

// weighed returns blocks with the tokens of their messages as they came, and what of them is
// not sent. A message that is not in the request has none.
func (e *draft) weighed(blocks []window.Block) []window.Block {
	out := slices.Clone(blocks)
	inserted, at := map[int]int{}, map[int]int{}
	for _, in := range e.inserted {
		inserted[in.Into] += in.Tokens
	}
	for i := e.lead; i < len(e.Body.Messages); i++ {
		at[e.depth(i)] = i
	}
	for k := range out {
		b := &out[k]
		i, here := at[b.Index]
		if b.Tokens, b.Lost = 0, 0; !here || b.Index == 0 {
			continue
		}
		b.Tokens = e.counter.Tokens(e.sizes.Messages[i])
		if b.Lost = b.Tokens; b.Verdict == window.Keep {
			b.Lost = 0
		} else if k, sent := e.piece(i); sent {
			b.Lost = max(0, b.Tokens-max(0, e.weight(e.pieces[k])-inserted[b.Index]))
		}
	}
	return out
}

// settled returns the depth of the newest exchange: what parallel calls have
// in common ends there.
func (e *draft) settled() int {
	cuts := chat.NewCuts(e.Body.Messages, e.Body.Rules())
	if n := len(cuts.Exchanges); n > 0 {
		if start := cuts.Exchanges[n-1].Start; start > e.lead {
			return e.depth(start - 1)
		}
	}
	return 0
}
