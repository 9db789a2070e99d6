package call

import (
	"context"
	"fmt"

	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/token"
)

// countAtOnce is the size in bytes up to which a body is counted before it is sent, if the
// tables of its encoding are loaded: it is known in part, and counting the rest takes little
// more than handing it to a goroutine.
const countAtOnce = 16 << 10

// canCount reports whether a prompt for the same encoding was counted before.
func (c *Call) canCount() bool {
	_, ok := c.engine.encodings.Load(c.model.Encoding)
	return ok
}

// countBeside counts the prompt while the provider works.
func (c *Call) countBeside() {
	ReserveStack()
	defer close(c.counted)
	defer func() {
		if p := recover(); p != nil {
			c.engine.report(event.OpenCount, c.request, "", fmt.Errorf("a panic while counting: %v", p))
		}
	}()
	c.count()
}

// count counts the prompt as it came.
func (c *Call) count() {
	c.tokens = token.NewCounter(c.model, token.Options{Cache: c.engine.cache,
		Scale: c.engine.o.Calibration.Scale(token.LearntKey(c.request.Tenant, c.body.Model))}).Request(&c.body.Request)
	if !c.canCount() {
		c.engine.encodings.Store(c.model.Encoding, struct{}{})
	}
}

// find finds the conversation of a call.
func (c *Call) find(ctx context.Context, request *thread.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	th, err := c.engine.index.Find(ctx, request)
	if err == nil {
		c.thread = th
	}
	return err
}

// findLate finds the conversation of a call in progress. If the store does not answer in
// time, it uses what is in memory.
func (c *Call) findLate(request *thread.Request) {
	defer close(c.found)
	ctx, cancel := context.WithTimeout(context.Background(), c.engine.o.Waits.Late)
	defer cancel()
	if c.find(ctx, request) == nil {
		return
	}
	request.Offline = true
	if err := c.find(context.Background(), request); err != nil { // it waits for nothing
		c.engine.failOpen(event.OpenFind, c.request, "", err)
	}
}

// known reports whether the conversation is known by now.
func (c *Call) known() bool {
	if c.found != nil {
		select {
		case <-c.found:
		default:
			return false
		}
	}
	return c.thread != nil
}
