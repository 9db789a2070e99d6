package oriel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// store writes a call and emits its event. It updates the counters last, so that whoever
// sees them finds the rest done.
func (c *Call) store(e *entry, usage wire.Usage, messages []chat.Message, identities []timeline.Hash) {
	count, stored := &c.calls.counters.Failed, false
	defer func() {
		if p := recover(); p != nil {
			c.calls.report(OpenStore, c.request, c.thread.Conversation, fmt.Errorf("a panic while writing: %v", p))
		}
		count.Add(1)
	}()
	defer c.request.Memory.LetGo()
	defer c.answer.leave()
	defer func() { c.calls.index.Stored(c.thread, stored) }()
	writing := c.calls.stageBegins()
	err := c.writeWithRetry(e, messages, identities)
	c.calls.stageEnds(c.request.ID, StageStore, writing)
	if err != nil {
		c.calls.report(OpenStore, c.request, c.thread.Conversation, err)
		return
	}
	count, stored = &c.calls.counters.Written, true
	c.prepare()
	told := Event{
		Kind: EventCall, Call: c.request.ID, Conversation: c.thread.Conversation, Thread: string(c.thread.Kind), Model: c.body.Model,
		TokensBefore: c.tokens.Total, TokensAfter: c.tokens.Total, Reported: usage.TotalInput(), Output: usage.Output, Usage: e.Usage, Error: e.Error,
	}
	if s := c.shown; s != nil {
		told.TokensBefore, told.Budget, told.Grown = s.Before, s.Budget, s.Grown
		if s.Cut != nil {
			told.Plan = c.planID(s.Cut)
		}
	}
	c.event(told)
}

// Pauses before a failed write is tried again.
var pauses = []time.Duration{100 * time.Millisecond, time.Second, 0}

// writeWithRetry writes a call and retries after a failure, because a store may be locked
// or full for a while.
func (c *Call) writeWithRetry(e *entry, reply []chat.Message, identities []timeline.Hash) error {
	for _, pause := range pauses {
		ctx, cancel := context.WithTimeout(context.Background(), c.calls.o.Waits.Write)
		own := *e
		err := c.write(ctx, &own, reply, identities)
		cancel()
		if err == nil {
			c.calls.lastError.Store(nil)
			return nil
		}
		c.calls.lastError.Store(&err)
		if pause == 0 || errors.Is(err, timeline.ErrClosed) || errors.Is(err, timeline.ErrInvalid) {
			return err
		}
		time.Sleep(pause)
	}
	return nil
}

// write stores a call: the new messages of its history, the reply, and the record.
func (c *Call) write(ctx context.Context, e *entry, reply []chat.Message, identities []timeline.Hash) error {
	top := &contents{}
	c.keepTop(e, top)
	for i := range c.thread.From {
		e.Own = append(e.Own, top.keep(c.chain[i].Raw))
	}
	if part := c.cleanPartial(c.partial(reply)); part != nil {
		e.Partial = top.keep(part)
	}
	stay := c.thread.Stay || c.calls.index.Passed(c.thread)
	change := timeline.Change{Now: c.began, Stay: stay, Continues: c.thread.Continues}
	if c.thread.Kind == thread.New {
		change.Project = c.project()
	}
	if w, ok := c.thread.Record(); ok {
		change.Put = append(change.Put, w)
	}
	all := c.resent(c.chain[c.thread.From:], reply)
	for _, i := range c.thread.Echoes { // a reply in the client's words
		all[i-c.thread.From].Ref = "reply"
	}
	asked := len(all) - len(reply)
	for i := asked; i < len(all); i++ { // by this a model's reply is known from what clients say it said
		if all[i].Ref = e.Reply; e.Reply == "" || len(e.Reply) > timeline.MaxRef {
			all[i].Ref = "reply"
		}
	}
	identity := func(i int) timeline.Hash {
		if i < asked {
			return c.thread.Identities[i]
		}
		return identities[i-asked]
	}
	var cuts []*view.Cut
	var ids map[*view.Cut]string
	then := func(at *timeline.Appended) (change timeline.Change, err error) {
		change = timeline.Change{Now: c.calls.o.Now(), Stay: stay}
		cuts = c.unstored(at)
		if ids, err = c.numbered(ctx, cuts); err != nil {
			return change, err
		}
		for cut, id := range ids {
			change.Drop = append(change.Drop, timeline.Plan{ID: id, Name: cut.ID}.Reservation())
		}
		change.Put, change.Contents, err = c.records(e, at, top, cuts, ids)
		return change, err
	}
	_, err := c.calls.log.AppendThen(ctx, c.request.Tenant, c.thread.Conversation, c.thread.Before, all, asked, identity, change, then)
	if errors.Is(err, timeline.ErrNoPlace) { // somebody deleted what goes before
		e.Before, e.Head = 0, 0
		c.thread.Before = nil
		_, err = c.calls.log.AppendThen(ctx, c.request.Tenant, c.thread.Conversation, nil, all, asked, identity, change, then)
	}
	if err != nil {
		return err
	}
	for _, cut := range cuts {
		cut.MarkStored()
		c.setNumber(cut, ids[cut])
	}
	return nil
}

