package oriel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
)

// recorded is a conversation of calls. Pins and undos take effect at its next call, in
// whichever process that is.
type recorded struct {
	store  timeline.Store
	tenant string
	calls  *calls
	now    func() time.Time
	// options are the engine's current options of calls.
	options CallOptions
	stored  timeline.Conversation
}

// byCalls runs do if the conversation consists of calls, and reports whether it does. It
// also reports true if an error prevents it from knowing.
func (c *Conversation) byCalls(ctx context.Context, op string, do func(*recorded) error) (came bool, err error) {
	e := c.engine
	if err := e.enter(ctx, c); err != nil {
		return true, c.fail(op, err, "")
	}
	if err := e.calls.queue.waitKey(ctx, queueKey(c.tenant, c.id)); err != nil {
		return true, e.storeError(ctx, op, c.id, err)
	}
	r, ok, err := openRecorded(ctx, e.store, c.tenant, c.id)
	switch {
	case errors.Is(err, timeline.ErrNoConversation) || err == nil && !ok:
		return false, nil
	case err != nil:
		return true, e.storeError(ctx, op, c.id, err)
	}
	r.calls, r.now, r.options = e.calls, e.config.Now, e.calls.tuning.Load().o
	err = do(r)
	for _, cause := range []error{ErrNoItem, ErrNoPlan, ErrCannotFit} {
		if errors.Is(err, cause) {
			return true, c.fail(op, err, "")
		}
	}
	if err != nil {
		return true, e.storeError(ctx, op, c.id, err)
	}
	return true, nil
}

// openRecorded opens a conversation; ok is false if it does not consist of calls.
func openRecorded(ctx context.Context, store timeline.Store, tenant, name string) (c *recorded, ok bool, err error) {
	c = &recorded{store: store, tenant: tenant}
	if c.stored, err = store.Conversation(ctx, tenant, name); err != nil {
		return nil, false, err
	}
	who, err := store.Records(ctx, tenant, name, "thread", "")
	if err != nil || len(who) > 0 {
		return c, err == nil, err
	}
	// An imported conversation that a proxy has continued has calls of its own.
	calls, err := proxyCalls(ctx, store, tenant, name)
	return c, len(calls) > 0, err
}

// proxyCalls returns the keys of the recorded calls, oldest first, without those of an
// import.
func proxyCalls(ctx context.Context, store timeline.Store, tenant, name string) ([]string, error) {
	keys, err := store.RecordKeys(ctx, tenant, name, "call")
	return slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, "import ") }), err
}

