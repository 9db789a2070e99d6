package thread

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// anchor is a plan at a message of a history. It applies to every request that continues
// from there, on any branch and in any conversation.
type anchor struct {
	*plan.Plan
	at  place
	of  *conversation
	seq int64 // the latest has the largest
}

// plansAt returns the plans for an audience that apply at a place: the deepest first, and at
// the same depth the latest first.
func (t *tenant) plansAt(p place, audience string) []*plan.Plan {
	var hold []*anchor
	for tr := p.trunk; tr != nil; tr, p.depth = tr.from, tr.at {
		for _, m := range tr.plans {
			t.work++
			if m.For == audience && m.at.depth <= p.depth {
				hold = append(hold, m)
			}
		}
	}
	slices.SortFunc(hold, func(a, b *anchor) int {
		return cmp.Or(cmp.Compare(b.at.depth, a.at.depth), cmp.Compare(b.seq, a.seq))
	})
	plans := make([]*plan.Plan, len(hold))
	for i, m := range hold {
		plans[i] = m.Plan
	}
	return plans
}

// PlansAt returns the plans for th.Audience at all messages up to the end of a request:
// the deepest first, and at the same depth the latest first.
func (b *Index) PlansAt(th *Thread) []*plan.Plan {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.plansAt(th.at, th.Audience)
}

// AddPlan adds a plan to a request that it covers. It returns false if the plans of the
// request are no longer those in before, apart from this one: another request may have read it
// from the store.
func (b *Index) AddPlan(th *Thread, p *plan.Plan, before []*plan.Plan) bool {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	for _, m := range k.plans {
		if m.ID == p.ID {
			m.Plan = p
			return true
		}
	}
	if !slices.Equal(t.plansAt(th.at, th.Audience), before) {
		return false
	}
	t.seq++
	t.keepPlan(k, &anchor{Plan: p, at: th.at.up(p.Covers), seq: t.seq})
	return true
}

// PlanStored notes that this process has stored a plan in the conversation of a request.
func (b *Index) PlanStored(th *Thread, id string) {
	if th.of == nil {
		return
	}
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.ContainsFunc(th.of.plans, func(m *anchor) bool { return m.ID == id }) {
		th.of.pass(id) // it is known from another conversation, which begins with the same messages
	}
}

// keepPlan adds a plan of a conversation at its place.
func (t *tenant) keepPlan(k *conversation, m *anchor) {
	m.of = k
	m.at.hold()
	m.at.trunk.plans = append(m.at.trunk.plans, m)
	k.plans = append(k.plans, m)
	if len(k.plans) > plan.Most {
		t.removePlan(k.plans[0])
		k.plans = slices.Delete(k.plans, 0, 1)
	}
}

// addPlan adds a plan at the end of a path of messages.
func (t *tenant) addPlan(k *conversation, m *anchor, path []step) {
	at, added := k.space.extend(place{}, path)
	t.grow(added)
	m.at = at
	t.keepPlan(k, m)
}

// removePlan removes a plan from its place.
func (t *tenant) removePlan(m *anchor) {
	m.at.trunk.plans = without(m.at.trunk.plans, m)
	t.grow(-m.of.space.release(m.at))
}

// RemovePlan removes the plan with this id from the conversation.
func (b *Index) RemovePlan(th *Thread, id string) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	k.pass(id)
	for _, m := range k.plans {
		if m.ID == id {
			t.removePlan(m)
		}
	}
	k.plans = slices.DeleteFunc(k.plans, func(m *anchor) bool { return m.ID == id })
}

