package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// Recorded is a conversation of calls. Pins and undos take effect at its next call, in
// whichever process that is.
type Recorded struct {
	engine *Engine
	store  timeline.Store
	tenant string
	stored timeline.Conversation
}

// Undoing describes what an undo does.
type Undoing struct {
	// Plan is the id of the undone plan.
	Plan string
	// Back are the items or messages that come back and are held; Leaves are those in
	// view that leave for them. In a conversation of calls both refer to the view of its
	// latest call; the next call may need more room.
	Back, Leaves []int64
	// BackTokens is how much more of Back the window would have, LeavesTokens how much less
	// of all others, also of those that are only shortened for it.
	BackTokens, LeavesTokens int
}

// Newer reports whether anything leaves that is newer than the first that comes back.
func (u *Undoing) Newer() bool {
	return len(u.Back) > 0 && len(u.Leaves) > 0 && u.Leaves[len(u.Leaves)-1] > u.Back[0]
}

// Recorded returns a stored conversation of calls.
func (r *Engine) Recorded(tenant string, stored timeline.Conversation) *Recorded {
	return &Recorded{r, r.o.Store, tenant, stored}
}

// Free makes the name of a conversation that is not stored free for items. It returns false if
// a call of it has begun, so that it will be a conversation of calls.
func (r *Engine) Free(tenant, conversation string) bool { return r.index.Free(tenant, conversation) }

// HasCalls reports whether a stored conversation consists of calls. The first write decides
// that, and conversations of items get no calls.
func HasCalls(ctx context.Context, store timeline.Store, tenant, name string) (bool, error) {
	who, err := store.Records(ctx, tenant, name, "thread", "")
	if err != nil || len(who) > 0 {
		return err == nil, err
	}
	// An imported conversation that a proxy has continued has calls of its own.
	calls, err := proxyCalls(ctx, store, tenant, name)
	return len(calls) > 0, err
}

// proxyCalls returns the keys of the recorded calls, oldest first, without those of an
// import.
func proxyCalls(ctx context.Context, store timeline.Store, tenant, name string) ([]string, error) {
	keys, err := store.RecordKeys(ctx, tenant, name, "call")
	return slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, "import ") }), err
}

// Head returns the place of the newest message.
func (c *Recorded) Head() timeline.Place { return c.stored.Head }

// Sent is what was sent of the latest call.
type Sent struct {
	// Messages and Tokens are the size of the request; Budget is the most tokens that it
	// might have, 0 if no view was made of it.
	Messages, Tokens, Budget int
}

// Sent returns what was sent of the latest call that is no side call; zero if there is none.
func (c *Recorded) Sent(ctx context.Context) (sent Sent, err error) {
	found, e, err := c.latest(ctx)
	if err != nil || e == nil {
		return sent, err
	}
	sent = Sent{Messages: len(e.Own) + e.Messages, Tokens: e.Tokens, Budget: e.Wish}
	if e.Hard > 0 && (sent.Budget == 0 || sent.Budget > e.Hard) {
		sent.Budget = e.Hard
	}
	if e.Plan == "" {
		return sent, nil
	}
	options := SentOptions{Models: c.engine.Options().Models, Profiles: c.engine.Options().Profiles}
	now, _, err := ReadSent(ctx, c.store, c.tenant, c.stored.Name, found, options)
	if errors.Is(err, ErrPlanGone) {
		return sent, nil
	}
	if err != nil {
		return sent, err
	}
	sent.Messages = len(now.SentIDs)
	return sent, nil
}

// latest returns the record of the latest call that is no side call, or nil.
func (c *Recorded) latest(ctx context.Context) (*timeline.Record, *entry, error) {
	calls, err := proxyCalls(ctx, c.store, c.tenant, c.stored.Name)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range slices.Backward(calls) {
		found, err := c.store.Records(ctx, c.tenant, c.stored.Name, "call", key)
		if err != nil {
			return nil, nil, err
		}
		var e entry
		if len(found) > 0 && json.Unmarshal(found[0].Data, &e) == nil && e.Thread != thread.Side {
			return &found[0], &e, nil
		}
	}
	return nil, nil, nil
}

// Kept returns the messages on the way to the head that are pinned, and those that an undo
// holds.
func (c *Recorded) Kept(ctx context.Context) (pinned, held map[int64]bool, err error) {
	notes := timeline.Notes{Store: c.store, Tenant: c.tenant, Conversation: c.stored.Name}
	pins, err := notes.Pins(ctx)
	if err != nil {
		return nil, nil, err
	}
	holds, err := notes.Holds(ctx)
	if err != nil {
		return nil, nil, err
	}
	here := func(at timeline.Place) bool {
		if err != nil || at.Depth == 0 {
			return err == nil
		}
		var on bool
		on, err = timeline.Passes(ctx, c.store, c.tenant, c.stored.Head, at)
		return on
	}
	pinned, held = map[int64]bool{}, map[int64]bool{}
	for i := range pins {
		if pins[i].ID <= c.stored.Head.Depth && here(pins[i].At) {
			pinned[pins[i].ID] = true
		}
	}
	for i := range holds {
		if here(holds[i].At) {
			for id := range holds[i].Held.All() {
				held[int64(id)] = true
			}
		}
	}
	return pinned, held, err
}

