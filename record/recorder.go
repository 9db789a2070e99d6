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

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/secret"
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
	// StoreWait is how long a call waits for what the store knows of its conversation
	// and of its plans: 10 s. It is the wait of a store that is slow; after it the
	// call goes on with what is in memory, and later calls wait a moment only, until
	// the store answers again. LateWait is how long the conversation of such a call is
	// looked for, so that it is recorded: 1 min.
	StoreWait, LateWait time.Duration
	// BriefWait is how long a call waits for what it can do without: a store that did
	// not answer the last time, its conversation where everything is sent anyway, its
	// tokens for the answer's header. Default 50 ms.
	BriefWait time.Duration
	// Events, where it is set, is told of everything that happens. It must be quick.
	Events func(Event)
	// Log is told of what went wrong. Default: nobody.
	Log *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Profile is that of calls which name none: one of Profiles or a built-in one. Default "off":
	// calls are recorded, and sent as they came.
	Profile string
	// Recall finds what views no longer show; nil: nothing is brought back.
	Recall *recall.Library
	// Limits are what providers were found to take. Default: none is known.
	Limits *token.Limits
	// Learnt, where it is set, is called when a limit was learnt, and within a minute of
	// anything else: see Learnt.Save.
	Learnt func() error
	// Refresh, where it is set, is called before a call, at most once a second: see
	// Learnt.Refresh.
	Refresh func() error
	// Thresholds are those of view.Options.
	Thresholds window.Thresholds
	// Condense has a model summarise what views leave out; nil: none does. Its Done
	// is the recorder's.
	Condense *view.CondenseOptions
	// PlainCache is that of view.Input, for all calls.
	PlainCache bool
	// RecallTokens, RecallWait and LowMark are those of view.Options.
	RecallTokens int
	RecallWait   time.Duration
	LowMark      float64
	// KeepTools are those of view.Options.
	KeepTools []string
	// Profiles are those that calls may name; nil: the built-in ones.
	Profiles *window.ProfileTable
	// Margin is that of window.Options.
	Margin float64
	// Suffix is that of thread.Options.
	Suffix func() string
}

// Recorder records calls. It is safe for concurrent use.
type Recorder struct {
	o     Options
	log   *timeline.Log
	book  *thread.Book
	queue *queue
	cache *token.Cache // of counts
	lanes lanes
	talks talks
	lasts lasts
	turns *turns
	now   atomic.Pointer[tuning]

	changing sync.Mutex // protects changes of now, and what follows
	closed   bool
	keeping  *time.Timer // of what was learnt; nil where nothing is new

	refreshed atomic.Int64 // when Refresh was called last, in seconds

	stuck atomic.Bool  // the store did not answer the last time
	slow  atomic.Int64 // when it was told last that the store is slow, in seconds

	counters Counters
	last     atomic.Pointer[error] // of writing
}

var _ proxy.Watcher = (*Recorder)(nil)

// Counters count what a recorder did.
type Counters struct {
	Calls atomic.Int64
	// Unknown were bodies that could not be read, Refused calls whose key the
	// provider did not take, which are not kept, Failed those that could not be
	// kept.
	Unknown, Refused, Failed, Written atomic.Int64
	// Unseen were calls that the proxy could not show, Unkept those whose answer was not
	// kept, for want of memory or for its size.
	Unseen, Unkept atomic.Int64
}

// DefaultStoreWait is that of Options.StoreWait.
const DefaultStoreWait = 10 * time.Second

// workers is how many conversations are written at the same time: the store groups
// their changes.
const workers = 8

// New makes a recorder. Close it to wait for what it has not yet written.
func New(o Options) *Recorder {
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
		o.Limits = new(token.Limits)
	}
	o.Backlog, o.Timeout = cmp.Or(o.Backlog, 256<<20), cmp.Or(o.Timeout, 30*time.Second)
	o.StoreWait, o.LateWait = cmp.Or(o.StoreWait, DefaultStoreWait), cmp.Or(o.LateWait, time.Minute)
	o.BriefWait = cmp.Or(o.BriefWait, 50*time.Millisecond)
	r := &Recorder{o: o, log: timeline.NewLog(o.Store, timeline.LogOptions{Messages: 1 << 19}), book: thread.NewBook(o.Store, thread.Options{Wait: o.BriefWait, Suffix: o.Suffix, Marks: view.Marks}), cache: token.NewCache(0), turns: newTurns()}
	r.queue = newQueue(workers, o.Backlog, func(p any) {
		r.told("", "", fmt.Errorf("a panic while writing: %v", p))
	})
	r.Change(o)
	return r
}

