package thread

import (
	"context"
	"errors"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// mark is what somebody keeps at a message of a history: it holds for all that goes on
// from there, on whichever branch.
type mark struct {
	name  string
	says  []timeline.Hash // of the messages up to it
	whose string
	value any
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

// holds reports whether a line passes the mark within its first n steps.
func (m *mark) holds(l *line, n int, whose string) bool {
	if m.whose != whose || len(m.says) > n || n > len(l.steps) {
		return false
	}
	for i := len(m.says) - 1; i >= 0; i-- { // branches differ at their ends
		if l.steps[i].says != m.says[i] {
			return false
		}
	}
	return true
}

// marked are the values of the marks that hold for the first n steps of a line, the
// deepest first and of those the latest.
func (k *talk) marked(l *line, n int, whose string) []any {
	var hold []*mark
	for _, m := range slices.Backward(k.marks) {
		if m.holds(l, n, whose) {
			hold = append(hold, m)
		}
	}
	slices.SortStableFunc(hold, func(a, b *mark) int { return len(b.says) - len(a.says) })
	values := make([]any, len(hold))
	for i, m := range hold {
		values[i] = m.value
	}
	return values
}

// Marked is what is kept for th.Whose at all places up to the end of a request, the
// deepest first and of those the latest.
func (b *Book) Marked(th *Thread) []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return th.line.talk.marked(th.line, th.depth, th.Whose)
}

// Mark keeps a value by a name behind the first depth messages of a request, unless
// something else is marked up to there by now than what was found before.
func (b *Book) Mark(th *Thread, depth int, name string, before []any, value any) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := th.line.talk
	if !slices.Equal(k.marked(th.line, th.depth, th.Whose), before) {
		return false
	}
	k.mark(&mark{name, th.line.saysTo(depth), th.Whose, value})
	return true
}

// Unmark takes marks away that turned out to be wrong.
func (b *Book) Unmark(th *Thread, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := th.line.talk
	k.marks = slices.DeleteFunc(k.marks, func(m *mark) bool { return m.name == name })
}

// Refresh reads the marks of a request's conversation that another process has made, and
// brings all into the order in which they are stored, so that both find the same.
func (b *Book) Refresh(ctx context.Context, th *Thread) error {
	if b.marks == nil {
		return nil
	}
	k := th.line.talk
	known := map[string]*mark{}
	b.mu.Lock()
	for _, m := range k.marks {
		known[m.name] = m
	}
	b.mu.Unlock()
	stored, err := b.marks(ctx, b.store, th.Tenant, th.Conversation, func(name string) bool { return known[name] != nil })
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil
	}
	if err != nil {
		return err
	}
	stored = stored[max(0, len(stored)-maxMarks):]
	var marks []*mark
	for _, s := range stored {
		m := known[s.Name]
		if m == nil {
			l, _, err := b.readLine(ctx, th.Tenant, s.At)
			if errors.Is(err, timeline.ErrNoPlace) {
				continue // somebody has deleted it
			}
			if err != nil {
				return err
			}
			m = &mark{s.Name, l.saysTo(len(l.steps)), s.Whose, s.Value}
		}
		marks = append(marks, m)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range k.marks { // those that are not stored yet
		if !slices.ContainsFunc(marks, func(o *mark) bool { return o.name == m.name }) {
			marks = append(marks, m)
		}
	}
	k.marks = marks
	b.account(k)
	return nil
}

func (k *talk) mark(m *mark) {
	k.marks = append(k.marks, m)
	if len(k.marks) > maxMarks {
		k.marks = slices.Delete(k.marks, 0, len(k.marks)-maxMarks)
	}
}
