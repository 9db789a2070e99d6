package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
)

// stateVersion is the version of the stored state.
const stateVersion = 2

// maxReplay is the most items after which the state is stored again, even if nothing else
// has changed. Loading a conversation replays that many.
const maxReplay = 64

// savedState is the stored state of a window (docs/reference/format/conversation.md). It is valid
// at the place of its record.
type savedState struct {
	Version int `json:"v"`
	// Shown are ids of items as ranges: "1-3,7". Held is used by version 1 only; later
	// versions have records of holds.
	Shown    string `json:"shown,omitempty"`
	Held     string `json:"held,omitempty"`
	Cleared  int64  `json:"cleared,omitempty"`
	Policy   string `json:"policy"`
	Override int    `json:"override,omitempty"`
	// Base is the initial size of the window, Tokens and Items are its limits, Size is
	// the current adaptive size.
	Base    int           `json:"base"`
	Tokens  int           `json:"tokens"`
	Items   int           `json:"items"`
	Size    int           `json:"size,omitempty"`
	Tracker items.Tracked `json:"tracker"`
	// Query is the vector of the newest query: float32, little-endian.
	Query []byte `json:"query,omitempty"`
	// Plan is the number of the newest plan, Kept that of the newest plan with a record.
	Plan int64 `json:"plan,omitempty"`
	Kept int64 `json:"kept,omitempty"`
	// Digest reports that the state knows which items left; those of earlier versions do
	// not. Waits are items that have left and are not in the digest, as ranges, Waiting
	// is their size, and Due reports that the next view folds them into it.
	Digest  bool   `json:"digest,omitempty"`
	Waits   string `json:"waits,omitempty"`
	Waiting int    `json:"waiting,omitempty"`
	Due     bool   `json:"due,omitempty"`
}

// savedCut is an item as it is shown without its middle.
type savedCut struct {
	Content string `json:"content"`
	Tokens  int    `json:"tokens"`
}

// commit stores what an operation changed, as a whole, and then emits the events. After
// an error the loaded conversation must not be used.
func (p *loaded) commit(ctx context.Context) error {
	if p.savedUpTo < 0 || p.last()+int64(len(p.change.Messages))-p.savedUpTo >= maxReplay {
		p.touch()
	}
	if p.dirty {
		if err := p.save(ctx); err != nil {
			return err
		}
	}
	c, revision := p.change, p.stored.Revision
	c.Conversation, c.Expect, c.Now = p.id, &revision, p.engine.config.Now()
	c.At, c.Stay = p.stored.Head, len(c.Messages) == 0
	if c.Stay {
		c.At = timeline.Place{}
	}
	if p.stored.Project == "" {
		c.Project = p.engine.config.Project
	}
	applied, err := p.engine.store.Apply(ctx, p.tenant, c)
	if err != nil {
		return err
	}
	if revision == 0 {
		p.stored.Created = timeline.Micro(c.Now)
	}
	p.stored.Head, p.stored.Revision, p.stored.Project = applied.Head, applied.Revision,
		cmp.Or(p.stored.Project, c.Project)
	if p.dirty {
		p.savedUpTo = p.last()
		p.reportUpgrade()
	}
	events, job := p.events, p.folding.job
	p.change, p.dirty, p.events, p.folding.job = timeline.Change{}, false, nil, nil
	for _, e := range events {
		p.engine.config.Events(e)
	}
	p.engine.summarise(p.id, job)
	return nil
}

// reportUpgrade logs, once for an engine, that a stored conversation was upgraded, which
// cannot be reversed.
func (p *loaded) reportUpgrade() {
	if was := p.version; was > 0 && was < stateVersion {
		p.engine.upgraded.Do(func() {
			p.engine.config.Log.Warn(
				"conversations are upgraded as they change; earlier versions of Oriel refuse to open those that are",
				"conversation", p.id, "from", was, "to", stateVersion)
		})
	}
	p.version = stateVersion
}

// save adds the state, the holds and the cuts to the change.
func (p *loaded) save(ctx context.Context) error {
	if err := p.saveHolds(ctx); err != nil {
		return err
	}
	s := savedState{
		Version: stateVersion, Cleared: p.cleared, Override: p.override, Policy: p.policy, Base: p.base,
		Size: p.sizer.Size(), Tracker: p.tracker.Save(), Query: vectorBytes(p.query), Plan: p.lastPlan,
		Kept:   p.lastKept,
		Digest: true, Waits: p.folding.waits.String(), Waiting: p.folding.waiting, Due: p.folding.due,
	}
	if err := p.saveDigest(); err != nil {
		return err
	}
	s.Tokens, s.Items = p.window.Limits()
	shown := make([]int64, 0, p.window.Len())
	cuts := map[int64]string{}
	for it := range p.window.All() {
		shown = append(shown, it.ID)
		if it.Full == "" {
			continue
		}
		cuts[it.ID] = it.Content
		if was, ok := p.cuts[it.ID]; ok && was == it.Content {
			continue
		}
		if err := p.putJSON(kindCut, itemKey(it.ID), savedCut{it.Content, it.Tokens}); err != nil {
			return err
		}
	}
	for id := range p.cuts {
		if _, ok := cuts[id]; !ok {
			p.drop(kindCut, itemKey(id))
		}
	}
	p.cuts = cuts
	s.Shown = timeline.RangesOf(shown).String()
	return p.putJSON(kindState, stateKey, s)
}

// saveHolds adds the holds that have changed to the change. Items that left the window
// are no longer held.
func (p *loaded) saveHolds(ctx context.Context) error {
	unnamed := maps.Clone(p.held) // by a state of version 1
	kept := p.holds[:0]
	for _, h := range p.holds {
		var held timeline.Ranges
		for id := range h.Held.All() {
			if p.held[int64(id)] {
				held.Add(id)
				delete(unnamed, int64(id))
			}
		}
		if len(held) == 0 {
			if h.At.Depth > 0 {
				p.drop(timeline.KindHold, h.Plan)
			}
			continue
		}
		if h.At.Depth == 0 || held.Len() != h.Held.Len() {
			if err := p.putHold(ctx, &h, held); err != nil {
				return err
			}
		}
		kept = append(kept, h)
	}
	if p.holds = kept; len(unnamed) == 0 {
		return nil
	}
	h := timeline.Hold{Plan: timeline.HeldBefore}
	err := p.putHold(ctx, &h, timeline.RangesOf(slices.Sorted(maps.Keys(unnamed))))
	p.holds = append(p.holds, h)
	return err
}

// putHold adds a hold with its current items to the change.
func (p *loaded) putHold(ctx context.Context, h *timeline.Hold, held timeline.Ranges) (err error) {
	h.Held = held
	if h.At, err = p.placeOf(ctx, int64(held[len(held)-1][1])); err != nil {
		return err
	}
	r, err := h.Record()
	p.put(r)
	return err
}

func (p *loaded) putJSON(kind, key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s %s: %w", kind, key, err)
	}
	r := timeline.Record{Kind: kind, Key: key, Data: data}
	if kind == kindState {
		r.At = timeline.AtHead()
	}
	p.put(r)
	return nil
}
