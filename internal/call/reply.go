package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Response receives the status and the header of the answer.
func (c *Call) Response(status int, h http.Header) {
	if c.unrecorded {
		return
	}
	c.status, c.first = status, c.engine.o.Now()
	if status >= http.StatusBadRequest {
		c.retryAfter = h.Get("Retry-After")
	}
	c.answer = newAnswer(c.body.Format, h, c.request.Tenant, c.request.Memory, c.engine.turns)
}

// Ready reports whether Response and Header return at once: they wait for nothing and take
// no lock.
func (c *Call) Ready() bool {
	if c.unrecorded {
		return true
	}
	if c.shown != nil {
		return true
	}
	select {
	case <-c.counted:
		return true
	default:
		return false
	}
}

// Header sets the X-Oriel headers of the answer.
func (c *Call) Header(h http.Header) {
	if c.unrecorded {
		h.Set("X-Oriel-Action", "error")
		return
	}
	if c.known() {
		h.Set(thread.HeaderConversation, c.thread.Conversation)
	}
	if s := c.shown; s != nil {
		h.Set("X-Oriel-Action", s.Action)
		if c.fellBack {
			h.Set("X-Oriel-Action", "error")
		}
		h.Set("X-Oriel-Tokens-Before", strconv.Itoa(s.Before))
		h.Set("X-Oriel-Tokens-After", strconv.Itoa(s.After))
		if s.Cut != nil {
			h.Set("X-Oriel-Plan", s.Cut.ID)
		}
		if s.Grown != nil {
			h.Set("X-Oriel-Budget-Grown", fmt.Sprintf("%d to %d for %s", s.Grown.Wish, s.Budget, s.Grown.For))
		}
		return
	}
	h.Set("X-Oriel-Action", "none")
	if c.fellBack {
		h.Set("X-Oriel-Action", "error")
	}
	if !c.Ready() {
		ctx, cancel := context.WithTimeout(context.Background(), c.engine.o.Waits.Brief)
		defer cancel()
		if waitFor(ctx, c.counted) != nil {
			return
		}
	}
	if n := c.tokens.Total; n > 0 {
		h.Set("X-Oriel-Tokens-Before", strconv.Itoa(n))
		h.Set("X-Oriel-Tokens-After", strconv.Itoa(n))
	}
}

// Write receives the next bytes of the answer as the provider sent them, still
// compressed.
func (c *Call) Write(p []byte) {
	if c.answer != nil {
		c.answer.write(p)
	}
}

// End ends the call: with nil after a complete reply, or with the reason why there is
// none. The call is recorded in the background, unless other processes serve calls of the
// store: then End waits for that, at most Engine.EndWait.
func (c *Call) End(err error) {
	if c.unrecorded {
		return
	}
	c.engine.running.end(c)
	c.ended = c.engine.o.Now()
	wait := c.engine.EndWait()
	if wait > 0 {
		c.crew = nil // whose goroutine waits here
	}
	if c.found != nil { // nobody waits until it is known where the call belongs
		c.engine.queue.goBeside(func() { c.end(err) })
	} else {
		c.engine.queue.runBeside(func() { c.end(err) })
	}
	if wait > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		_ = waitFor(ctx, c.written) // it is stored later
	}
}

