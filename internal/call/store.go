package call

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// store writes a call and emits its event. It updates the counters last, so that whoever
// sees them finds the rest done.
func (c *Call) store(e *entry, usage wire.Usage, messages []chat.Message, identities []timeline.Hash) {
	count, stored := &c.engine.counters.Failed, false
	defer func() {
		if p := recover(); p != nil {
			c.engine.report(event.OpenStore, c.request, c.thread.Conversation,
				fmt.Errorf("a panic while writing: %v", p))
		}
		count.Add(1)
	}()
	defer c.request.Memory.LetGo()
	defer c.answer.leave()
	defer func() { c.engine.index.Stored(c.thread, stored) }()
	if c.engine.overLimit(c.request.Tenant) {
		count = &c.engine.counters.Limited
		c.event(event.Event{Kind: event.Limit, Reason: event.LimitBytes, Call: c.request.ID,
			Conversation: c.thread.Conversation, Model: c.body.Model})
		return
	}
	writing := c.engine.stageBegins()
	w := c.toWrite(e, messages, identities)
	spooled, err := c.engine.save(w)
	c.engine.stageEnds(c.request.ID, StageStore, writing)
	if err != nil {
		c.engine.lost.Add(1)
		c.engine.report(event.OpenStore, c.request, c.thread.Conversation, err)
		return
	}
	if count = &c.engine.counters.Spooled; !spooled {
		count, stored = &c.engine.counters.Written, true
		c.prepare()
	}
	name, _ := c.engine.index.Home(w.tenant, w.conversation)
	told := event.Event{
		Kind: event.Call, Call: c.request.ID, Conversation: name, Thread: string(c.thread.Kind), Model: c.body.Model,
		TokensBefore: c.tokens.Total, TokensAfter: c.tokens.Total, Reported: usage.TotalInput(), Output: usage.Output,
		Usage: e.Usage, MS: e.MS, Outcome: e.Outcome, Error: e.Error,
	}
	if s := c.shown; s != nil {
		told.TokensBefore, told.Budget, told.Grown, told.Action = s.Before, s.Budget, s.Grown, s.Action
		if s.Cut != nil {
			told.Plan = s.Cut.ID
		}
	}
	c.event(told)
}

// unstored returns the cuts to store with this call: those that it made, and the one by
// which it is shown, if that is not stored in this conversation. This is so if the call
// that made it could not be written, if the cut was deleted with what it covers, or if it
// belongs to another conversation that begins like this one. If at is nil, it is not known
// what the store has.
func (c *Call) unstored(at *timeline.Appended) []*plan.Plan {
	if c.shown == nil || c.shown.Cut == nil || c.gaveUp || slices.Contains(c.fresh, c.shown.Cut) {
		return c.fresh
	}
	if cut := c.shown.Cut; at != nil && cut.Stored() && cut.Covers <= at.Forms.Len()-at.New &&
		c.thread.Kind != thread.New {
		return c.fresh
	}
	return append(c.fresh[:len(c.fresh):len(c.fresh)], c.shown.Cut)
}

// toWrite returns what is written of a call: what is new of its history, the reply, and the
// records.
func (c *Call) toWrite(e *entry, reply []chat.Message, identities []timeline.Hash) *write {
	w := &write{id: c.request.ID, tenant: c.request.Tenant, conversation: c.thread.Conversation,
		before: c.thread.Before, entry: *e,
		size: c.size, began: c.began, ended: c.ended, store: c.engine.o.Store, stored: c.stored}
	w.patient = !c.engine.o.Shared && c.engine.queue.noneWaits(queueKey(w.tenant, w.conversation))
	c.keepTop(&w.entry, &w.top)
	for i := range c.thread.From {
		w.entry.Own = append(w.entry.Own, w.top.keep(c.chain[i].Raw))
	}
	if part := c.cleanPartial(c.partial(reply)); part != nil {
		w.entry.Partial = w.top.keep(part)
	}
	w.change = timeline.Change{Now: c.began, Stay: c.thread.Stay ||
		c.engine.index.Passed(c.thread), Continues: c.thread.Continues}
	if c.thread.Kind == thread.New || c.thread.Kind == thread.Compacted {
		w.change.Project = c.project()
	}
	w.change.Drop = c.decided
	who, unstored := c.thread.Record()
	if unstored {
		w.change.Put = append(w.change.Put, who)
	}
	if c.thread.Homeless && c.thread.From == 0 && len(c.thread.Before) == 0 && !c.thread.Stay {
		w.who = &who
	}
	for i := range reply {
		reply[i].Sum = reply[i].Summed()
	}
	h := &history{call: c, asked: c.chain[c.thread.From:], reply: reply, identities: identities,
		format: c.body.Format.String(), ref: e.Reply}
	if e.Reply == "" || len(e.Reply) > timeline.MaxRef {
		h.ref = refReply
	}
	w.history, w.asked = h, len(h.asked)
	w.written = func(now *timeline.Appended) {
		if n := len(now.Way); n > 0 {
			c.engine.index.Written(c.thread, now.Way[n-1], now.Head)
		}
	}
	w.plans = func(at *timeline.Appended) (plans []plan.Stored, err error) {
		for _, cut := range c.unstored(at) {
			p, err := cut.ToStore(c.began)
			if err != nil {
				return nil, err
			}
			plans = append(plans, p)
		}
		return plans, nil
	}
	w.planned = func(p *plan.Plan) {
		p.MarkStored()
		c.engine.index.PlanStored(c.thread, p.ID)
	}
	if s := c.shown; s != nil && s.Cut != nil {
		w.entry.Plan = s.Cut.ID
	}
	return w
}

// history is a request and its reply for the log. A message is made for it only if the log
// does not know its bytes, which after the first call of a conversation are few.
type history struct {
	call         *Call
	asked, reply []chat.Message
	identities   []timeline.Hash // of reply
	format, ref  string          // ref is that of the reply
}

// refReply is the reference of a reply without an id, and of one in the client's words. By a
// reference a model's reply is known from what clients say that it said.
const refReply = "reply"

// Len implements timeline.History.
func (h *history) Len() int { return len(h.asked) + len(h.reply) }

func (h *history) message(i int) *chat.Message {
	if i < len(h.asked) {
		return &h.asked[i]
	}
	return &h.reply[i-len(h.asked)]
}

// Sum implements timeline.History.
func (h *history) Sum(i int) uint64 { return h.message(i).Summed() }

// Message implements timeline.History.
func (h *history) Message(i int) timeline.Resent {
	m := h.message(i)
	r := timeline.Resent{Raw: m.Raw, Sum: m.Summed(), Format: h.format, Role: cmp.Or(string(m.Role), m.Type),
		Time: h.call.began}
	if i >= len(h.asked) {
		r.Ref = h.ref
	} else if slices.Contains(h.call.thread.Echoes, h.call.thread.From+i) {
		r.Ref = refReply
	}
	return r
}

// Identity implements timeline.History.
func (h *history) Identity(i int) timeline.Hash {
	if i < len(h.asked) {
		return h.call.thread.Identities[i]
	}
	return h.identities[i-len(h.asked)]
}
