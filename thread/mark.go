package thread

import (
	"context"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// mark is what somebody keeps at a message of a history: it holds for all that goes on
// from there, on whichever branch.
type mark struct {
	says  []timeline.Hash // of the messages up to it
	whose string
	value any
}

// maxMarks is how many a conversation keeps in memory, the latest.
const maxMarks = 256

// StoredMark is a mark that was stored as a record.
type StoredMark struct {
	At    timeline.Place
	Whose string
	Value any
}

// Marks reads the marks of a conversation, in the order in which they were made.
type Marks func(ctx context.Context, store timeline.Store, tenant, conversation string) ([]StoredMark, error)

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

// marked is the latest mark that holds for the first n steps of a line.
func (k *talk) marked(l *line, n int, whose string) *mark {
	for _, m := range slices.Backward(k.marks) {
		if m.holds(l, n, whose) {
			return m
		}
	}
	return nil
}

// Marked is what was last kept for th.Whose at any place up to the end of a request, and
// how many messages there are up to it; nil for nothing.
func (b *Book) Marked(th *Thread) (value any, depth int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := th.line.talk.marked(th.line, th.depth, th.Whose); m != nil {
		return m.value, len(m.says)
	}
	return nil, 0
}

// Mark keeps a value behind the first depth messages of a request, unless something
// else is marked there by now than what was found before: then that is returned, and
// false.
func (b *Book) Mark(th *Thread, depth int, before, value any) (any, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := th.line.talk
	if m := k.marked(th.line, th.depth, th.Whose); m != nil && m.value != before {
		return m.value, false
	}
	k.mark(&mark{th.line.saysTo(depth), th.Whose, value})
	return value, true
}

func (k *talk) mark(m *mark) {
	k.marks = append(k.marks, m)
	if len(k.marks) > maxMarks {
		k.marks = slices.Delete(k.marks, 0, len(k.marks)-maxMarks)
	}
}
