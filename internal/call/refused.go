package call

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/wire"
)

// Refused returns another body for one that the provider refused with this status and
// answer, or nil. It learns from the refusal what the model accepts.
func (c *Call) Refused(status int, body []byte) []byte {
	if c.unrecorded {
		return nil
	}
	began := c.engine.stageBegins()
	defer c.engine.stageEnds(c.request.ID, StageAgain, began)
	if c.shown != nil && wire.IsUnbound(status, body) {
		if c.found != nil {
			return nil // without its conversation it has no plan that moved anything
		}
		return c.unbind()
	}
	if c.Beta() != "" && wire.RefusesDrop(status, body) && !c.namesBinding() {
		return c.withoutDrop()
	}
	o, ok := wire.ReadOverflow(status, body)
	if c.shown == nil || !ok {
		return nil
	}
	sent := c.shown.After
	limit := sent
	agrees := o.Agrees(sent, c.body.MaxOutput)
	n, told := o.Limit, o.Limit > 0 && agrees
	if told && o.Prompt {
		limit = int(float64(sent) * float64(n) / float64(o.Size)) // the prompt alone, as they count
	} else if told && n >= sent && n-c.body.MaxOutput < min(sent, leastLimit) {
		return nil // the reply that is asked for leaves no room, whatever is left out
	} else if told {
		for _, m := range []int{n, n - c.body.MaxOutput} { // some mean the reply, too
			if m > 0 {
				limit = min(limit, m)
			}
		}
	}
	if c.most == 0 {
		c.firm = len(c.fresh)
	}
	c.most, c.named, c.teaches = limit*9/10, told, 0
	c.replied = told && !o.Prompt && n >= sent && c.body.MaxOutput > 0
	switch {
	case !o.Known || !agrees: // it may quote what somebody said
	case told:
		c.teaches = n * 9 / 10 // with less room for a reply, another call may send as much
	case status != http.StatusRequestEntityTooLarge: // which is about bytes
		c.teaches = c.most
	}
	conversation := ""
	if c.known() {
		conversation = c.thread.Conversation
	}
	c.event(event.Event{Kind: event.Overflow, Call: c.request.ID, Conversation: conversation, Model: c.body.Model,
		TokensBefore: c.whole(sent), TokensAfter: sent,
		Error: fmt.Sprintf("the provider refused %d tokens; at most %d are sent now", sent, c.most)})
	if err := c.showAgain(); err != nil || c.shown.After >= sent {
		return nil
	}
	return c.shown.Body
}

// namesBinding reports whether the client names a beta feature of its own for the thinking that a
// model binds, which may be what a provider refuses.
func (c *Call) namesBinding() bool {
	return slices.ContainsFunc(betas(c.request.Header, c.body), func(beta string) bool {
		return strings.Contains(beta, "thinking-binding-controls") && beta != c.Beta()
	})
}

// whole returns the size of the request of which so many tokens were sent.
func (c *Call) whole(sent int) int {
	if c.shown == nil {
		return sent
	}
	return max(sent, c.shown.Before)
}

// showAgain makes another view after a refusal: without the history if the conversation was
// not found before the call was sent.
func (c *Call) showAgain() error {
	ctx := context.Background()
	if c.found != nil {
		c.fallbackUnknown(ctx)
		return nil
	}
	reads, cancel := context.WithTimeout(ctx, c.engine.storeWait())
	defer cancel()
	return c.guardedShow(ctx, reads)
}
