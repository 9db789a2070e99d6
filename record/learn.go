package record

import (
	"context"
	"fmt"

	"github.com/oriel-context/oriel/wire"
)

// Again: what is too large can be made smaller.
func (c *recording) Again() bool { return c.shown != nil }

// unbind sends a refused request without the thinking that no longer has its place.
func (c *recording) unbind() []byte {
	c.r.o.Limits.LearnBinding(c.body.Model)
	c.keepLearnt()
	ctx, cancel := context.WithTimeout(context.Background(), refusedWait)
	defer cancel()
	had := c.shown.Cut
	if err := c.guardedShow(ctx); err != nil || c.shown.Cut == had {
		return nil
	}
	return c.shown.Body
}

// overran is the stop reason of a reply that ran into the end of the window.
const overran = "model_context_window_exceeded"

// learn learns what a model takes from a reply: one that ran into the end of the window,
// or a stream that ended with the refusal. The client has it by then, so it is not tried
// again.
func (c *recording) learn(reply *wire.Reply) {
	limit := 0
	switch u := reply.Usage; {
	case reply.Stop == overran && u.HasUsage:
		window := u.TotalInput() + u.Output
		limit = window*9/10 - min(max(c.body.MaxOutput, u.Output), window/4)
	case reply.Error != nil && c.tokens.Total > 0 && wire.IsOverflow(0, []byte(reply.Error.Error())):
		limit = c.tokens.Total * 9 / 10
	}
	if limit <= 0 || c.shown == nil {
		return
	}
	c.r.o.Limits.Learn(c.body.Model, limit)
	c.keepLearnt()
	c.r.event(Event{Kind: EventOverflow, Call: c.call.ID, Conversation: c.thread.Conversation, Model: c.body.Model, Tokens: c.tokens.Total, Error: fmt.Sprintf("the reply ran into the end of the window; at most %d tokens are sent from now on", limit)})
}
