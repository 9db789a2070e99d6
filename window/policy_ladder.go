package window

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/prompt"
)

// ladder takes one step after the other, each only as far as the low mark needs:
//
//  1. mask results that newer ones supersede: all but the newest read of a file,
//     older runs of the same command;
//  2. mask the results whose file or command was touched the longest ago: first
//     those of commands and searches, which are used at once, then those of files
//     read, which are edited later; those of the newest exchanges aside, for what
//     an agent has just read it is about to use;
//  3. evict whole exchanges, oldest first; the first prompt and what is pinned
//     stay, and with Options.Words what people wrote; where that is not enough, clip
//     the model's replies between people's words, oldest first, and mask the newest
//     results too;
//  4. fold what was evicted into a digest, or a model's summary.
//
// Tool results are most of an agent's tokens and can be had again, so they go
// before anybody's words. It cuts to the low mark in one go and then leaves the
// survivors alone, so that the provider's prompt cache keeps hitting.
func ladder(ctx context.Context, d *draft, s *settings) error {
	if s.Out != nil {
		return makeRoom(ctx, d, s)
	}
	all := slices.DeleteFunc(results(d.h), func(r result) bool {
		return r.exchange == len(d.h.Cuts.Exchanges)-1 // the agent has not seen it yet
	})
	superseded := supersededResults(d.h, all)
	for i, why := range superseded {
		if d.tokens() <= s.Low {
			return nil
		}
		if r := all[i]; why != "" && maskable(d.h, r, s) {
			d.mask(r.message, r.part, r.stub(d.h.partTokens(r.message, r.part), why), "superseded: "+why)
		}
	}
	order := leastRecentlyTouched(all)
	maskBefore := func(exchange int, filesToo bool) {
		for _, i := range order {
			if d.tokens() <= s.Low {
				return
			}
			if r := all[i]; superseded[i] == "" && r.exchange < exchange && (filesToo || r.kind != "path") &&
				maskable(d.h, r, s) {
				d.mask(r.message, r.part, r.stub(d.h.partTokens(r.message, r.part), prompt.StubLongestAgo),
					"least recently touched")
			}
		}
	}
	recent := func(share float64) int { return newestExchanges(d.h, int(share*float64(s.Low-d.h.Base))) }
	maskBefore(recent(recentRuns), false)
	maskBefore(recent(recentReads), true)
	if d.tokens() <= s.Low {
		return nil
	}
	room := s.summaryMax()
	if s.Condenser == nil && len(all) == 0 {
		room = min(room, talkRoom) // a talk's digest is short; messages say more
	}
	if d.words != nil {
		d.brief = d.briefExchanges(int(recentBrief * float64(s.Low-d.h.Base)))
	}
	without := d.clone()
	if evictTo(without, s.Low-room, d.top()); without.tokens() <= s.Low-room {
		*d = *without
	} else {
		if d.words != nil {
			d.dropOldWords()
			d.trimReplies(recent(recentReplies), s.Low-room)
		}
		maskBefore(len(d.h.Cuts.Exchanges), true)
		if d.tokens() <= s.Low && !slices.Contains(d.keep, false) {
			d.readmitLost(s.Low)
			return nil
		}
		evictTo(d, s.Low-room, d.top())
	}
	if d.words == nil || d.tokens() > s.Budget-markerRoom { // not even people's words fit
		evictTo(d, s.Low-room, firstAndPinned)
		// The first prompt leaves only if the digest can state the task.
		evictTo(d, s.Low-room, pinned)
	}
	d.readmitLost(s.Low - room)
	// Spend what is left over on the digest.
	if left := s.Low - d.tokens(); s.SummaryMax == 0 && left > room {
		room = min(left, 1024)
	}
	if err := d.fold(ctx, s, room); err != nil {
		return err
	}
	d.unmask(s.Low)
	return nil
}

// makeRoom leaves out what was out already, including results in exchanges
// that come back, and as few of the other exchanges as necessary, oldest
// first.
func makeRoom(ctx context.Context, d *draft, s *settings) error {
	out := make(map[int]bool, len(s.Out))
	for _, i := range s.Out {
		out[i] = true
	}
	d.drop(func(e int) bool {
		for i := d.h.Cuts.Exchanges[e].Start; i < d.h.Cuts.Exchanges[e].End; i++ {
			if !out[i] {
				return false
			}
		}
		return true
	}, "left before")
	for _, r := range results(d.h) { // results of calls that come back
		if out[r.message] && d.keep[r.exchange] && maskable(d.h, r, s) {
			d.mask(r.message, r.part, r.stub(d.h.partTokens(r.message, r.part), prompt.StubLeftBefore), "left before")
		}
	}
	for protected := d.top(); protected >= pinned; protected-- {
		evictTo(d, s.Budget-min(s.summaryMax(), leastDigest), protected)
	}
	return d.fold(ctx, s, s.summaryMax())
}

