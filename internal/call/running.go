package call

import (
	"slices"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
)

// Running is a call that has begun and not ended.
type Running struct {
	ID string
	// Conversation is empty while it is not found.
	Conversation string
	Model        string
	Began        time.Time
	// TokensBefore and TokensAfter are the sizes of the request and of what is sent of it;
	// 0 if they were not counted before it was sent.
	TokensBefore, TokensAfter int
}

// Running returns the calls of a tenant that have begun in this process and not ended,
// newest first.
func (r *Engine) Running(tenant string) []Running { return r.running.of(tenant) }

// runningCalls are the calls that have begun and not ended.
type runningCalls struct {
	mu  sync.Mutex // protects all
	all map[*Call]Running
}

// begin adds a call that is about to be sent.
func (r *runningCalls) begin(c *Call) {
	now := Running{ID: c.request.ID, Model: clip.To(c.body.Model, clip.Name), Began: c.began}
	if s := c.shown; s != nil {
		now.TokensBefore, now.TokensAfter = s.Before, s.After
	} else {
		select {
		case <-c.counted:
			now.TokensBefore, now.TokensAfter = c.tokens.Total, c.tokens.Total
		default:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*Call]Running{}
	}
	r.all[c] = now
}

func (r *runningCalls) end(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, c)
}

func (r *runningCalls) of(tenant string) (out []Running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, now := range r.all {
		if c.request.Tenant != tenant {
			continue
		}
		if c.known() { // it may have been found while the provider is at work
			now.Conversation = c.thread.Conversation
		}
		out = append(out, now)
	}
	slices.SortFunc(out, func(a, b Running) int { return b.Began.Compare(a.Began) })
	return out
}