// Counters tells what was done so far.
func (r *Recorder) Counters() *Counters { return &r.counters }

// Close takes no more calls and waits until all that there were are written. Summaries
// that are not ready are given up.
func (r *Recorder) Close(ctx context.Context) error {
	r.changing.Lock()
	r.closed = true
	condensing := r.now.Load().condensing
	unkept := r.keeping != nil && r.keeping.Stop()
	r.changing.Unlock()
	if condensing != nil {
		condensing.Close()
	}
	if err := r.queue.close(ctx); err != nil {
		return fmt.Errorf("write the last calls: %w", err)
	}
	r.book.Wait()
	if unkept {
		r.keep()
	}
	return nil
}

// Err is why the last call could not be written; nil where it could.
func (r *Recorder) Err() error {
	if err := r.last.Load(); err != nil {
		return *err
	}
	return nil
}

// Begin finds the conversation of a call, and what is to be sent of it.
func (r *Recorder) Begin(ctx context.Context, c *oriel.Request) proxy.Recording {
	r.counters.Calls.Add(1)
	r.refresh()
	if c.Memory == nil {
		own := *c
		own.Memory = unlimited{}
		c = &own
	}
	now := r.now.Load()
	body, err := readBody(c.Body, c.Format)
	if err != nil {
		r.event(Event{Kind: EventUnknown, Call: c.ID, Error: "the request is passed on as it came and not recorded: " + err.Error()})
		r.counters.Unknown.Add(1)
		return &failed{}
	}
	if _, err := now.o.Profiles.Lookup(c.Profile); err != nil {
		r.event(Event{Kind: EventProfile, Call: c.ID, Model: body.Model, Error: fmt.Sprintf("%s; %s is used", secret.Of(c.Header, c.Query).Clean(err.Error()), now.o.Profile)})
		other := *c
		other.Profile = ""
		c = &other
	}
	rec, err := r.guarded(ctx, c, body, now)
	if err == nil {
		return rec
	}
	r.failOpen(c.ID, "", err)
	return &failed{body: r.unseen(ctx, c, body, now)}
}

// unseen is what is sent of a call that is not recorded; nil for what came.
func (r *Recorder) unseen(ctx context.Context, c *oriel.Request, body *wire.Body, now *tuning) (sent []byte) {
	defer func() {
		if recover() != nil {
			sent = nil
		}
	}()
	_, chain := chainOf(body)
	if now.profile(c) == "off" || len(chain) == 0 {
		return nil
	}
	rec := &recording{r: r, now: now, call: c, body: body, chain: chain, began: r.o.Now()}
	rec.atHand(ctx)
	return rec.Send()
}

// guarded is begin, whose panics are errors.
func (r *Recorder) guarded(ctx context.Context, c *oriel.Request, body *wire.Body, now *tuning) (rec *recording, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	return r.begin(ctx, c, body, now)
}

