package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/view"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Options are those of New.
type Options struct {
	// Store keeps the history.
	Store timeline.Store
	// Models is the table in which models are looked up. Default: the built-in one.
	Models *token.Models
	// Calibration learns from the usage that providers report. Default: a new one.
	Calibration *token.Calibration
	// Backlog is how many bytes of calls may wait to be written. Default 256 MB.
	Backlog int64
	// Timeout is how long one call may take to be written. Default 30 s.
	Timeout time.Duration
	// Events, where it is set, is told of everything that happens. It must be quick.
	Events func(Event)
	// Log is told of what went wrong. Default: nobody.
	Log *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Profile is that of calls which name none: see window.Profiles. Default "off":
	// calls are recorded, and sent as they came.
	Profile string
	// Recall finds what views no longer show; nil: nothing is brought back.
	Recall *recall.Library
	// Limits are what providers were found to take. Default: none is known.
	Limits *view.Limits
	// Suffix is that of thread.Options.
	Suffix func() string
}

// Event is something that happened to a call.
type Event struct {
	Time         time.Time `json:"time"`
	Kind         string    `json:"kind"`
	Call         string    `json:"call"`
	Conversation string    `json:"conversation,omitempty"`
	// Thread tells how the call stands to the conversation: see thread.Kind.
	Thread string `json:"thread,omitempty"`
	Model  string `json:"model,omitempty"`
	// Before and Tokens are those of the request and of what was sent of it, as
	// counted here; Reported is what the provider counted.
	Before   int `json:"tokens_before,omitempty"`
	Tokens   int `json:"tokens,omitempty"`
	Reported int `json:"reported,omitempty"`
	Output   int `json:"output,omitempty"`
	// Plan is the id of the plan by which something was left out.
	Plan string `json:"plan,omitempty"`
	// Error says what went wrong, where something did.
	Error string `json:"error,omitempty"`
}

// Kinds of events.
const (
	// EventCall: a call has ended and is written.
	EventCall = "call"
	// EventOpen: something of Oriel's own failed, and the call went on without it.
	EventOpen = "fail-open"
	// EventCut: a view was made smaller; EventRecall: something was brought back;
	// EventOverflow: a provider refused a request as too large.
	EventCut      = "truncation"
	EventRecall   = "recall"
	EventOverflow = "overflow"
	// EventUnknown: a body that could not be read was passed on as it came.
	EventUnknown = "unknown-body"
)

// Recorder records calls. It is safe for concurrent use.
type Recorder struct {
	o     Options
	log   *timeline.Log
	book  *thread.Book
	queue *queue
	cache *token.Cache // of counts
	view  *view.Viewer
	lanes lanes

	counters Counters
}

var _ proxy.Recorder = (*Recorder)(nil)

// Counters count what a recorder did.
type Counters struct {
	Calls atomic.Int64
	// Unknown were bodies that could not be read, Refused calls whose key the
	// provider did not take, which are not kept, Failed those that could not be
	// kept.
	Unknown, Refused, Failed, Written atomic.Int64
}

// workers is how many conversations are written at the same time: the store groups
// their changes.
const workers = 8