// records returns the records of a call whose request ends at a place, and of its cuts,
// with their contents.
func (c *Call) records(e *entry, at *timeline.Appended, top *contents, cuts []*view.Cut, ids map[*view.Cut]string) (records []timeline.Record, raw [][]byte, err error) {
	e.Forms = at.Forms.String()
	if s := c.shown; s != nil && s.Cut != nil {
		e.Plan = c.planKey(s.Cut)
		if id, stored := ids[s.Cut]; stored {
			e.Plan = timeline.PlanKey(id, s.Cut.ID)
		}
	}
	record := timeline.Record{Kind: "call", Key: c.request.ID, At: at.Place(int64(at.Forms.Len())), Time: c.began, Contents: top.hashes}
	if record.Data, err = json.Marshal(e); err != nil {
		return nil, nil, err
	}
	plans, more, err := c.plans(cuts, ids, at)
	if err != nil {
		return nil, nil, err
	}
	records = append([]timeline.Record{record}, plans...)
	if c.size != nil {
		records = append(records, *c.size)
	}
	return records, slices.Concat(top.raw, more), nil
}

// unstored returns the cuts to store with this call: those that it made, and the one by
// which it is shown, if that is not stored in this conversation. This is so if the call
// that made it could not be written, if the cut was deleted with what it covers, or if it
// belongs to another conversation that begins like this one.
func (c *Call) unstored(at *timeline.Appended) []*view.Cut {
	if c.shown == nil || c.shown.Cut == nil || c.gaveUp || slices.Contains(c.fresh, c.shown.Cut) {
		return c.fresh
	}
	if cut := c.shown.Cut; cut.Stored() && cut.Covers <= at.Forms.Len()-at.New && c.thread.Kind != thread.New {
		return c.fresh
	}
	return append(c.fresh[:len(c.fresh):len(c.fresh)], c.shown.Cut)
}

// plans returns the records of cuts.
func (c *Call) plans(cuts []*view.Cut, ids map[*view.Cut]string, at *timeline.Appended) (records []timeline.Record, contents [][]byte, err error) {
	for _, cut := range cuts {
		r, more, err := cut.Record(at.Place(int64(cut.Covers)), ids[cut])
		if err != nil {
			return nil, nil, err
		}
		r.Time = c.began
		records, contents = append(records, r), append(contents, more...)
	}
	return records, contents, nil
}

// resent returns the messages of a request and its reply for the log.
func (c *Call) resent(request, reply []chat.Message) []timeline.Resent {
	out := make([]timeline.Resent, 0, len(request)+len(reply))
	format := c.body.Format.String()
	for _, messages := range [][]chat.Message{request, reply} {
		for i := range messages {
			m := &messages[i]
			out = append(out, timeline.Resent{Raw: m.Raw, Sum: m.Summed(), Format: format, Role: cmp.Or(string(m.Role), m.Type), Time: c.began})
		}
	}
	return out
}
