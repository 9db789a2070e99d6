package call

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline/memory"
)

// Observe is the profile that sends everything as it came and records what the profiles of
// Observed would have sent.
const Observe = "observe"

// Observed lists the profiles that Observe records, from the one that sends most.
var Observed = []string{"full", "balanced", "thrifty"}

// Would is what a profile would have sent of a call, without what recall would have added, in
// tokens as Oriel counts them.
type Would struct {
	// Sent is the size of the prompt.
	Sent int `json:"sent"`
	// Repeats is how much of it the call before would have begun with, too; -1 if that call is not
	// known.
	Repeats int `json:"repeats"`
	// Cut reports that the call would have been cut anew.
	Cut bool `json:"cut,omitempty"`
}

// observer makes the views that other profiles would have made, with the code that makes those
// that are sent. It has an index of its own, so that its plans are nobody else's. They are not
// stored: after a restart a long conversation is cut once more.
type observer struct {
	index *thread.Index

	mu    sync.Mutex // protects what follows
	known map[[2]string]map[string]*observed
	size  int
}

// observed is the last prompt of a conversation for a model, by profile; "" is as it came.
type observed struct {
	at    time.Time
	lines map[string]view.Line
}

func (o *observed) len() (n int) {
	for _, l := range o.lines {
		n += l.Len()
	}
	return n
}

func newObserver() *observer {
	return &observer{index: thread.NewIndex(memory.New(), thread.Options{}),
		known: map[[2]string]map[string]*observed{}}
}

// before returns the last prompt of the conversation of a call, and whether its provider has
// dropped it from its cache. fresh reports that there can be none.
func (o *observer) before(c *Call) (last *observed, cold, fresh bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	models := o.known[[2]string{c.request.Tenant, c.thread.Conversation}]
	last = models[c.body.Model]
	lifetime := view.Lifetime(c.model, c.body)
	if last == nil {
		return &observed{}, len(models) > 0 && lifetime > 0, c.thread.Kind == thread.New
	}
	return last, lifetime > 0 && c.began.Sub(last.at) >= lifetime, false
}

// keep remembers the prompt of a call.
func (o *observer) keep(c *Call, now *observed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := [2]string{c.request.Tenant, c.thread.Conversation}
	if o.size += now.len(); o.size > maxLines {
		clear(o.known)
		o.size = now.len()
	}
	if o.known[at] == nil {
		o.known[at] = map[string]*observed{}
	}
	if was := o.known[at][c.body.Model]; was != nil {
		o.size -= was.len()
	}
	o.known[at][c.body.Model] = now
}

// observe records, if the profile of the call asks for it, what other profiles would have sent.
// It runs when the client has its answer. What fails is reported and leaves the record without it.
func (c *Call) observe(e *entry, reply []chat.Message) {
	if c.tuning.profile(c.request) != Observe || c.status != http.StatusOK || c.thread.Kind == thread.Side {
		return
	}
	e.Profile = Observe
	defer func() {
		if p := recover(); p != nil {
			c.engine.report(event.OpenPlan, c.request, c.thread.Conversation, fmt.Errorf("observe: a panic: %v", p))
		}
	}()
	ctx, cancel := context.WithTimeout(c.engine.working, c.engine.o.Waits.Write)
	defer cancel()
	if err := c.engine.observer.observe(ctx, c, e, reply); err != nil {
		c.engine.report(event.OpenPlan, c.request, c.thread.Conversation, fmt.Errorf("observe: %w", err))
	}
}

func (o *observer) observe(ctx context.Context, c *Call, e *entry, reply []chat.Message) error {
	th, err := o.index.Find(ctx, &thread.Request{Tenant: c.request.Tenant,
		Hints: thread.Hints{Session: c.thread.Conversation}, Sketch: thread.SketchOf(thread.Prompt(&c.body.Request)),
		Messages: c.chain, Compacts: c.body.Compacts, Now: c.began})
	if err != nil {
		return err
	}
	defer func() {
		o.index.Done(th, reply, "")
		o.index.Stored(th, true)
	}()
	last, cold, fresh := o.before(c)
	known := fresh || last.lines != nil
	now := &observed{at: c.began, lines: map[string]view.Line{}}
	would := map[string]Would{}
	for _, profile := range Observed {
		in := c.input(th)
		in.ID, in.Profile, in.Asked, in.MarkCache, in.Cold = c.request.ID+"-"+profile, profile, false, false, cold
		in.Apart = profile
		r, err := c.tuning.observed.Show(ctx, in)
		if err != nil {
			return fmt.Errorf("profile %s: %w", profile, err)
		}
		cameBefore, sentBefore := last.lines[""], last.lines[profile]
		came, sent := r.Lines(&cameBefore, &sentBefore)
		now.lines[""], now.lines[profile] = came, sent
		// The reply may have taught how the provider counts since the prompt was counted.
		scaled := func(n int) int { return int(int64(n) * int64(e.Tokens) / int64(max(1, r.Before))) }
		w := Would{Sent: scaled(r.After), Repeats: -1, Cut: r.Folded}
		if known {
			w.Repeats = scaled(sent.Repeats(&sentBefore, r.After))
			n := scaled(came.Repeats(&cameBefore, r.Before))
			e.Repeats = &Repeats{n, n}
		}
		would[profile] = w
	}
	o.keep(c, now)
	e.Would = would
	return nil
}