// end queues the call to be written.
func (c *Call) end(err error) {
	handed := false
	defer func() {
		if !handed {
			c.answer.leave()
			close(c.written)
		}
	}()
	<-c.counted
	if c.found != nil {
		<-c.found
	}
	if c.thread == nil {
		return // and it was told why
	}
	reading := c.engine.stageBegins()
	reply, messages := c.reply()
	c.engine.stageEnds(c.request.ID, StageReply, reading)
	c.engine.asked.reply(c.request.Tenant, c.thread.Conversation, messages)
	if reply.Complete && errors.Is(err, ErrLeft) {
		err = nil // the client left when it had all
	}
	if c.most > 0 && (c.status != http.StatusOK || reply.Error != nil) {
		c.giveUp()
	}
	id := reply.ID
	p := c.body.Format.Protocol()
	if !p.NamesReplies && !(p.NamesHeld && c.body.Rules().Held) || len(id) > clip.Name {
		id = "" // nobody names it, and what is remembered would take the place of others
	}
	identities := c.engine.index.Done(c.thread, messages, id)
	if c.status == http.StatusUnauthorized || c.status == http.StatusForbidden {
		// A client without a key, such as a page in the user's browser, leaves no record.
		c.leaveNothing()
		c.engine.index.Stored(c.thread, false)
		c.engine.counters.Refused.Add(1)
		return
	}
	e := c.entry(reply, err)
	if c.answer != nil && c.answer.lost != nil {
		c.engine.unkept(c.request, c.thread.Conversation, c.answer.lost)
		if e.Error == "" {
			e.Outcome, e.Error = event.OutcomeFailed, c.answer.lost.Error()
		}
	}
	if e.Error == "" && c.status == http.StatusOK && c.answer != nil && !reply.Complete && !reply.Pending {
		e.Outcome, e.Error = event.OutcomeCutOff, event.NoReply
	}
	c.request.Memory.Hold() // until the call is written
	size := int64(len(c.request.Body))
	for i := range messages {
		size += int64(len(messages[i].Raw))
	}
	bad := c.engine.queue.add(c.crew, queueKey(c.request.Tenant, c.thread.Conversation), size, func() {
		defer close(c.written)
		c.observe(e, messages)
		c.store(e, reply.Usage, messages, identities)
		c.keepShared()
	})
	if handed = bad == nil; !handed {
		c.request.Memory.LetGo()
		c.engine.index.Stored(c.thread, false)
		c.engine.lost.Add(1)
		c.engine.failOpen(event.OpenStore, c.request, c.thread.Conversation, fmt.Errorf("the call is lost: %w", bad))
	}
}

// reply returns the model's reply as far as it came. messages are those that belong to
// the history: none if the reply was cut off.
func (c *Call) reply() (*wire.Reply, []chat.Message) {
	reply := &wire.Reply{Format: c.body.Format}
	if c.answer == nil {
		return reply, nil
	}
	reply = c.answer.reply()
	if u := reply.Usage; u.HasUsage && c.tokens.Local > 0 && c.status == http.StatusOK && reply.Complete && !c.held() {
		c.calibrate(u.TotalInput())
	}
	c.learn(reply)
	if !reply.Complete || reply.Error != nil { // a client may leave when it has all
		return reply, nil
	}
	messages, bad := c.answer.messages(reply)
	if bad != nil {
		c.engine.report(event.OpenReply, c.request, c.thread.Conversation,
			errors.New(c.clean("read the reply: "+bad.Error(), clip.Text)))
		return reply, nil
	}
	return reply, messages
}

// calibrate learns from the provider's count of the prompt. What changes counts by a percent
// or more is kept before the call ends, the rest later. Where several processes serve calls,
// it counts only then, for all of them: see token.Learnt.Hold.
func (c *Call) calibrate(reported int) {
	key, local, learnt := token.LearntKey(c.request.Tenant, c.body.Model), c.tokens.Local, c.engine.o.Calibration
	was := learnt.Scale(key)
	before := was.Apply(local)
	if !learnt.Observe(key, local, reported) {
		return
	}
	c.engine.keepSoon()
	next := learnt.Next(key)
	if after := next.Apply(local); !was.Calibrated() || 100*max(after-before, before-after) >= before {
		c.taught.Store(true)
	}
}

// held reports whether the provider stores a part of the prompt that is not in the
// request.
func (c *Call) held() bool {
	return c.body.Rules().Held ||
		slices.ContainsFunc(c.body.Members(), func(m wire.Member) bool { return m.Name == "prompt" })
}

// partial returns the received part of a reply that is not in the history.
func (c *Call) partial(reply []chat.Message) []byte {
	if c.answer == nil || reply != nil {
		return nil
	}
	r := c.answer.reply()
	if len(r.Items) > 0 {
		return append(append([]byte("["), bytes.Join(r.Items, []byte(","))...), ']')
	}
	return r.Message
}