// Pin keeps a message in view, and brings it back if it has left. It refuses, with the
// numbers, what is known not to fit.
func (c *Recorded) Pin(ctx context.Context, id int64) error {
	at, err := c.placeOf(ctx, id)
	if err != nil {
		return err
	}
	pins, err := c.pins(ctx, id)
	if err != nil || slices.ContainsFunc(pins, func(p timeline.Pin) bool { return p.At == at || p.At.Depth == 0 }) {
		return err
	}
	if _, err := c.fits(ctx, []int{int(id)}); err != nil {
		return err
	}
	p := timeline.Pin{Key: timeline.PinKey(id, len(pins) > 0, c.stored.Revision+1), ID: id, At: at}
	return c.change(ctx, timeline.Change{Put: []timeline.Record{p.Record()}})
}

// Unpin lets a message leave in its turn.
func (c *Recorded) Unpin(ctx context.Context, id int64) error {
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
			drop = append(drop, timeline.Key{Kind: timeline.KindPin, Key: pins[i].Key})
		}
	}
	if len(drop) == 0 {
		return nil
	}
	return c.change(ctx, timeline.Change{Drop: drop})
}

// WouldUndo reports what undo would do. It refuses, with the numbers, what is known not
// to fit. The empty id means the newest plan that hides something that is not held.
func (c *Recorded) WouldUndo(ctx context.Context, id string) (u Undoing, err error) {
	u, _, err = c.undoing(ctx, id)
	return u, err
}

// undoing is wouldUndo, and also returns the name of the plan.
func (c *Recorded) undoing(ctx context.Context, id string) (u Undoing, name string, err error) {
	plans, err := c.plans(ctx)
	if err != nil {
		return u, "", err
	}
	w, err := readViewNotes(ctx, c.store, c.tenant, c.stored.Name)
	if err != nil {
		return u, "", err
	}
	for i, p := range slices.Backward(plans) {
		if id != "" && !p.Is(id) {
			continue
		}
		left := leftBy(plans, i)
		held := slices.ContainsFunc(w.holds, func(h hold) bool { return p.Is(h.plan) })
		switch {
		case id != "" && (len(left) == 0 || held):
			return Undoing{Plan: p.Name()}, p.ID, nil // undoing twice, or nothing, is no error
		case len(left) == 0 || held:
			continue
		}
		would, err := c.fits(ctx, left)
		return Undoing{Plan: p.Name(), Back: numbers(left), Leaves: numbers(would.Left), BackTokens: would.Back,
			LeavesTokens: would.Lost}, p.ID, err
	}
	if id == "" {
		return u, "", fmt.Errorf("%w: everything that has left the view is held, or nothing has left it",
			fault.ErrNoPlan)
	}
	return u, "", fmt.Errorf("%w: oriel show CONVERSATION --plan lists the plans", fault.ErrNoPlan)
}

func numbers(depths []int) []int64 {
	out := make([]int64, len(depths))
	for i, d := range depths {
		out[i] = int64(d)
	}
	return out
}

// Undo holds in view, from the next call on, what a plan left out or shortened.
func (c *Recorded) Undo(ctx context.Context, id string) error {
	u, name, err := c.undoing(ctx, id)
	if err != nil || len(u.Back) == 0 {
		return err
	}
	at, err := c.placeOf(ctx, u.Back[len(u.Back)-1])
	if err != nil {
		return err
	}
	hold, err := timeline.Hold{Plan: name, Held: timeline.RangesOf(u.Back), At: at}.Record()
	if err != nil {
		return err
	}
	return c.change(ctx, timeline.Change{Put: []timeline.Record{hold}})
}

// Release ends all holds.
func (c *Recorded) Release(ctx context.Context) error {
	holds, err := c.store.RecordKeys(ctx, c.tenant, c.stored.Name, timeline.KindHold) // the damaged ones, too
	if err != nil || len(holds) == 0 {
		return err
	}
	var drop []timeline.Key
	for _, key := range holds {
		drop = append(drop, timeline.Key{Kind: timeline.KindHold, Key: key})
	}
	return c.change(ctx, timeline.Change{Drop: drop})
}

