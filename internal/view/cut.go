package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// Cut is what is done to the first messages of a history. It is immutable.
type Cut struct {
	// ID is the name of the plan, the same in every conversation; see
	// timeline.Plan.
	ID string
	// For is the model that it applies to. Another model has other limits,
	// counts differently and has nothing of it in its cache, so it gets a cut
	// of its own, and a side call to a small model leaves the large one's view
	// unchanged.
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
	// Recalled are the blocks of the history that an insertion shows.
	Recalled []string
	// Plan explains it. Its blocks are those of the messages that are not sent
	// unchanged, by depth.
	Plan window.Plan

	// noRoom are pins that were found not to fit, so that they are not tried
	// again.
	noRoom atomic.Pointer[[]int]
	// fold is what is left out, for a model to summarise; nil if nothing.
	fold *fold
	// kept reports that it is stored.
	kept atomic.Bool
}

// Stored reports whether a cut is known to be stored; MarkStored sets it.
func (c *Cut) Stored() bool { return c.kept.Load() }
func (c *Cut) MarkStored()  { c.kept.Store(true) }

// within returns the budget that a cut was made for.
func (c *Cut) within() int {
	if c.Budget > 0 {
		return c.Budget
	}
	return c.Plan.Budget // of an earlier version
}

// PlanData is the data of the record of a plan, whichever door made it. The
// contents of the record are the bytes of View.Instead, in order.
type PlanData struct {
	window.Plan
	// Before is the number of the plan that was stored before this plan of
	// items, or 0 for the first.
	Before int64 `json:"before,omitempty"`
	// View is what is done to later calls; nil for a plan of items.
	View *storedView `json:"view,omitempty"`
}

type storedView struct {
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
}

// Record returns the record of a cut, with its contents. It belongs to the
// place of the last message that the cut covers; id is the plan's id in the
// conversation.
func (c *Cut) Record(at timeline.Place, id string) (timeline.Record, [][]byte, error) {
	s := PlanData{Plan: c.Plan, View: &storedView{V: 1, For: c.For, Open: c.ExceptNewest, Bare: c.ThinkingStripped, Budget: c.Budget, Covers: c.Covers, Gone: c.Dropped.String(), Recalled: c.Recalled}}
	for depth := range c.Replaced {
		s.View.Instead = append(s.View.Instead, depth)
	}
	slices.Sort(s.View.Instead)
	for says, raw := range c.ClientOwn {
		if raw == nil {
			s.View.OwnGone = append(s.View.OwnGone, says.String())
		} else {
			s.View.Own = append(s.View.Own, says.String())
		}
	}
	slices.Sort(s.View.Own)
	slices.Sort(s.View.OwnGone)
	if c.fold != nil {
		s.View.Fold = c.fold.plan
	}
	s.Undo = id
	r := timeline.Plan{ID: id, Name: c.ID, At: at}
	var contents [][]byte
	for _, depth := range s.View.Instead {
		contents = append(contents, c.Replaced[depth])
		r.Contents = append(r.Contents, timeline.HashOf(c.Replaced[depth]))
	}
	for _, text := range s.View.Own {
		says, err := timeline.ParseHash(text)
		if err != nil {
			return timeline.Record{}, nil, err
		}
		contents = append(contents, c.ClientOwn[says])
		r.Contents = append(r.Contents, timeline.HashOf(c.ClientOwn[says]))
	}
	var err error
	r.Data, err = json.Marshal(s)
	return r.Record(), contents, err
}

// ReadPlans reads the cuts of a conversation, for package thread.
func ReadPlans(ctx context.Context, store timeline.Store, tenant, conversation string, known func(name string) bool) ([]thread.StoredPlan, error) {
	plans, err := timeline.Notes{Store: store, Tenant: tenant, Conversation: conversation}.Plans(ctx)
	if err != nil {
		return nil, err
	}
	folds, err := readFolds(ctx, store, tenant, conversation)
	if err != nil {
		return nil, err
	}
	var out []thread.StoredPlan
	made := map[string]*fold{}
	for i := range plans {
		r := &plans[i]
		number, _ := timeline.PlanNumber(r.ID)
		if r.Name == "" || known != nil && known(r.Name) { // one of items, or known
			out = append(out, thread.StoredPlan{Name: r.Name, Number: number})
			continue
		}
		var s PlanData
		if err := json.Unmarshal(r.Data, &s); err != nil {
			return nil, fmt.Errorf("read plan %s of conversation %q: %w", r.ID, conversation, err)
		}
		if s.View == nil {
			continue // not a cut
		}
		s.Undo = r.ID
		c := &Cut{ID: r.Name, For: s.View.For, ExceptNewest: s.View.Open, ThinkingStripped: s.View.Bare, Budget: s.View.Budget, Covers: s.View.Covers, Recalled: s.View.Recalled, Plan: s.Plan, Replaced: map[int][]byte{}}
		if c.Dropped, err = timeline.ParseRanges(s.View.Gone); err != nil || s.View.V != 1 || len(s.View.Instead)+len(s.View.Own) != len(r.Contents) {
			return nil, fmt.Errorf("read plan %s of conversation %q: %w", r.ID, conversation, timeline.ErrDamaged)
		}
		for k, depth := range s.View.Instead {
			if c.Replaced[depth], err = store.Content(ctx, tenant, r.Contents[k]); err != nil {
				return nil, err
			}
		}
		if c.ClientOwn, err = readOwn(ctx, store, tenant, s.View, r.Contents[len(s.View.Instead):]); err != nil {
			return nil, fmt.Errorf("read plan %s of conversation %q: %w", r.ID, conversation, err)
		}
		if plan := s.View.Fold; plan != "" {
			if c.fold = made[plan]; c.fold == nil {
				c.fold = &fold{plan: plan}
				if folds[plan] != nil {
					c.fold.summary.Store(folds[plan])
				}
				made[plan] = c.fold
			}
		}
		c.MarkStored()
		out = append(out, thread.StoredPlan{Name: c.ID, Number: number, At: r.At, Audience: c.For, Value: c})
	}
	return out, nil
}

// readOwn reads what a cut does to the client's own messages.
func readOwn(ctx context.Context, store timeline.Store, tenant string, s *storedView, contents []timeline.Hash) (map[timeline.Hash][]byte, error) {
	if len(s.Own)+len(s.OwnGone) == 0 {
		return nil, nil
	}
	own := map[timeline.Hash][]byte{}
	for i, text := range slices.Concat(s.Own, s.OwnGone) {
		says, err := timeline.ParseHash(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", timeline.ErrDamaged, err)
		}
		own[says] = nil
		if i < len(contents) {
			if own[says], err = store.Content(ctx, tenant, contents[i]); err != nil {
				return nil, err
			}
		}
	}
	return own, nil
}