// leastDigest is the room that a digest gets for exchanges that leave to make
// room for others.
const leastDigest = 256

// dropOldWords drops everything older than the words that stay.
func (d *draft) dropOldWords() {
	stays, first := slices.Index(d.words, true), d.h.firstPrompt()
	d.drop(func(e int) bool {
		x := &d.h.Cuts.Exchanges[e]
		return e < stays && x.Fixed == "" && !d.h.pinnedExchange(e) && (first < x.Start || first >= x.End)
	}, "oldest")
}

// trimReplies clips the middles of the model's words before an exchange,
// oldest first, until the target is reached.
func (d *draft) trimReplies(before, target int) {
	for e := 0; e < min(before, len(d.keep)-1); e++ {
		for i := d.h.Cuts.Exchanges[e].Start; d.keep[e] && i < d.h.Cuts.Exchanges[e].End; i++ {
			for j := range d.h.Messages[i].Parts {
				if d.tokens() <= target {
					return
				}
				if d.h.reply(i, j) && d.h.partTokens(i, j) > replyRoom {
					short, _ := clip.Middle(d.h.Messages[i].Parts[j].Text.String(), replyRoom, d.h.Count)
					d.trim(i, j, short, clippedReply)
				}
			}
		}
	}
}

// recentReplies is the share of the messages' room in which the newest
// exchanges keep their replies whole.
const recentReplies = .1

// recentReads is the share of the messages' room in which the newest exchanges
// keep their results, recentRuns the share in which they keep those of
// commands and searches. Without them every result is masked before the oldest
// words leave, and in recorded sessions of coding agents twice as many edits
// miss the file that they change (docs/reference/policies.md).
const (
	recentReads = .85
	recentRuns  = .2
)

// Among people's words that stay, a short call with its result takes little and shows what was
// done. Without it a reply such as "Done." stands alone, and a model that reads many of those
// answers in words where it should call a tool.
const (
	recentBrief = .1 // the share of the messages' room
	briefTokens = 64
)

// briefExchanges marks the newest short exchanges with calls whose prompts stay, as many as
// fit into the room together.
func (d *draft) briefExchanges(room int) []bool {
	brief, from := make([]bool, len(d.keep)), len(d.keep)
	for e := len(brief) - 1; e >= 0; e-- {
		if !d.h.prompts(e) {
			continue
		}
		for b := from - 1; d.words[e] && b > e; b-- {
			x, n := &d.h.Cuts.Exchanges[b], d.h.exchangeTokens(b)
			if x.Broken != "" || x.End-x.Start < 2 || n > briefTokens {
				continue
			}
			if room -= n; room < 0 {
				return brief
			}
			brief[b] = true
		}
		from = e
	}
	return brief
}

// newestExchanges returns the first of the newest exchanges that fit into the
// room whole.
func newestExchanges(h *History, room int) int {
	e := len(h.Cuts.Exchanges)
	for e > 0 && room >= h.exchangeTokens(e-1) {
		e--
		room -= h.exchangeTokens(e)
	}
	return e
}

// unmask restores the newest results for which there is room after all,
// because whole exchanges leave in large steps.
func (d *draft) unmask(target int) {
	for e := len(d.keep) - 1; e >= 0; e-- {
		x := d.h.Cuts.Exchanges[e]
		for i := x.End - 1; d.keep[e] && i >= x.Start; i-- {
			for _, j := range d.masked.of(&d.h.Messages[i], i) {
				m := d.masked[partAt{i, j}]
				if !strings.HasPrefix(m.reason, "superseded") && d.tokens()+m.saves <= target {
					d.saved -= m.saves
					delete(d.masked, partAt{i, j})
				}
			}
		}
	}
}

