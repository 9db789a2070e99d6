package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/view"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// What was asked for is not there.
var (
	ErrNoMessage = errors.New("no such message")
	ErrNoPlan    = errors.New("no such plan")
)

// Conversation is one that a proxy has recorded, for those who say what its views must
// show. A proxy that runs on the same store minds it from its next call on.
type Conversation struct {
	store  timeline.Store
	tenant string
	stored timeline.Conversation
}

// OpenConversation finds a conversation; ok is false for one that no proxy has recorded.
func OpenConversation(ctx context.Context, store timeline.Store, tenant, name string) (c *Conversation, ok bool, err error) {
	c = &Conversation{store: store, tenant: tenant}
	if c.stored, err = store.Conversation(ctx, tenant, name); err != nil {
		return nil, false, err
	}
	who, err := store.Records(ctx, tenant, name, "thread", "")
	if err != nil || len(who) > 0 {
		return c, err == nil, err
	}
	// One that was imported, and then gone on with.
	calls, err := store.Records(ctx, tenant, name, "call", "")
	return c, slices.ContainsFunc(calls, func(r timeline.Record) bool { return !strings.HasPrefix(r.Key, "import ") }), err
}

// Pin keeps a message in view, and brings it back if it has left. What is known not to
// fit is refused with the numbers.
func (c *Conversation) Pin(ctx context.Context, id int64, now time.Time) error {
	at, err := c.placeOf(ctx, id)
	if err != nil {
		return err
	}
	pins, err := c.pins(ctx, id)
	if err != nil || slices.ContainsFunc(pins, func(r timeline.Record) bool { return r.At == at || r.At.Depth == 0 }) {
		return err
	}
	if _, err := c.fits(ctx, []int{int(id)}); err != nil {
		return fmt.Errorf("pin message %d: %w", id, err)
	}
	key := strconv.FormatInt(id, 10)
	if len(pins) > 0 { // the other branch keeps its own
		key = fmt.Sprintf("%d@%d", id, c.stored.Revision+1)
	}
	return c.change(ctx, now, timeline.Change{Put: []timeline.Record{{Kind: kindPin, Key: key, At: at}}})
}

// Unpin lets a message leave in its turn.
func (c *Conversation) Unpin(ctx context.Context, id int64, now time.Time) error {
	at, err := c.placeOf(ctx, id)
	if err != nil {
		return err
	}
	pins, err := c.pins(ctx, id)
	if err != nil {
		return err
	}
	var drop []timeline.Key
	for i := range pins {
		if pins[i].At == at || pins[i].At.Depth == 0 {
			drop = append(drop, timeline.Key{Kind: kindPin, Key: pins[i].Key})
		}
	}
	if len(drop) == 0 {
		return nil
	}
	return c.change(ctx, now, timeline.Change{Drop: drop})
}

// Undoing is what an undo does.
type Undoing struct {
	// Plan is the plan that is taken back.
	Plan string
	// Back are the messages that come back with the next call and are held; nil where
	// there is nothing to undo, or it was undone before.
	Back view.Ranges
	// Leaves are the messages that are shown now and have to leave for them, by the
	// latest call: the next one may need more room.
	Leaves view.Ranges
}

// Newer reports whether messages have to leave that are newer than the first that comes
// back.
func (u *Undoing) Newer() bool {
	return len(u.Back) > 0 && len(u.Leaves) > 0 && u.Leaves[len(u.Leaves)-1][1] > u.Back[0][0]
}

// WouldUndo reports what Undo would do, and changes nothing. What is known not to fit is
// refused with the numbers.
func (c *Conversation) WouldUndo(ctx context.Context, id string) (*Undoing, error) {
	plans, err := c.plans(ctx)
	if err != nil {
		return nil, err
	}
	w, err := readWants(ctx, c.store, c.tenant, c.stored.Name)
	if err != nil {
		return nil, err
	}
	for i, p := range slices.Backward(plans) {
		if id != "" && p.cut.ID != id {
			continue
		}
		left := leftBy(plans, i)
		held := slices.ContainsFunc(w.holds, func(h hold) bool { return h.plan == p.cut.ID })
		switch {
		case id != "" && (len(left) == 0 || held):
			return &Undoing{Plan: id}, nil // undoing twice, or nothing, is no error
		case len(left) == 0 || held:
			continue
		}
		leaves, err := c.fits(ctx, left)
		if err != nil {
			return nil, fmt.Errorf("undo plan %s: %w", p.cut.ID, err)
		}
		return &Undoing{Plan: p.cut.ID, Back: view.RangesOf(left), Leaves: view.RangesOf(leaves)}, nil
	}
	if id == "" {
		return nil, fmt.Errorf("undo: %w: nothing has left the view of %q that is not held, so there is nothing to bring back", ErrNoPlan, c.stored.Name)
	}
	return nil, fmt.Errorf("undo plan %q: %w: oriel show --plan lists those of %q", id, ErrNoPlan, c.stored.Name)
}

// Undo takes a plan back, the newest that hides anything where id is empty: what it left
// out or shortened comes back with the next call and is held in view until Release. Only
// what must leave for it leaves, the oldest first. What is known not to fit is refused
// with the numbers.
func (c *Conversation) Undo(ctx context.Context, id string, now time.Time) (*Undoing, error) {
	u, err := c.WouldUndo(ctx, id)
	if err != nil || u.Back == nil {
		return u, err
	}
	at, err := c.placeOf(ctx, int64(u.Back[len(u.Back)-1][1]))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(storedHold{V: 1, Held: u.Back.String()})
	if err != nil {
		return nil, err
	}
	return u, c.change(ctx, now, timeline.Change{Put: []timeline.Record{{Kind: kindHold, Key: u.Plan, At: at, Data: data}}})
}

