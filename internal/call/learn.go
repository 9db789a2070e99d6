package call

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Model returns the model that the request names, or "" if it could not be read.
func (c *Call) Model() string {
	if c.body == nil {
		return ""
	}
	return c.body.Model
}

// Again reports whether Refused may return another body.
func (c *Call) Again() bool { return !c.unrecorded && c.shown != nil }

// unbind returns a refused request without the thinking that has lost its place.
func (c *Call) unbind() []byte {
	c.engine.o.Limits.LearnBinding(c.asked())
	c.keepLearnt()
	had := c.shown.Cut
	c.unbound = true
	if err := c.showAgain(); err != nil || c.shown.Cut == had {
		return nil
	}
	return c.shown.Body
}

// withoutDrop returns the request without the field that its provider does not know. Later calls
// do not ask for it.
func (c *Call) withoutDrop() []byte {
	c.engine.keepsBinding.Store(true)
	if err := c.showAgain(); err != nil || c.Beta() != "" {
		return nil
	}
	return c.shown.Body
}

// giveUp forgets the cuts that were made for a provider that refused them, too: they are
// smaller than the next call needs.
func (c *Call) giveUp() {
	for _, cut := range c.fresh[c.firm:] {
		c.engine.index.RemovePlan(c.thread, cut.ID)
		c.engine.lastUsed.forget(cut)
	}
	c.fresh, c.gaveUp = c.fresh[:c.firm], true
}

// overran is the stop reason of a reply that reached the end of the window.
const overran = "model_context_window_exceeded"

// learn updates what is known of a model's limit: by the reply to a request that was made
// smaller after a refusal or was larger than the limit, by a reply that reached the end
// of the window, and by a stream that ended with a refusal. The client has that answer
// already, so the call is not sent again.
func (c *Call) learn(reply *wire.Reply) {
	if c.status != http.StatusOK || c.tokens.Total == 0 {
		return
	}
	fine := reply.Complete && reply.Error == nil
	if fine && c.engine.o.Limits.Took(c.asked(), c.tokens.Total) {
		c.engine.keepSoon()
		c.taught.Store(true)
	}
	limit, named := 0, false
	switch u := reply.Usage; {
	case reply.Stop == overran && u.HasUsage && wire.Overflow{Limit: 1, Size: u.TotalInput()}.Agrees(c.tokens.Total, 0):
		window := u.TotalInput() + u.Output
		limit, named = window*9/10-min(max(c.body.MaxOutput, u.Output), window/4), true
	case fine && c.teaches > 0:
		c.learnLimit(max(c.teaches, c.tokens.Total), c.named) // it has just taken that
		return
	case reply.Error != nil:
		if o, ok := wire.ReadOverflow(0, reply.Error.Raw); ok && o.Known && o.Agrees(c.tokens.Total, c.body.MaxOutput) {
			limit = c.tokens.Total * 9 / 10
		}
	}
	if limit <= 0 || c.shown == nil {
		return
	}
	limit = c.learnLimit(limit, named)
	c.event(event.Event{Kind: event.Overflow, Call: c.request.ID, Conversation: c.thread.Conversation,
		Model: c.body.Model, TokensBefore: c.whole(c.tokens.Total), TokensAfter: c.tokens.Total,
		Error: fmt.Sprintf("the reply ran into the end of the window; at most %d tokens are sent from now on", limit)})
}

// window returns the model's window for this call.
func (c *Call) window() int {
	return c.model.WindowFor(betas(c.request.Header, c.body)...)
}

// asked returns the name under which limits of this call's model are learnt.
func (c *Call) asked() token.Asked {
	return token.Asked{Tenant: c.request.Tenant, Conversation: c.thread.Conversation, Model: c.body.Model,
		Window: c.window()}
}

// leastLimit is the least limit that is learnt without a figure from the provider for a
// model that is not in the table, leastKnown that for a model in it. Providers also
// refuse for other reasons, but the table is not right for every provider.
const (
	leastLimit = 1000
	leastKnown = 8000
)

// learnLimit remembers and stores what the model accepts.
func (c *Call) learnLimit(tokens int, named bool) int {
	if !named {
		tokens = max(tokens, leastLimit)
		if c.model.Known {
			tokens = max(tokens, min(c.window()/4, leastKnown))
		}
	}
	c.engine.o.Limits.Learn(c.asked(), tokens, c.replied, c.engine.o.Now())
	c.keepLearnt()
	return tokens
}

// keepLearnt stores what this call taught, in the background.
func (c *Call) keepLearnt() {
	if c.engine.o.Learnt == nil {
		return
	}
	if c.engine.o.Shared {
		c.taught.Store(true) // and it is stored before the call ends
		return
	}
	c.engine.queue.goBeside(func() {
		if err := c.engine.o.Learnt(); err != nil {
			c.engine.report(event.OpenLearnt, c.request, c.thread.Conversation, err)
		}
	})
}

// keepShared stores what this call taught, for the process that has the next one.
func (c *Call) keepShared() {
	if !c.engine.o.Shared || c.engine.o.Learnt == nil || !c.taught.Load() {
		return
	}
	if s := c.engine.Spool(); s.Calls > s.Newer {
		c.engine.keepSoon() // a store that accepts no calls would hold up those behind this one
		return
	}
	if err := c.engine.o.Learnt(); err != nil {
		c.engine.report(event.OpenLearnt, c.request, c.thread.Conversation, err)
	}
}

// keepDelay is how long something learnt may stay in memory only.
const keepDelay = time.Minute

// keepSoon stores what was learnt after keepDelay, together with what is learnt until
// then.
func (r *Engine) keepSoon() {
	if r.o.Learnt == nil {
		return
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.keeping == nil && !r.closed {
		r.keeping = time.AfterFunc(keepDelay, r.keep)
	}
}

func (r *Engine) keep() {
	r.changing.Lock()
	r.keeping = nil
	r.changing.Unlock()
	if err := r.o.Learnt(); err != nil {
		r.report(event.OpenLearnt, nil, "", err)
	}
}

// refresh reads what other processes have learnt or forgotten, at most once a second unless
// Config.Shared is set.
func (r *Engine) refresh() {
	if r.o.Refresh == nil {
		return
	}
	now, last := r.o.Now().Unix(), r.refreshed.Load()
	if !r.o.Shared && now == last || now != last && !r.refreshed.CompareAndSwap(last, now) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.o.Waits.Brief)
	defer cancel()
	r.readLearnt(ctx, r.o.Refresh)
}

// reread reads what other processes have learnt by the calls that a request continues from.
// The notification of it may come later than the request.
func (r *Engine) reread(ctx context.Context) {
	if r.o.Reread == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.storeWait())
	defer cancel()
	r.readLearnt(ctx, r.o.Reread)
}

func (r *Engine) readLearnt(ctx context.Context, read func() error) {
	_, err := limit.Do(ctx, &r.reads, func(context.Context) (struct{}, error) { return struct{}{}, read() })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) { // what takes longer is there for a later call
		r.report(event.OpenLearnt, nil, "", err)
	}
}
