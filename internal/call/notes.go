package call

import (
	"context"
	"errors"
	"slices"

	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
)

// viewNotes are the notes of a conversation that keep messages in view: pins and holds.
type viewNotes struct {
	pins  []pin
	holds []hold
}

// pin is a message that stays in view. identity is that of the message, because another
// branch has another message at its place; zero means any message.
type pin struct {
	depth    int
	identity timeline.Hash
}

// hold is what an undone plan left out, up to a message.
type hold struct {
	plan string
	held timeline.Ranges
	last pin
}

// readViewNotes reads the pins and holds of a conversation. A pin or hold whose place no
// longer exists applies to no branch that lacks it.
func readViewNotes(ctx context.Context, store timeline.Store, tenant, conversation string) (w viewNotes, err error) {
	notes := timeline.Notes{Store: store, Tenant: tenant, Conversation: conversation}
	pins, err := notes.Pins(ctx)
	if err != nil {
		return w, err
	}
	for i := range pins {
		p := pin{depth: int(pins[i].ID)}
		if p.identity, err = identityAt(ctx, store, tenant, pins[i].At); err != nil {
			return w, err
		}
		w.pins = append(w.pins, p)
	}
	holds, err := notes.Holds(ctx)
	if err != nil {
		return w, err
	}
	for i := range holds {
		h := hold{plan: holds[i].Plan, held: holds[i].Held, last: pin{depth: int(holds[i].At.Depth)}}
		if h.last.identity, err = identityAt(ctx, store, tenant, holds[i].At); err != nil {
			return w, err
		}
		w.holds = append(w.holds, h)
	}
	return w, nil
}

// identityAt returns the identity of the message at a place, or zero if there is none.
func identityAt(ctx context.Context, store timeline.Store, tenant string,
	at timeline.Place) (identity timeline.Hash, err error) {
	if at.Depth == 0 {
		return identity, nil
	}
	if s, ok := store.(*timeline.Snapshot); ok {
		if identity, ok := s.Identity(at); ok {
			return identity, nil
		}
	}
	err = store.Messages(ctx, tenant, at, at.Depth, at.Depth, true, func(e *timeline.Entry) error {
		identity = e.Identity
		return nil
	})
	if errors.Is(err, timeline.ErrNoPlace) {
		return identity, nil
	}
	return identity, err
}

// on returns the pinned and held messages of a request's history, by depth, in order.
func (w *viewNotes) on(t *thread.Thread) []int {
	var out []int
	for _, p := range w.pins {
		if p.on(t) {
			out = append(out, p.depth)
		}
	}
	for _, h := range w.holds {
		if h.last.on(t) {
			out = append(out, slices.Collect(h.held.All())...)
		}
	}
	return union(out, nil)
}

// all returns the pinned and held messages of all branches.
func (w *viewNotes) all() []int {
	var out []int
	for _, p := range w.pins {
		out = append(out, p.depth)
	}
	for _, h := range w.holds {
		out = append(out, slices.Collect(h.held.All())...)
	}
	return out
}

func (p *pin) on(t *thread.Thread) bool { return t.Has(p.depth, p.identity) }

// union returns the elements of both, sorted and without duplicates.
func union(a, b []int) []int {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// differ returns the kinds of events that explain the difference between two.
func (w *viewNotes) differ(old *viewNotes) (kinds []string) {
	if !slices.Equal(w.pins, old.pins) {
		kinds = append(kinds, event.Pin)
	}
	plans := func(w *viewNotes) (out []string) {
		for _, h := range w.holds {
			out = append(out, h.plan)
		}
		return out
	}
	now, was := plans(w), plans(old)
	if slices.ContainsFunc(now, func(p string) bool { return !slices.Contains(was, p) }) {
		kinds = append(kinds, event.Undo)
	}
	if slices.ContainsFunc(was, func(p string) bool { return !slices.Contains(now, p) }) {
		kinds = append(kinds, event.Release)
	}
	return kinds
}
