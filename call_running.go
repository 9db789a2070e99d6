package oriel

import (
	"slices"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
)

// RunningCall is a call that has begun and not ended.
type RunningCall struct {
	ID string
	// Conversation is empty while it is not found.
	Conversation string
	Model        string
	Began        time.Time
	// TokensBefore and TokensAfter are the sizes of the request and of what is sent of it;
	// 0 if they were not counted before it was sent.
	TokensBefore, TokensAfter int
}

// RunningCalls returns the calls of a tenant that have begun in this process and not ended,
// newest first.
func (e *Engine) RunningCalls(tenant string) []RunningCall { return e.calls.running.of(tenant) }

// runningCalls are the calls that have begun and not ended.
type runningCalls struct {
	mu  sync.Mutex // protects all
	all map[*Call]RunningCall
}

// begin adds a call that is about to be sent.
func (r *runningCalls) begin(c *Call) {
	now := RunningCall{ID: c.request.ID, Model: clip.To(c.body.Model, clip.Name), Began: c.began}
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
		r.all = map[*Call]RunningCall{}
	}
	r.all[c] = now
}

func (r *runningCalls) end(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, c)
}

func (r *runningCalls) of(tenant string) (out []RunningCall) {
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
	slices.SortFunc(out, func(a, b RunningCall) int { return b.Began.Compare(a.Began) })
	return out
}
