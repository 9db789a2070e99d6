package limit

import (
	"context"
	"sync"
)

// Crew runs the pieces of work of one call in few goroutines: one that has ended a piece takes
// the next one. A nil *Crew starts a goroutine for each. It is safe for concurrent use.
type Crew struct {
	mu    sync.Mutex // protects what follows
	idle  []chan func() func()
	over  bool // no goroutine waits for another piece
	keeps bool // pieces are kept for Run
	kept  []func() func()
}

type crewKey struct{}

// With returns a context in which Do and Spend run their work by a crew.
func With(ctx context.Context, c *Crew) context.Context { return context.WithValue(ctx, crewKey{}, c) }

// CrewOf returns the crew of a context, or nil.
func CrewOf(ctx context.Context) *Crew {
	c, _ := ctx.Value(crewKey{}).(*Crew)
	return c
}

// Go runs work in a goroutine. What work returns, if anything, is called when the goroutine is
// free for the next piece: it hands over a result and must not wait.
func (c *Crew) Go(work func() (then func())) {
	if c == nil {
		go run(work)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keeps {
		c.kept = append(c.kept, work)
		return
	}
	if n := len(c.idle); n > 0 {
		c.idle[n-1] <- work // it has room for one
		c.idle = c.idle[:n-1]
		return
	}
	go c.work(work)
}

func run(work func() func()) {
	if then := work(); then != nil {
		then()
	}
}

// work is a goroutine of the crew.
func (c *Crew) work(work func() func()) {
	next := make(chan func() func(), 1)
	for work != nil {
		then := work()
		c.mu.Lock()
		over := c.over
		if !over {
			c.idle = append(c.idle, next)
		}
		c.mu.Unlock()
		if then != nil {
			then()
		}
		if over {
			return
		}
		work = <-next
	}
}

// Rest ends the goroutines that wait for work, and those that work when they are done.
func (c *Crew) Rest() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, next := range c.idle {
		close(next)
	}
	c.idle = nil
}

// Keep has pieces wait for Run.
func (c *Crew) Keep() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keeps = true
}

// Run runs the pieces that were kept, the first in the goroutine of its caller, which has
// nothing else to do.
func (c *Crew) Run() {
	if c == nil {
		return
	}
	c.Rest()
	c.mu.Lock()
	kept := c.kept
	c.kept, c.keeps = nil, false
	c.mu.Unlock()
	for i := 1; i < len(kept); i++ {
		go run(kept[i])
	}
	if len(kept) > 0 {
		run(kept[0])
	}
}
