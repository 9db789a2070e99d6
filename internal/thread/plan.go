package thread

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// anchor is a plan at a message of a history. It applies to every request that continues
// from there, on any branch and in any conversation.
type anchor struct {
	*plan.Plan
	number   planNumber
	at       place
	of       *conversation
	seq      int64 // the latest has the largest
	proposed bool  // by another process, which may withdraw it
	// withdrawn reports that it has withdrawn it; calls are those in progress that are shown
	// by the plan, for which it stays.
	withdrawn bool
	calls     int
}

// planNumber is the number of a plan within a conversation. It is final if the store has it
// for this plan; until then other processes may give it to another plan.
type planNumber struct {
	n     int64
	final bool
}

// maxPlans bounds the plans that a conversation keeps in memory; the oldest leave first.
const maxPlans = 256

// PlanReader reads the plans of a conversation, as [plan.Read] does.
type PlanReader func(ctx context.Context, store timeline.Store, tenant, conversation string, known func(id, name string) bool) ([]plan.Stored, error)

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

// AddPlan adds a plan to a request that it covers, and proposes the next number of the
// conversation for it. It returns false if the plans of the request are no longer those in
// before, apart from this one: another request may have read it from the store.
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
	k.lastPlan++
	t.keepPlan(k, &anchor{Plan: p, number: planNumber{n: k.lastPlan}, at: th.at.up(p.Covers), seq: t.seq})
	return true
}

// PlanNumber returns the number of a plan within the conversation of a request, and whether
// it is final. For a plan of another conversation that begins with the same messages it
// proposes the next one. It returns 0 if the conversation of the request is not known.
func (b *Index) PlanNumber(th *Thread, name string) (number int64, final bool) {
	if th.of == nil {
		return 0, false
	}
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	for _, m := range slices.Backward(k.plans) {
		if m.ID == name {
			return m.number.n, m.number.final
		}
	}
	if k.inherited[name].n == 0 {
		k.lastPlan++
		k.inherit(name, planNumber{n: k.lastPlan})
	}
	return k.inherited[name].n, k.inherited[name].final
}

// SetPlanNumber sets the final number of a plan within the conversation of a request.
func (b *Index) SetPlanNumber(th *Thread, name string, number int64) {
	if th.of == nil {
		return
	}
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	k.lastPlan = max(k.lastPlan, number)
	for _, m := range slices.Backward(k.plans) {
		if m.ID == name {
			m.number, m.proposed = planNumber{number, true}, false // this process has stored or reserved it
			return
		}
	}
	k.inherit(name, planNumber{number, true})
}

// inherit sets the number of a plan of another conversation.
func (k *conversation) inherit(name string, n planNumber) {
	if k.inherited == nil || len(k.inherited) >= maxPlans {
		k.inherited = map[string]planNumber{}
	}
	k.inherited[name] = n
}