// budgetOf is what a client asks for by a header; 0 for nothing.
func budgetOf(h http.Header) int {
	n, err := strconv.Atoi(h.Get("X-Oriel-Budget"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func (r *Recorder) begin(ctx context.Context, c *oriel.Request, body *wire.Body, now *tuning) (*recording, error) {
	system, chain := chainOf(body)
	rec := &recording{r: r, now: now, call: c, body: body, system: system, chain: chain, began: r.o.Now()}
	if len(chain) == 0 {
		return nil, errors.New("the request has no messages: what its provider holds of it is not seen here")
	}
	rec.hints = thread.HintsOf(c.Header, body.Hints)
	rec.counted = make(chan struct{})
	request := &thread.Request{
		Tenant: c.Tenant, Hints: rec.hints, Previous: body.Hints.Previous, Held: body.Hints.Conversation != "", Lane: r.lanes.of(thread.Prompt(&body.Request)),
		Retry: retries(c.Header), Messages: chain, Now: rec.began,
	}
	off := now.profile(c) == "off"
	wait := r.storeWait()
	if off {
		wait = r.o.BriefWait // nothing is left out, so nobody has to wait
	}
	err := rec.find(ctx, request, wait)
	if err != nil {
		if !off {
			r.noteStore(err)
		}
		rec.found = make(chan struct{})
		if !off || !errors.Is(err, context.DeadlineExceeded) {
			r.told(c.ID, "", fmt.Errorf("%w; it is looked for while the call goes on", err))
			rec.open = true
		}
		defer func() { go rec.findLate(request) }()
	}
	if off {
		go rec.countBeside()
		return rec, nil
	}
	defer close(rec.counted)
	if err != nil {
		rec.atHand(ctx)
	} else if err := rec.guardedShow(ctx); err != nil {
		r.told(c.ID, rec.thread.Conversation, err)
		rec.instead(ctx)
	}
	return rec, nil
}

// retries reports whether a vendor's SDK says that it sends a request again.
func retries(h http.Header) bool {
	n := h.Get("X-Stainless-Retry-Count")
	return n != "" && n != "0"
}

// failOpen tells of a call that is not kept, and counts it.
func (r *Recorder) failOpen(call, conversation string, err error) {
	r.told(call, conversation, err)
	r.counters.Failed.Add(1)
}

// Unseen is told of a call that went through unseen.
func (r *Recorder) Unseen(call, reason string) {
	r.counters.Unseen.Add(1)
	r.event(Event{Kind: EventUnseen, Call: call, Error: reason})
}

// unkept tells of an answer that was not kept.
func (r *Recorder) unkept(call, conversation string, err error) {
	r.counters.Unkept.Add(1)
	r.event(Event{Kind: EventUnkept, Call: call, Conversation: conversation, Error: err.Error()})
}

// told tells of a failure of our own.
func (r *Recorder) told(call, conversation string, err error) {
	r.event(Event{Kind: EventOpen, Call: call, Conversation: conversation, Error: err.Error()})
}

// summarised is told of a summary that was written behind the scenes, and stores it.
func (r *Recorder) summarised(s view.Summary) {
	e := Event{
		Kind: EventCondensation, Conversation: s.Conversation, Model: s.Model, Before: s.Before, Tokens: s.After, Cost: s.Cost, Plan: s.Plan, Items: s.Messages,
	}
	if s.Err != nil {
		e.Error = s.Err.Error()
		r.event(e)
		return
	}
	r.event(e)
	bad := r.queue.add(s.Tenant+"\x00"+s.Conversation, int64(len(s.Text)), func() {
		ctx, cancel := context.WithTimeout(context.Background(), r.o.Timeout)
		defer cancel()
		record, err := s.Record()
		if err == nil {
			_, err = r.o.Store.Apply(ctx, s.Tenant, timeline.Change{Conversation: s.Conversation, Stay: true, Put: []timeline.Record{record}, Now: r.o.Now()})
		}
		if err != nil {
			r.told("", s.Conversation, fmt.Errorf("store a summary: %w", err))
		}
	})
	if bad != nil {
		r.told("", s.Conversation, fmt.Errorf("store a summary: %w", bad))
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

// failed is the recording of a call that is not recorded. body is what is sent; nil: what
// came.
type failed struct{ body []byte }

func (*failed) Response(int, http.Header)  {}
func (*failed) Header(h http.Header)       { h.Set("X-Oriel-Action", "error") }
func (*failed) Write([]byte)               {}
func (*failed) End(error)                  {}
func (f *failed) Send() []byte             { return f.body }
func (*failed) Again() bool                { return false }
func (*failed) Refused(int, []byte) []byte { return nil }

// unlimited is the memory of a call that has no limit.
type unlimited struct{}

func (unlimited) Take(int64) bool { return true }
func (unlimited) Give(int64)      {}
func (unlimited) Hold()           {}
func (unlimited) LetGo()          {}