// pin keeps a message in view, and brings it back if it has left. It refuses, with the
// numbers, what is known not to fit.
func (c *recorded) pin(ctx context.Context, id int64) error {
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

// unpin lets a message leave in its turn.
func (c *recorded) unpin(ctx context.Context, id int64) error {
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

// wouldUndo reports what undo would do. It refuses, with the numbers, what is known not
// to fit. The empty id means the newest plan that hides something that is not held.
func (c *recorded) wouldUndo(ctx context.Context, id string) (u Undoing, err error) {
	u, _, err = c.undoing(ctx, id)
	return u, err
}

// undoing is wouldUndo, and also returns the name of the plan.
func (c *recorded) undoing(ctx context.Context, id string) (u Undoing, name string, err error) {
	plans, err := c.plans(ctx)
	if err != nil {
		return u, "", err
	}
	w, err := readViewNotes(ctx, c.store, c.tenant, c.stored.Name)
	if err != nil {
		return u, "", err
	}
	for i, p := range slices.Backward(plans) {
		if id != "" && !p.named(id) {
			continue
		}
		left := leftBy(plans, i)
		held := slices.ContainsFunc(w.holds, func(h hold) bool { return p.named(h.plan) })
		switch {
		case id != "" && (len(left) == 0 || held):
			return Undoing{Plan: p.id}, p.cut.ID, nil // undoing twice, or nothing, is no error
		case len(left) == 0 || held:
			continue
		}
		would, err := c.fits(ctx, left)
		return Undoing{Plan: p.id, Back: numbers(left), Leaves: numbers(would.Left), BackTokens: would.Back, LeavesTokens: would.Lost}, p.cut.ID, err
	}
	if id == "" {
		return u, "", fmt.Errorf("%w: everything that has left the view is held, or nothing has left it", ErrNoPlan)
	}
	return u, "", fmt.Errorf("%w: oriel show CONVERSATION --plan lists the plans", ErrNoPlan)
}

func numbers(depths []int) []int64 {
	out := make([]int64, len(depths))
	for i, d := range depths {
		out[i] = int64(d)
	}
	return out
}

// undo holds in view, from the next call on, what a plan left out or shortened.
func (c *recorded) undo(ctx context.Context, id string) error {
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

// release ends all holds.
func (c *recorded) release(ctx context.Context) error {
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

// plansUpTo returns the newest plans on the way to the head, at most limit of them,
// oldest first; limit 0 means all.
func (c *recorded) plansUpTo(ctx context.Context, limit int) ([]Plan, error) {
	plans, err := c.plans(ctx)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		plans = plans[max(0, len(plans)-limit):]
	}
	out := make([]Plan, len(plans))
	for i := range plans {
		out[i] = Plan(plans[i].cut.Plan) // whose Undo is the id
	}
	return out, nil
}

// madePlan is a plan on the way to the head.
type madePlan struct {
	id    string
	whose string
	cut   *view.Cut
}

// named reports whether a plan has this id or name. Version 1 used names only.
func (p *madePlan) named(id string) bool { return id == p.id || id == p.cut.ID }

func (c *recorded) plans(ctx context.Context) ([]madePlan, error) {
	marks, err := view.ReadPlans(ctx, c.store, c.tenant, c.stored.Name, nil)
	if err != nil {
		return nil, err
	}
	var out []madePlan
	for _, m := range marks {
		cut, ok := m.Value.(*view.Cut)
		if !ok {
			continue
		}
		here, err := timeline.Passes(ctx, c.store, c.tenant, c.stored.Head, m.At)
		if err != nil {
			return nil, err
		}
		if here {
			out = append(out, madePlan{timeline.PlanID(m.Number), m.Audience, cut})
		}
	}
	return out, nil
}

// leftBy returns the messages that plan i hides and the plan before it does not.
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

// fits returns what would change if the latest call were shown with these messages in
// addition to all pinned and held ones. If they cannot be shown, the error has the
// numbers. If the latest call cannot be read, fits returns nothing, and the next call
// decides.
func (c *recorded) fits(ctx context.Context, more []int) (would view.Restoration, err error) {
	plans, err := c.plans(ctx)
	if err != nil || len(plans) == 0 {
		return would, err // nothing ever had to leave
	}
	calls, err := proxyCalls(ctx, c.store, c.tenant, c.stored.Name)
	if err != nil {
		return would, err
	}
	w, err := readViewNotes(ctx, c.store, c.tenant, c.stored.Name)
	if err != nil {
		return would, err
	}
	for _, key := range slices.Backward(calls) {
		found, err := c.store.Records(ctx, c.tenant, c.stored.Name, "call", key)
		if err != nil {
			return would, err
		}
		var e entry
		if len(found) == 0 || json.Unmarshal(found[0].Data, &e) != nil || e.Thread == thread.Side {
			continue
		}
		call, err := ReadCall(ctx, c.store, c.tenant, &found[0])
		if err != nil {
			return would, nil
		}
		in, err := e.input(call)
		if err != nil {
			return would, nil
		}
		newest := plans[len(plans)-1].cut
		if in.Room == nil { // of an earlier version
			in.Room = &view.Room{Wish: newest.Plan.Budget, Hard: newest.Plan.Budget}
		}
		o := view.Options{Models: c.options.Models, Calibration: c.calls.o.Calibration, Cache: c.calls.cache, Profiles: c.options.Profiles, KeepTools: c.options.KeepTools}
		if _, err := o.Profiles.Lookup(in.Profile); err != nil {
			in.Profile = "" // it is no longer in the settings; in.Room says what it allowed
		}
		in.Thread.Tenant = c.tenant // whose calls have taught the calibration
		in.Pins, in.Now = union(w.all(), more), found[0].Time
		return view.New(o).Restoring(ctx, in, newest)
	}
	return would, nil
}

// pins returns the pins of an id on all branches.
func (c *recorded) pins(ctx context.Context, id int64) ([]timeline.Pin, error) {
	all, err := timeline.Notes{Store: c.store, Tenant: c.tenant, Conversation: c.stored.Name}.Pins(ctx)
	return slices.DeleteFunc(all, func(p timeline.Pin) bool { return p.ID != id }), err
}

// placeOf returns the place of a message on the way to the head.
func (c *recorded) placeOf(ctx context.Context, id int64) (timeline.Place, error) {
	at, ok, err := timeline.PlaceOf(ctx, c.store, c.tenant, c.stored.Head, id)
	if err == nil && !ok {
		err = fmt.Errorf("%w: there are messages 1 to %d, not %d", ErrNoItem, c.stored.Head.Depth, id)
	}
	return at, err
}

func (c *recorded) change(ctx context.Context, change timeline.Change) error {
	change.Conversation, change.Stay, change.Now = c.stored.Name, true, c.now()
	_, err := c.store.Apply(ctx, c.tenant, change)
	c.calls.states.changed(c.tenant, c.stored.Name)
	return err
}