// New makes a recorder. Close it to wait for what it has not yet written.
func New(o Options) *Recorder {
	if o.Models == nil {
		o.Models = token.Builtin()
	}
	if o.Calibration == nil {
		o.Calibration = new(token.Calibration)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Limits == nil {
		o.Limits = new(view.Limits)
	}
	o.Profile = cmp.Or(o.Profile, "off")
	o.Backlog, o.Timeout = cmp.Or(o.Backlog, 256<<20), cmp.Or(o.Timeout, 30*time.Second)
	r := &Recorder{o: o, log: timeline.NewLog(o.Store, timeline.LogOptions{Messages: 1 << 19}), book: thread.NewBook(o.Store, thread.Options{Suffix: o.Suffix, Marks: view.Marks}), cache: token.NewCache(0)}
	r.view = view.New(view.Options{Book: r.book, Models: o.Models, Calibration: o.Calibration, Cache: r.cache, Recall: o.Recall, Limits: o.Limits})
	r.queue = newQueue(workers, o.Backlog, func(p any) {
		r.failOpen("", "", fmt.Errorf("a panic while writing: %v", p))
	})
	return r
}

// Counters tells what was done so far.
func (r *Recorder) Counters() *Counters { return &r.counters }

// Close takes no more calls and waits until all that there were are written.
func (r *Recorder) Close(ctx context.Context) error {
	if err := r.queue.close(ctx); err != nil {
		return fmt.Errorf("write the last calls: %w", err)
	}
	return nil
}

// Begin finds the conversation of a call, and what is to be sent of it.
func (r *Recorder) Begin(ctx context.Context, c *proxy.Call) proxy.Recording {
	r.counters.Calls.Add(1)
	body, err := wire.Read(c.Body, c.Format, wire.Limits{})
	if err != nil {
		r.counters.Unknown.Add(1)
		r.event(Event{Kind: EventUnknown, Call: c.ID, Error: err.Error()})
		r.o.Log.Warn("a request that could not be read went on as it came", "call", c.ID, "error", err)
		return &failed{}
	}
	rec, err := r.guarded(ctx, c, body)
	if err == nil {
		return rec
	}
	conversation := ""
	if rec != nil {
		conversation = rec.thread.Conversation
	}
	r.failOpen(c.ID, conversation, err)
	return &failed{body: r.stateless(ctx, c, body)}
}

// guarded is begin, whose panics are errors.
func (r *Recorder) guarded(ctx context.Context, c *proxy.Call, body *wire.Body) (rec *recording, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	return r.begin(ctx, c, body)
}

// stateless is what is sent of a request when its conversation cannot be told: a view
// that knows nothing of earlier ones, where the request is too large; else nil.
func (r *Recorder) stateless(ctx context.Context, c *proxy.Call, body *wire.Body) (out []byte) {
	defer func() {
		if p := recover(); p != nil {
			out = nil
		}
	}()
	profile := r.profile(c)
	if profile == "off" || body.Managed != "" && c.Profile == "" {
		return nil
	}
	o := window.Options{Profile: profile, Budget: budgetOf(c.Header), Models: r.o.Models, Cache: r.cache, Scale: r.o.Calibration.Scale(body.Model), Now: c.Began}
	fitted, plan, err := window.FitBody(ctx, body, o)
	if err != nil || plan.Action == "none" {
		return nil
	}
	return fitted
}

// profile is that of a call.
func (r *Recorder) profile(c *proxy.Call) string { return cmp.Or(c.Profile, r.o.Profile) }

// budgetOf is what a client asks for by a header; 0 for nothing.
func budgetOf(h http.Header) int {
	n, err := strconv.Atoi(h.Get("X-Oriel-Budget"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (r *Recorder) begin(ctx context.Context, c *proxy.Call, body *wire.Body) (*recording, error) {
	system, chain := thread.Chain(body.Messages)
	rec := &recording{r: r, call: c, body: body, system: system, chain: chain, began: r.o.Now()}
	if len(chain) == 0 {
		return nil, errors.New("the request has no messages: what its provider holds of it is not seen here")
	}
	var err error
	rec.hints = thread.HintsOf(c.Header, body.Hints)
	find, cancel := context.WithTimeout(ctx, findWait)
	defer cancel()
	rec.thread, err = r.book.Find(find, &thread.Request{
		Tenant: c.Tenant, Hints: rec.hints, Previous: body.Hints.Previous, Lane: r.lanes.of(thread.Prompt(&body.Request)),
		Retry: retries(c.Header), Messages: chain, Now: rec.began,
	})
	if err != nil {
		return nil, err
	}
	rec.counted = make(chan struct{})
	if r.profile(c) == "off" {
		go rec.count()
		return rec, nil
	}
	defer close(rec.counted)
	if err := rec.show(ctx); err != nil {
		r.book.Done(rec.thread, nil, "")
		return rec, err
	}
	return rec, nil
}

// findWait is how long a call waits for the store, which is asked only for a history
// that is not in memory.
const findWait = 100 * time.Millisecond

// retries reports whether a vendor's SDK says that it sends a request again.
func retries(h http.Header) bool {
	n := h.Get("X-Stainless-Retry-Count")
	return n != "" && n != "0"
}

// failOpen tells of a failure of our own.
func (r *Recorder) failOpen(call, conversation string, err error) {
	r.counters.Failed.Add(1)
	r.event(Event{Kind: EventOpen, Call: call, Conversation: conversation, Error: err.Error()})
	r.o.Log.Error("a call went on without being recorded", "call", call, "conversation", conversation, "error", err)
}

func (r *Recorder) event(e Event) {
	if r.o.Events != nil {
		e.Time = r.o.Now()
		r.o.Events(e)
	}
}

// lanes remembers the sketches of system prompts.
type lanes struct {
	mu    sync.Mutex
	known map[timeline.Hash]thread.Lane
}

// maxLanes is how many of them.
const maxLanes = 256

func (l *lanes) of(system []chat.Part) thread.Lane {
	h := timeline.Hash{}
	for i := range system {
		p := timeline.HashOf(system[i].Text)
		for j := range h {
			h[j] = h[j]*31 ^ p[j]
		}
	}
	l.mu.Lock()
	lane, ok := l.known[h]
	l.mu.Unlock()
	if ok {
		return lane
	}
	lane = thread.LaneOf(system)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxLanes {
		l.known = make(map[timeline.Hash]thread.Lane, maxLanes)
	}
	l.known[h] = lane
	return lane
}

// failed is the recording of a call that is not recorded.
type failed struct{ body []byte }

func (*failed) Response(int, http.Header)  {}
func (*failed) Header(h http.Header)       { h.Set("X-Oriel-Action", "error") }
func (*failed) Write([]byte)               {}
func (*failed) End(error)                  {}
func (f *failed) Send() []byte             { return f.body }
func (*failed) Refused(int, []byte) []byte { return nil }