// keepPlan adds a plan of a conversation at its place.
func (t *tenant) keepPlan(k *conversation, m *anchor) {
	m.of = k
	m.at.hold()
	m.at.trunk.plans = append(m.at.trunk.plans, m)
	k.plans = append(k.plans, m)
	if len(k.plans) > maxPlans {
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

// RemovePlan removes the plan with this name from the conversation.
func (b *Index) RemovePlan(th *Thread, name string) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	k.pass(name)
	for _, m := range k.plans {
		if m.ID == name {
			t.removePlan(m)
		}
	}
	k.plans = slices.DeleteFunc(k.plans, func(m *anchor) bool { return m.ID == name })
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
	known := b.KnownPlans(th)
	stored, err := b.plans(ctx, store, th.Tenant, th.Conversation, known)
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
	stored = stored[max(0, len(stored)-maxPlans):]
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
		k.lastPlan = max(k.lastPlan, s.Number)
		switch path := read[s.ID]; {
		case m != nil:
			delete(have, s.ID)
			m.seq, m.number, m.proposed = t.seq, planNumber{s.Number, true}, false
			k.plans = append(k.plans, m)
		case path != nil && len(path.steps) > 0:
			t.addPlan(k, &anchor{Plan: s.Plan, number: planNumber{s.Number, true}, seq: t.seq}, path.steps)
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

// KnownPlans returns a function that reports whether a plan of the conversation of a request
// is in memory, or was found not to be of use. The conversation must be known.
func (b *Index) KnownPlans(th *Thread) func(id, name string) bool {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	known, least := maps.Clone(k.passed), int64(0)
	if known == nil {
		known = map[string]bool{}
	}
	for name := range k.inherited {
		known[name] = true
	}
	for _, m := range k.plans {
		known[m.ID] = true
		if least == 0 || m.number.n < least {
			least = m.number.n
		}
	}
	full := len(k.plans) == maxPlans // older ones have left
	return func(id, name string) bool {
		number, _ := timeline.PlanNumber(id)
		return known[name] || full && number < least
	}
}

// Snapshot returns a snapshot of the conversation of a request without the plans that are in
// memory: the one by which Find read the conversation, if it did, or else a new one.
func (b *Index) Snapshot(th *Thread) *timeline.Snapshot {
	if s := th.read; s != nil {
		th.read = nil // what follows later reads again
		return s
	}
	var w timeline.Wanted
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	for name := range k.passed {
		w.Known = append(w.Known, name)
	}
	for name := range k.inherited {
		w.Known = append(w.Known, name)
	}
	for _, m := range k.plans {
		w.Known = append(w.Known, m.ID)
		if len(k.plans) == maxPlans && (w.Before == 0 || m.number.n < w.Before) {
			w.Before = m.number.n
		}
	}
	return timeline.NewSnapshot(b.store, th.Tenant, th.Conversation, w)
}

// TakePlans adds plans that other processes have proposed and that apply to a request.
func (b *Index) TakePlans(th *Thread, plans []plan.Stored) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	for i := range plans {
		p := &plans[i]
		if d := p.Plan.Covers; d < 1 || d > th.Depth() || slices.ContainsFunc(k.plans, func(m *anchor) bool { return m.ID == p.ID }) {
			continue
		}
		t.seq++
		k.lastPlan = max(k.lastPlan, p.Number)
		t.keepPlan(k, &anchor{Plan: p.Plan, number: planNumber{p.Number, true}, at: th.at.up(p.Plan.Covers), seq: t.seq, proposed: true})
	}
	t.account(k)
}

// DropWithdrawn removes the plans of TakePlans that are neither stored, as far as Refresh has
// found, nor among reserved, the names of those whose numbers are reserved: the processes that
// proposed them have withdrawn them. A plan by which calls in progress are shown stays until
// they are stored with it, or never will be.
func (b *Index) DropWithdrawn(th *Thread, reserved []string) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	k.plans = slices.DeleteFunc(k.plans, func(m *anchor) bool {
		m.withdrawn = m.proposed && !slices.Contains(reserved, m.ID)
		gone := m.withdrawn && m.calls == 0
		if gone {
			t.removePlan(m)
		}
		return gone
	})
	t.account(k)
}

// ShowBy notes that a request is shown by the plan with this name, and no longer by the one of
// the last ShowBy. Without such a plan in the conversation it is shown by none. Stored ends it.
func (b *Index) ShowBy(th *Thread, name string) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	var by *anchor
	for _, m := range slices.Backward(th.of.plans) {
		if m.ID == name {
			m.calls++
			by = m
			break
		}
	}
	t.shownBy(th, by)
}

// shownBy sets the plan by which a request is shown, nil for none, and removes the one before
// if it stayed only for this request.
func (t *tenant) shownBy(th *Thread, by *anchor) {
	m := th.by
	th.by = by
	if m == nil {
		return
	}
	m.calls--
	if k := th.of; m.calls == 0 && m.withdrawn && m.proposed && slices.Contains(k.plans, m) {
		t.removePlan(m)
		k.plans = without(k.plans, m)
		t.account(k)
	}
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
func (k *conversation) pass(names ...string) {
	for _, name := range names {
		if k.passed == nil || len(k.passed) >= maxPlans {
			k.passed = map[string]bool{}
		}
		k.passed[name] = true
	}
}