// supersededResults returns for each result why a newer one makes it
// unnecessary, or "". Only a result that shows something supersedes others.
func supersededResults(h *History, all []result) []string {
	why := make([]string, len(all))
	type call struct{ tool, args string }
	seen := map[call]bool{}    // calls that were made again later
	whole := map[string]bool{} // files that were read whole later
	for i := len(all) - 1; i >= 0; i-- {
		r := &all[i]
		if r.about == "" {
			continue
		}
		key := call{r.tool, r.whole}
		if r.kind == "command" {
			key.args = r.about // a description beside it is ignored
		}
		switch {
		case whole[r.about] && r.reads():
			why[i] = prompt.StubFileRead
		case seen[key] && r.kind == "command":
			why[i] = prompt.StubCommandRun
		case seen[key]:
			why[i] = prompt.StubAskedAgain
		}
		if !r.shows(h) {
			continue
		}
		seen[key] = true
		if !whole[r.about] && r.reads() && r.wholeFile() {
			whole[r.about] = true
		}
	}
	return why
}

// leastRecentlyTouched sorts results by when their file, command or query was
// last the subject of any call.
func leastRecentlyTouched(all []result) []int {
	type subject struct{ kind, about string }
	touched := make(map[subject]int, len(all))
	for i := range all {
		touched[subject{all[i].kind, all[i].about}] = all[i].message
	}
	order, last := make([]int, len(all)), make([]int, len(all))
	for i := range order {
		order[i] = i
		last[i] = all[i].message
		if all[i].about != "" {
			last[i] = touched[subject{all[i].kind, all[i].about}]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return last[a] - last[b] })
	return order
}

// fold puts a digest or summary of at most room tokens in place of what was
// evicted. If that fails, a marker reports what is missing.
func (d *draft) fold(ctx context.Context, s *settings, room int) error {
	if !slices.Contains(d.keep, false) {
		return nil
	}
	message, part, previous := d.earlier()
	left := s.Budget - d.tokens()
	if message >= 0 {
		left += d.h.partTokens(message, part) // the new one replaces it
	}
	if room = min(room, left); room < digestFloor {
		d.mark(s.Budget)
		return nil
	}
	c := s.Condenser
	if c == nil {
		c = condense.Digest{}
	}
	out, err := condense.Run(ctx, c, condense.Input{Messages: d.leaving(), Previous: previous, Max: room,
		Count: d.h.Count, Tool: d.h.recallTool, Omit: s.Omit})
	d.pay(out, err)
	if err != nil {
		// A span may have nothing worth saying: the marker says how much it was.
		if s.Condenser != nil || !errors.Is(err, condense.ErrEmpty) {
			d.summary.Error = err.Error()
		}
		if s.Condenser != nil { // the digest needs no model
			s2 := *s
			s2.Condenser = nil
			return d.fold(ctx, &s2, room)
		}
		d.mark(s.Budget)
		return nil
	}
	d.folded, d.byModel = true, writtenByModel(c, out)
	d.summary.Text = out.Text
	if message >= 0 {
		d.replace(message, part, out.Kind, out.Text)
	} else {
		d.insert(out.Kind, out.Text)
	}
	return nil
}

// writtenByModel reports whether a model wrote a condenser's result. Digest
// and Extractive use rules.
func writtenByModel(c condense.Condenser, out condense.Output) bool {
	_, extractive := c.(condense.Extractive)
	return !extractive && out.Kind == condense.KindSummary
}

// talkRoom is the room for the digest of a history without results of tools: the digest
// of a talk and its marker.
const talkRoom = condense.TalkMax + 40

// digestFloor is the least room in which a digest is useful.
const digestFloor = 96

// pay adds the cost of condensing, whether it succeeded or not (SPEC B5).
func (d *draft) pay(out condense.Output, err error) {
	d.summary.Cost += out.Cost
	var failed *condense.Error
	if errors.As(err, &failed) {
		d.summary.Cost += failed.Cost
	}
}

// unfold takes out the text in place of what left. If a model wrote it, the plan says why it
// is not used (SPEC B5).
func (d *draft) unfold(budget int) {
	written := d.byModel &&
		slices.ContainsFunc(d.inserts, func(in insert) bool { return in.kind == condense.KindSummary })
	if written && d.summary.Error == "" {
		d.summary.Error = fmt.Sprintf("the summary leaves %d tokens, over the budget of %d", d.tokens(), budget)
	}
	d.inserts, d.folded, d.summary.Text = nil, false, ""
}

// inherit adds what a draft that d takes the place of has asked of a model: the cost, and
// why it failed (SPEC B5).
func (d *draft) inherit(from *draft) {
	d.summary.Cost += from.summary.Cost
	d.summary.Error = cmp.Or(from.summary.Error, d.summary.Error)
}
