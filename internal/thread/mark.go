package thread

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// mark is what somebody keeps at a message of a history: it holds for all that goes on
// from there, on whichever branch and in whichever conversation.
type mark struct {
	name  string
	at    place
	whose string
	value any
	of    *conversation
	seq   int64 // the latest has the largest
}

// maxMarks is how many a conversation keeps in memory, the latest.
const maxMarks = 256

// StoredMark is a mark that was stored as a record.
type StoredMark struct {
	Name  string // the only one of its conversation
	At    timeline.Place
	Whose string
	Value any
}

// Marks reads the marks of a conversation, in the order in which they were made. Of those
// that are known, if anybody asks, it needs the name alone.
type Marks func(ctx context.Context, store timeline.Store, tenant, conversation string, known func(name string) bool) ([]StoredMark, error)

// marked are the values of the marks that hold at a place, whoever made them, the deepest first and of
// those the latest.
func (t *tenant) marked(p place, whose string) []any {
	var hold []*mark
	for tr := p.trunk; tr != nil; tr, p.depth = tr.from, tr.at {
		for _, m := range tr.marks {
			t.work++
			if m.whose == whose && m.at.depth <= p.depth {
				hold = append(hold, m)
			}
		}
	}
	slices.SortFunc(hold, func(a, b *mark) int {
		return cmp.Or(cmp.Compare(b.at.depth, a.at.depth), cmp.Compare(b.seq, a.seq))
	})
	values := make([]any, len(hold))
	for i, m := range hold {
		values[i] = m.value
	}
	return values
}

// Marked returns what is kept for th.Whose at all places up to the end of a request, the
// deepest first and of those the latest.
func (b *Index) Marked(th *Thread) []any {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marked(th.at, th.Whose)
}

// Mark keeps a value by a name behind the first depth messages of a request, unless
// something else is marked up to there by now than what was found before.
func (b *Index) Mark(th *Thread, depth int, name string, before []any, value any) bool {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Equal(t.marked(th.at, th.Whose), before) {
		return false
	}
	t.seq++
	t.keep(th.branch.of, &mark{name: name, at: th.at.up(depth), whose: th.Whose, value: value, seq: t.seq})
	return true
}

// keep enters a mark of a conversation at its place.
func (t *tenant) keep(k *conversation, m *mark) {
	m.of = k
	m.at.hold()
	m.at.trunk.marks = append(m.at.trunk.marks, m)
	k.marks = append(k.marks, m)
	if len(k.marks) > maxMarks {
		t.unmark(k.marks[0])
		k.marks = slices.Delete(k.marks, 0, 1)
	}
}

// mark enters a mark at the place to which messages lead.
func (t *tenant) mark(k *conversation, m *mark, path []step) {
	at, added := k.space.extend(place{}, path)
	t.grow(added)
	m.at = at
	t.keep(k, m)
}

// unmark takes a mark from its place.
func (t *tenant) unmark(m *mark) {
	m.at.trunk.marks = without(m.at.trunk.marks, m)
	t.grow(-m.of.space.release(m.at))
}

// Unmark takes marks away that turned out to be wrong.
func (b *Index) Unmark(th *Thread, name string) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.branch.of
	for _, m := range k.marks {
		if m.name == name {
			t.unmark(m)
		}
	}
	k.marks = slices.DeleteFunc(k.marks, func(m *mark) bool { return m.name == name })
}

// Refresh reads the marks of a request's conversation that another process has made, and
// brings all into the order in which they are stored, so that both find the same.
func (b *Index) Refresh(ctx context.Context, th *Thread) error {
	if b.marks == nil {
		return nil
	}
	t := b.tenant(th.Tenant)
	k := th.branch.of
	known := map[string]bool{}
	t.mu.Lock()
	for _, m := range k.marks {
		known[m.name] = true
	}
	t.mu.Unlock()
	stored, err := b.marks(ctx, b.store, th.Tenant, th.Conversation, func(name string) bool { return known[name] })
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil
	}
	if err != nil {
		return err
	}
	stored = stored[max(0, len(stored)-maxMarks):]
	read := map[string]*storedPath{}
	for i := range stored {
		s := &stored[i]
		if known[s.Name] {
			continue
		}
		p, err := b.readPath(ctx, th.Tenant, s.At)
		if errors.Is(err, timeline.ErrNoPlace) {
			continue // somebody has deleted it
		}
		if err != nil {
			return err
		}
		read[s.Name] = p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.dropped {
		return nil
	}
	t.order(k, stored, read)
	t.account(k)
	return nil
}

// order gives marks the order in which they are stored, those that are not behind them,
// and enters those that were read.
func (t *tenant) order(k *conversation, stored []StoredMark, read map[string]*storedPath) {
	have := map[string]*mark{}
	for _, m := range k.marks {
		have[m.name] = m
	}
	old := k.marks
	k.marks = nil
	for i := range stored {
		s := &stored[i]
		m := have[s.Name]
		t.seq++
		switch path := read[s.Name]; {
		case m != nil:
			delete(have, s.Name)
			m.seq = t.seq
			k.marks = append(k.marks, m)
		case path != nil && len(path.steps) > 0:
			t.mark(k, &mark{name: s.Name, whose: s.Whose, value: s.Value, seq: t.seq}, path.steps)
		}
	}
	for _, m := range old {
		if have[m.name] == m {
			t.seq++
			m.seq = t.seq
			k.marks = append(k.marks, m)
		}
	}
}