// Release ends all holds: what Undo brought back may leave in its turn.
func (c *Conversation) Release(ctx context.Context, now time.Time) error {
	holds, err := c.store.Records(ctx, c.tenant, c.stored.Name, kindHold, "")
	if err != nil || len(holds) == 0 {
		return err
	}
	var drop []timeline.Key
	for i := range holds {
		drop = append(drop, timeline.Key{Kind: kindHold, Key: holds[i].Key})
	}
	return c.change(ctx, now, timeline.Change{Drop: drop})
}

// Plans are the newest plans on the way to where the conversation stands, at most limit
// of them, oldest first; limit 0 means all.
func (c *Conversation) Plans(ctx context.Context, limit int) ([]window.Plan, error) {
	plans, err := c.plans(ctx)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		plans = plans[max(0, len(plans)-limit):]
	}
	out := make([]window.Plan, len(plans))
	for i := range plans {
		out[i] = plans[i].cut.Plan
	}
	return out, nil
}

// madePlan is a plan that holds where the conversation stands.
type madePlan struct {
	whose string
	cut   *view.Cut
}

func (c *Conversation) plans(ctx context.Context) ([]madePlan, error) {
	marks, err := view.Marks(ctx, c.store, c.tenant, c.stored.Name, nil)
	if err != nil {
		return nil, err
	}
	var out []madePlan
	for _, m := range marks {
		cut, ok := m.Value.(*view.Cut)
		if !ok {
			continue
		}
		at, err := c.placeOf(ctx, m.At.Depth)
		if err != nil && !errors.Is(err, ErrNoMessage) {
			return nil, err
		}
		if err == nil && at == m.At {
			out = append(out, madePlan{m.Whose, cut})
		}
	}
	return out, nil
}

// leftBy is what plan i hides and the one before it does not.
func leftBy(plans []madePlan, i int) []int {
	hidden := plans[i].cut.Hidden()
	for _, p := range slices.Backward(plans[:i]) {
		if p.whose == plans[i].whose {
			before := map[int]bool{}
			for _, d := range p.cut.Hidden() {
				before[d] = true
			}
			return slices.DeleteFunc(hidden, func(d int) bool { return before[d] })
		}
	}
	return hidden
}

// fits reports what would leave if the latest call were shown with these messages beside
// all that is pinned or held; the error says with numbers why they cannot be shown. What
// cannot be known, the proxy will say.
func (c *Conversation) fits(ctx context.Context, more []int) (leaves []int, err error) {
	plans, err := c.plans(ctx)
	if err != nil || len(plans) == 0 {
		return nil, err // nothing ever had to leave
	}
	calls, err := c.store.Records(ctx, c.tenant, c.stored.Name, "call", "")
	if err != nil {
		return nil, err
	}
	w, err := readWants(ctx, c.store, c.tenant, c.stored.Name)
	if err != nil {
		return nil, err
	}
	for i := len(calls) - 1; i >= 0; i-- {
		var e entry
		if strings.HasPrefix(calls[i].Key, "import ") || json.Unmarshal(calls[i].Data, &e) != nil || e.Thread == thread.Side {
			continue
		}
		call, err := ReadCall(ctx, c.store, c.tenant, &calls[i])
		if err != nil {
			return nil, nil
		}
		body, err := wire.Read(call.Body, wire.Auto, wire.Limits{})
		if err != nil {
			return nil, nil
		}
		_, chain := thread.Chain(body.Messages)
		t := &thread.Thread{From: len(chain) - e.Messages, Head: e.Head, Before: make([]timeline.Hash, e.Before)}
		newest := plans[len(plans)-1].cut
		room := &view.Room{Wish: e.Wish, Hard: e.Hard}
		if e.Hard == 0 { // of an earlier version
			*room = view.Room{Wish: newest.Plan.Budget, Hard: newest.Plan.Budget}
		}
		viewer := view.New(view.Options{Models: token.Builtin(), Calibration: new(token.Calibration)})
		return viewer.Restoring(ctx, &view.Input{Body: body, Thread: t, Profile: e.Profile, Room: room, Pins: union(w.all(), more), Now: calls[i].Time}, newest)
	}
	return nil, nil
}

// pins are the records of pins of an id, on whichever branch.
func (c *Conversation) pins(ctx context.Context, id int64) ([]timeline.Record, error) {
	all, err := c.store.Records(ctx, c.tenant, c.stored.Name, kindPin, "")
	return slices.DeleteFunc(all, func(r timeline.Record) bool { return pinnedID(r.Key) != id }), err
}

// placeOf is the place of a message on the way to where the conversation stands.
func (c *Conversation) placeOf(ctx context.Context, id int64) (at timeline.Place, err error) {
	err = c.store.Messages(ctx, c.tenant, c.stored.Head, id, id, true, func(e *timeline.Entry) error {
		at = e.Place
		return nil
	})
	if err == nil && (id < 1 || at.Depth != id) {
		err = fmt.Errorf("%w: there are messages 1 to %d, not %d", ErrNoMessage, c.stored.Head.Depth, id)
	}
	return at, err
}

func (c *Conversation) change(ctx context.Context, now time.Time, change timeline.Change) error {
	change.Conversation, change.Stay, change.Now = c.stored.Name, true, now
	_, err := c.store.Apply(ctx, c.tenant, change)
	return err
}
