package call

import (
	"net/http"
	"sync"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
)

// Repeats is how much of a prompt the call before it in the conversation began with, too, in
// tokens as Oriel counts them: as the clients sent both, and as they were sent on. It is the
// most that the provider can have in its cache.
type Repeats struct {
	Came int `json:"came"`
	Sent int `json:"sent"`
}

// lastLines are the prompts of the last calls of conversations, for Repeats.
type lastLines struct {
	mu    sync.Mutex // protects what follows
	known map[[3]string]*linePair
	size  int
}

type linePair struct{ came, sent view.Line }

func (p *linePair) len() int { return p.came.Len() + p.sent.Len() }

// maxLines is how many parts of prompts lastLines remember, of 24 bytes each. Beyond it they
// forget all.
const maxLines = 200_000

// repeats compares the prompt of a call with that of the last one of the conversation for the
// model, and remembers it. It returns nil if that one is not known: another process had it.
func (l *lastLines) repeats(c *Call, reported bool) *Repeats {
	if c.fellBack || c.status != http.StatusOK || c.thread.Kind == thread.Side {
		return nil
	}
	s := c.shown
	if s == nil && reported {
		return nil // no view is made of it: nothing is estimated
	} else if s == nil {
		var err error
		if s, err = c.tuning.view.Apply(c.input(c.thread)); err != nil {
			return nil
		}
	}
	at := [3]string{c.request.Tenant, c.thread.Conversation, c.body.Model}
	l.mu.Lock()
	before := l.known[at]
	l.mu.Unlock()
	known := before != nil || c.thread.Kind == thread.New
	if before == nil {
		before = new(linePair)
	}
	now := new(linePair)
	now.came, now.sent = s.Lines(&before.came, &before.sent)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size += now.len()
	if was := l.known[at]; was != nil { // perhaps that of a parallel call
		l.size -= was.len()
	}
	if l.size > maxLines || l.known == nil {
		l.known, l.size = map[[3]string]*linePair{}, now.len()
	}
	l.known[at] = now
	if !known {
		return nil
	}
	return &Repeats{now.came.Repeats(&before.came, s.Before), now.sent.Repeats(&before.sent, s.After)}
}
