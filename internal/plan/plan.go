// Package plan has the record of one decision about a history: which of its first messages
// are left out, which are sent with other bytes, and why. It reads plans from a store and
// makes the records that store them.
package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// Plan is what is done to the first messages of a history, and why. It applies to every
// request that continues from the last message that it covers, on any branch and in any
// conversation. It is immutable.
type Plan struct {
	// Plan explains it. Its blocks are those of the messages that are not sent unchanged, by
	// depth. Its Budget is the one that the view had in the end.
	window.Plan
	// ID is the plan's from the moment it is made, the same in every conversation:
	// "p-CALL-0". See [Stored] for its number in a conversation.
	ID string
	// For is its audience: the model that it applies to. Another model has other limits,
	// counts differently and has nothing of it in its cache, so it gets a plan of its own,
	// and a side call to a small model leaves the large one's view unchanged.
	For string
	// Covers is how many messages it decides about.
	Covers int
	// Dropped are the messages that are left out, by depth from 1 on.
	Dropped timeline.Ranges
	// Replaced are the bytes that are sent in place of messages, by depth.
	// They have no cache marks.
	Replaced map[int][]byte
	// ClientOwn maps the identities of messages that the client put in place
	// of what it dropped, which have no place in the history, to the bytes
	// that are sent instead; nil means none.
	ClientOwn map[timeline.Hash][]byte
	// Budget is the budget of the view for which it was made, before a
	// refusal.
	Budget int
	// ExceptNewest reports that it does not cover the newest turn of the
	// request for which it was made.
	ExceptNewest bool
	// ThinkingStripped reports that no thinking is left after its first
	// change.
	ThinkingStripped bool
	// Recalled are the passages of the history that insertions show; see passageKey. A
	// block without a number, of an earlier version, is all of its message.
	Recalled []string
	// Reused is the part of Plan.Summary.Cost that was paid before: for a summary
	// that was written in the background of an earlier call.
	Reused float64
	// Fold is what is left out, for a model to summarise; nil if nothing.
	Fold *Fold

	// noRoom are pins that were found not to fit, so that they are not tried
	// again.
	noRoom atomic.Pointer[[]int]
	// stored reports that it is stored.
	stored atomic.Bool
}

// Stored reports whether a plan is known to be stored; MarkStored sets it.
func (p *Plan) Stored() bool { return p.stored.Load() }
func (p *Plan) MarkStored()  { p.stored.Store(true) }

// Within returns the budget that a plan was made for.
func (p *Plan) Within() int {
	if p.Budget > 0 {
		return p.Budget
	}
	return p.Plan.Budget // of an earlier version
}

// Refuse notes that these pins cannot all be shown.
func (p *Plan) Refuse(pins []int) { p.noRoom.Store(&pins) }

// Refuses reports whether it is known that these pins cannot all be shown.
func (p *Plan) Refuses(pins []int) bool {
	if p == nil {
		return false
	}
	known := p.noRoom.Load()
	return known != nil && slices.Equal(*known, pins)
}

// Hidden returns the messages that a plan leaves out completely or in part, by depth.
func (p *Plan) Hidden() []int {
	out := slices.Collect(p.Dropped.All())
	for _, b := range p.Blocks {
		if (b.Verdict == window.Mask || b.Verdict == window.Trim) && !p.Dropped.Has(b.Index) {
			out = append(out, b.Index)
		}
	}
	slices.Sort(out)
	return out
}

// Data is the data of the record of a plan, whichever door made it. The contents of the
// record are the bytes of View.Instead, in order, and then those of View.Own.
type Data struct {
	window.Plan
	// Before is the number of the plan that was stored before this plan of
	// items, or 0 for the first.
	Before int64 `json:"before,omitempty"`
	// View is what is done to later calls; nil for a plan of items.
	View *repeat `json:"view,omitempty"`
}

// repeat is what a plan does to later calls.
type repeat struct {
	V        int      `json:"v"`
	For      string   `json:"for,omitempty"`
	Open     bool     `json:"open,omitempty"`
	Bare     bool     `json:"bare,omitempty"`
	Budget   int      `json:"budget,omitempty"`
	Covers   int      `json:"covers"`
	Gone     string   `json:"gone,omitempty"`
	Instead  []int    `json:"instead,omitempty"`
	Own      []string `json:"own,omitempty"` // of which there are contents, behind those of Instead
	OwnGone  []string `json:"own_gone,omitempty"`
	Fold     string   `json:"fold,omitempty"` // the plan whose summary it is about
	Recalled []string `json:"recalled,omitempty"`
	Reused   *float64 `json:"reused,omitempty"` // nil without a summary that was paid for
}

// ToStore returns a plan to be stored, which was made at a time.
func (p *Plan) ToStore(made time.Time) (Stored, error) {
	d, raw := p.data()
	data, err := json.Marshal(d)
	return Stored{ID: p.ID, Covers: p.Covers, Time: made, Data: data, Raw: raw, Plan: p}, err
}

// data returns the data of the record of a plan, and its contents.
func (p *Plan) data() (s *Data, contents [][]byte) {
	s = &Data{Plan: p.Plan, View: &repeat{V: 1, For: p.For, Open: p.ExceptNewest, Bare: p.ThinkingStripped,
		Budget: p.Budget, Covers: p.Covers, Gone: p.Dropped.String(), Recalled: p.Recalled}}
	s.Undo = p.ID
	if p.Plan.Summary.Cost > 0 {
		s.View.Reused = &p.Reused
	}
	s.View.Instead = slices.Sorted(maps.Keys(p.Replaced))
	for _, depth := range s.View.Instead {
		contents = append(contents, p.Replaced[depth])
	}
	own := map[string][]byte{}
	for says, raw := range p.ClientOwn {
		if raw == nil {
			s.View.OwnGone = append(s.View.OwnGone, says.String())
		} else {
			own[says.String()] = raw
		}
	}
	slices.Sort(s.View.OwnGone)
	s.View.Own = slices.Sorted(maps.Keys(own))
	for _, says := range s.View.Own {
		contents = append(contents, own[says])
	}
	if p.Fold != nil {
		s.View.Fold = p.Fold.Plan
	}
	return s, contents
}