// Refresh reads the plans that other processes have added to the conversation of a
// request, and sorts all plans in stored order, so that every process finds the same one.
// It reads them from store, the Index's own or a snapshot of it.
func (b *Index) Refresh(ctx context.Context, store timeline.Store, th *Thread) error {
	if b.plans == nil {
		return nil
	}
	t := b.tenant(th.Tenant)
	k := th.of
	known := setOf(b.KnownPlans(th))
	stored, err := b.plans(ctx, timeline.Notes{Store: store, Tenant: th.Tenant, Conversation: th.Conversation}, known)
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil
	}
	newer := error(nil)
	if errors.Is(err, plan.ErrNewer) {
		newer, err = err, nil
	}
	if err != nil {
		return err
	}
	stored = stored[max(0, len(stored)-plan.Most):]
	var gone []string
	read := map[string]*storedPath{}
	for i := range stored {
		s := &stored[i]
		if s.Plan == nil {
			continue
		}
		p, err := readPath(ctx, store, th.Tenant, s.At)
		if errors.Is(err, timeline.ErrNoPlace) {
			gone = append(gone, s.ID) // somebody has deleted it
			continue
		}
		if err != nil {
			return err
		}
		read[s.ID] = p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.dropped {
		return nil
	}
	k.pass(gone...)
	t.orderPlans(k, stored, read)
	t.account(k)
	return newer
}

// orderPlans sorts the plans of a conversation in stored order, plans that are not stored
// last, and adds those that were read.
func (t *tenant) orderPlans(k *conversation, stored []plan.Stored, read map[string]*storedPath) {
	have := map[string]*anchor{}
	for _, m := range k.plans {
		have[m.ID] = m
	}
	old := k.plans
	k.plans = nil
	for i := range stored {
		s := &stored[i]
		m := have[s.ID]
		t.seq++
		switch path := read[s.ID]; {
		case m != nil:
			delete(have, s.ID)
			m.seq = t.seq
			k.plans = append(k.plans, m)
		case path != nil && len(path.steps) > 0:
			t.addPlan(k, &anchor{Plan: s.Plan, seq: t.seq}, path.steps)
		}
	}
	for _, m := range old {
		if have[m.ID] == m {
			t.seq++
			m.seq = t.seq
			k.plans = append(k.plans, m)
		}
	}
}

// KnownPlans returns the ids of the plans of the conversation of a request that are in memory,
// or were found not to be of use. The conversation must be known.
func (b *Index) KnownPlans(th *Thread) []string {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	return th.of.known()
}

// setOf returns a function that reports whether an id is among ids.
func setOf(ids []string) func(id string) bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return func(id string) bool { return set[id] }
}

// known returns the ids of the plans that are not read again.
func (k *conversation) known() (ids []string) {
	for id := range k.passed {
		ids = append(ids, id)
	}
	for _, m := range k.plans {
		ids = append(ids, m.ID)
	}
	return ids
}

// Snapshot returns a snapshot of the conversation of a request without the plans that are in
// memory: the one by which Find read the conversation, if it did, or else a new one.
func (b *Index) Snapshot(th *Thread) *timeline.Snapshot {
	if s := th.read; s != nil {
		th.read = nil // what follows later reads again
		return s
	}
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	return timeline.NewSnapshot(b.store, th.Tenant, th.Conversation,
		timeline.Wanted{Known: th.of.known(), Plans: plan.Most})
}

// TakePlans adds plans that other processes have decided on and that apply to a request.
func (b *Index) TakePlans(th *Thread, plans []*plan.Plan) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	for _, p := range plans {
		if p.Covers < 1 || p.Covers > th.Depth() ||
			slices.ContainsFunc(k.plans, func(m *anchor) bool { return m.ID == p.ID }) {
			continue
		}
		t.seq++
		t.keepPlan(k, &anchor{Plan: p, at: th.at.up(p.Covers), seq: t.seq})
	}
	t.account(k)
}

// Plans returns all plans of the conversation of a request.
func (b *Index) Plans(th *Thread) (plans []*plan.Plan) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range th.of.plans {
		plans = append(plans, m.Plan)
	}
	return plans
}

// pass notes plans that are not of use.
func (k *conversation) pass(ids ...string) {
	for _, id := range ids {
		if k.passed == nil || len(k.passed) >= plan.Most {
			k.passed = map[string]bool{}
		}
		k.passed[id] = true
	}
}
