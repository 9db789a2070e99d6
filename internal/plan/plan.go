package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	// Recalled are the passages of the history that insertions show; see passageKey. A
	// block without a number, of an earlier version, is all of its message.
	Recalled []string
	// Reused is the part of Plan.Summary.Cost that was paid before: for a summary
	// that was written in the background of an earlier call.
	Reused float64
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
	Reused   *float64 `json:"reused,omitempty"` // nil without a summary that was paid for
}

// Record returns the record of a cut, with its contents. It belongs to the
// place of the last message that the cut covers; id is the plan's id in the
// conversation.
func (c *Cut) Record(at timeline.Place, id string) (timeline.Record, [][]byte, error) {
	s, contents := c.data()
	s.Undo = id
	r := timeline.Plan{ID: id, Name: c.ID, At: at}
	for _, raw := range contents {
		r.Contents = append(r.Contents, timeline.HashOf(raw))
	}
	var err error
	r.Data, err = json.Marshal(s)
	return r.Record(), contents, err
}

// data returns the data of the record of a cut, and its contents.
func (c *Cut) data() (s *PlanData, contents [][]byte) {
	s = &PlanData{Plan: c.Plan, View: &storedView{V: 1, For: c.For, Open: c.ExceptNewest, Bare: c.ThinkingStripped, Budget: c.Budget, Covers: c.Covers, Gone: c.Dropped.String(), Recalled: c.Recalled}}
	if c.Plan.Summary.Cost > 0 {
		s.View.Reused = &c.Reused
	}
	s.View.Instead = slices.Sorted(maps.Keys(c.Replaced))
	for _, depth := range s.View.Instead {
		contents = append(contents, c.Replaced[depth])
	}
	own := map[string][]byte{}
	for says, raw := range c.ClientOwn {
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
	if c.fold != nil {
		s.View.Fold = c.fold.plan
	}
	return s, contents
}

// ReadPlans reads the cuts of a conversation, for package thread.
func ReadPlans(ctx context.Context, store timeline.Store, tenant, conversation string, known func(id, name string) bool) ([]thread.StoredPlan, error) {
	plans, err := timeline.Notes{Store: store, Tenant: tenant, Conversation: conversation}.PlansExcept(ctx, known)
	if err != nil {
		return nil, err
	}
	reader := cutReader{store: store, tenant: tenant, conversation: conversation}
	var out []thread.StoredPlan
	var newer error
	for i := range plans {
		r := &plans[i]
		number, _ := timeline.PlanNumber(r.ID)
		if r.Name == "" || r.Data == nil || known != nil && known(r.ID, r.Name) { // one of items, or known
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
		c, err := reader.read(ctx, r, &s)
		if errors.Is(err, thread.ErrNewerPlan) {
			newer = fmt.Errorf("read plan %s of conversation %q: %w", r.ID, conversation, err)
			out = append(out, thread.StoredPlan{Name: r.Name, Number: number})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read plan %s of conversation %q: %w", r.ID, conversation, err)
		}
		c.MarkStored()
		out = append(out, thread.StoredPlan{Name: c.ID, Number: number, At: r.At, Audience: c.For, Value: c})
	}
	return out, newer
}

// cutReader reads cuts of a conversation.
type cutReader struct {
	store                timeline.Store
	tenant, conversation string
	folds                map[string]*fold // by plan; nil: not read yet
}

// read returns the cut of a plan whose data is s.
func (d *cutReader) read(ctx context.Context, r *timeline.Plan, s *PlanData) (c *Cut, err error) {
	if s.View.V > 1 {
		return nil, fmt.Errorf("%w: it has format %d, this program knows 1", thread.ErrNewerPlan, s.View.V)
	}
	s.Undo = r.ID
	c = &Cut{ID: r.Name, For: s.View.For, ExceptNewest: s.View.Open, ThinkingStripped: s.View.Bare, Budget: s.View.Budget, Covers: s.View.Covers, Recalled: s.View.Recalled, Plan: s.Plan, Replaced: map[int][]byte{}}
	if s.View.Reused != nil {
		c.Reused = *s.View.Reused
	}
	if c.Dropped, err = timeline.ParseRanges(s.View.Gone); err != nil || s.View.V != 1 || len(s.View.Instead)+len(s.View.Own) != len(r.Contents) {
		return nil, timeline.ErrDamaged
	}
	for k, depth := range s.View.Instead {
		if c.Replaced[depth], err = d.store.Content(ctx, d.tenant, r.Contents[k]); err != nil {
			return nil, err
		}
	}
	if c.ClientOwn, err = readOwn(ctx, d.store, d.tenant, s.View, r.Contents[len(s.View.Instead):]); err != nil {
		return nil, err
	}
	if s.View.Fold != "" {
		c.fold, err = d.fold(ctx, s.View.Fold)
	}
	return c, err
}

// fold returns what the cut of a plan left out, with its summary if there is one.
func (d *cutReader) fold(ctx context.Context, plan string) (*fold, error) {
	if d.folds == nil {
		summaries, err := readFolds(ctx, d.store, d.tenant, d.conversation)
		if err != nil {
			return nil, err
		}
		d.folds = map[string]*fold{}
		for name, s := range summaries {
			f := &fold{plan: name}
			f.summary.Store(s)
			d.folds[name] = f
		}
	}
	f := d.folds[plan]
	if f == nil {
		f = &fold{plan: plan}
		d.folds[plan] = f
	}
	return f, nil
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