// Note stores the note that write returns about a message, if it returns one. write gets the
// place of the message and the revision that the note will have.
func (c *Recorded) Note(ctx context.Context, id int64,
	write func(timeline.Notes, timeline.Place, int64) (*timeline.Record, error)) error {
	at, err := c.placeOf(ctx, id)
	if err != nil {
		return err
	}
	notes := timeline.Notes{Store: c.store, Tenant: c.tenant, Conversation: c.stored.Name}
	note, err := write(notes, at, c.stored.Revision+1)
	if err != nil || note == nil {
		return err
	}
	return c.change(ctx, timeline.Change{Put: []timeline.Record{*note}})
}

// Plans returns the newest plans on the way to the head, at most limit of them,
// oldest first; limit 0 means all.
func (c *Recorded) Plans(ctx context.Context, limit int) ([]window.Plan, error) {
	plans, err := c.plans(ctx)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		plans = plans[max(0, len(plans)-limit):]
	}
	out := make([]window.Plan, len(plans))
	for i := range plans {
		out[i] = plans[i].Plan.Plan // whose Undo is the id
	}
	return out, nil
}

// plans returns the plans on the way to the head, oldest first.
func (c *Recorded) plans(ctx context.Context) ([]plan.Stored, error) {
	all, err := plan.Read(ctx, timeline.Notes{Store: c.store, Tenant: c.tenant, Conversation: c.stored.Name}, nil)
	if err != nil {
		return nil, err
	}
	var out []plan.Stored
	for i := range all {
		if all[i].Plan == nil {
			continue
		}
		here, err := timeline.Passes(ctx, c.store, c.tenant, c.stored.Head, all[i].At)
		if err != nil {
			return nil, err
		}
		if here {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// leftBy returns the messages that plan i hides and the plan before it does not.
func leftBy(plans []plan.Stored, i int) []int {
	hidden := plans[i].Plan.Hidden()
	for _, p := range slices.Backward(plans[:i]) {
		if p.Plan.For == plans[i].Plan.For {
			before := map[int]bool{}
			for _, d := range p.Plan.Hidden() {
				before[d] = true
			}
			return slices.DeleteFunc(hidden, func(d int) bool { return before[d] })
		}
	}
	return hidden
}

// fits returns what would change if the latest call were shown with these messages in
// addition to all pinned and held ones. If they cannot be shown, the error has the
// numbers. If the latest call cannot be read, fits returns nothing, and the next call
// decides.
func (c *Recorded) fits(ctx context.Context, more []int) (would view.Restoration, err error) {
	plans, err := c.plans(ctx)
	if err != nil || len(plans) == 0 {
		return would, err // nothing ever had to leave
	}
	found, e, err := c.latest(ctx)
	if err != nil || e == nil {
		return would, err
	}
	w, err := readViewNotes(ctx, c.store, c.tenant, c.stored.Name)
	if err != nil {
		return would, err
	}
	sent, err := Read(ctx, c.store, c.tenant, found)
	if err != nil {
		return would, nil
	}
	in, err := e.input(sent)
	if err != nil {
		return would, nil
	}
	newest := plans[len(plans)-1].Plan
	if in.Room == nil { // of an earlier version
		in.Room = &view.Room{Wish: newest.Plan.Budget, Hard: newest.Plan.Budget}
	}
	options := c.engine.Options()
	o := view.Options{
		Models: options.Models, Calibration: c.engine.o.Calibration, Cache: c.engine.cache,
		Profiles: options.Profiles, KeepTools: options.KeepTools,
	}
	if _, err := o.Profiles.Lookup(in.Profile); err != nil {
		in.Profile = "" // it is no longer in the settings; in.Room says what it allowed
	}
	in.Thread.Tenant = c.tenant // whose calls have taught the calibration
	in.Pins, in.Now = union(w.all(), more), found.Time
	return view.New(o).Restoring(ctx, in, newest)
}

// pins returns the pins of an id on all branches.
func (c *Recorded) pins(ctx context.Context, id int64) ([]timeline.Pin, error) {
	all, err := timeline.Notes{Store: c.store, Tenant: c.tenant, Conversation: c.stored.Name}.Pins(ctx)
	return slices.DeleteFunc(all, func(p timeline.Pin) bool { return p.ID != id }), err
}

// placeOf returns the place of a message on the way to the head.
func (c *Recorded) placeOf(ctx context.Context, id int64) (timeline.Place, error) {
	at, ok, err := timeline.PlaceOf(ctx, c.store, c.tenant, c.stored.Head, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: there are messages 1 to %d, not %d", fault.ErrNoItem, c.stored.Head.Depth, id)
	}
	return at, err
}

func (c *Recorded) change(ctx context.Context, change timeline.Change) error {
	change.Conversation, change.Stay, change.Now = c.stored.Name, true, c.engine.o.Now()
	_, err := c.store.Apply(ctx, c.tenant, change)
	c.engine.states.changed(c.tenant, c.stored.Name)
	return err
}
