package call

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
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// Parts are the parts of an engine that its calls use.
type Parts struct {
	// Store holds the history.
	Store timeline.Store
	// Tenant is whose the requests are that name no tenant.
	Tenant string
	// Models and Margin are used where the options of calls have none.
	Models *token.Models
	Margin float64
	// Project is the project of new conversations; it may be empty.
	Project string
	// Recall searches what views no longer show; nil turns recall off.
	Recall *recall.Library
	// Calibration learns from the usage that providers report, Limits from their
	// refusals. Default: new ones.
	Calibration *token.Calibration
	Limits      *token.Limits
	// Learnt, if set, is called at once when a limit was learnt, and within a minute
	// after anything else. Refresh is called before calls, at most once a second unless Shared is set. See
	// token.Learnt.
	Learnt, Refresh func() error
	// Reread, if set, is called before calls that continue from those of other processes.
	Reread func() error
	// Shared is Config.Shared.
	Shared bool
	// Backlog bounds the bytes of calls that wait to be written. Default 256 MB.
	Backlog int64
	Waits   Waits
	// Events, if set, receives all events. It must return quickly.
	Events func(event.Event)
	// Stages, if set, receives how long the parts of calls took. It must be quick.
	Stages func(Stage)
	// Log receives failures. Default: none.
	Log *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Sizing is Config.Sizing.
	Sizing items.Sizing
	// Taken is that of thread.Options: conversations of items.
	Taken func(tenant, name string) bool
	// Suffix is that of thread.Options.
	Suffix func() string
}

// calls is the part of an Engine that handles requests: it finds their conversations,
// decides what is sent, and records them. It is safe for concurrent use.
type Engine struct {
	o         Parts
	log       *timeline.Log
	index     *thread.Index
	queue     *queue
	cache     *token.Cache // of counts
	sketches  sketches
	bare      hashSet  // tools without credentials
	encodings sync.Map // names of the encodings of models that were counted for
	states    states
	lastUsed  lastUsed
	turns     *turns
	asked     asked
	running   runningCalls
	lines     lastLines
	observer  *observer
	tuning    atomic.Pointer[tuning]

	changing sync.Mutex // protects changes of tuning, and what follows
	closed   bool
	keeping  *time.Timer // of what was learnt; nil where nothing is new

	refreshed atomic.Int64 // when Refresh was called last, in seconds

	reads limit.Work  // what calls wait for of the store
	stuck atomic.Bool // the store did not answer the last time
	// keepsBinding is set when the provider has refused the field of wire.Body.AskDrop.
	keepsBinding atomic.Bool
	// probing is set while somebody asks a stuck store. ending ends with the calls.
	probing atomic.Bool
	ending  context.Context
	end     context.CancelFunc
	// working ends when there is no time left at the end: what is not stored then goes to
	// the spool.
	working context.Context
	hurry   context.CancelFunc
	slow    atomic.Int64 // when it was told last that the store is slow, in seconds

	sizes storedSizes  // of tenants with a limit
	spool *spooler     // nil: what the store does not accept is lost
	lost  atomic.Int64 // calls that neither the store nor the spool accepted

	counters  Counters
	lastError atomic.Pointer[error] // of writing
}

// Counters counts calls by outcome.
type Counters struct {
	Calls atomic.Int64
	// Unknown counts bodies that could not be parsed, Refused calls whose key the
	// provider refused, which are not stored, Failed calls that could not be stored.
	// Spooled counts calls that wait, or waited, on disk for the store; those are Written
	// later.
	Unknown, Refused, Failed, Written, Spooled atomic.Int64
	// Unseen counts calls that were sent without Begin, Unkept those whose answer was not
	// stored, because it was too large or memory was short.
	Unseen, Unkept atomic.Int64
	// Limited counts calls that were not stored because of Options.StoredBytes.
	Limited atomic.Int64
}

// queueKey returns the key of a conversation in the queue.
func queueKey(tenant, conversation string) string { return tenant + "\x00" + conversation }

// workers is the number of conversations that are written at the same time. The store
// groups their changes.
const workers = 16

// New returns calls for the given parts. The caller must Close them.
func New(o Parts, options Options) *Engine {
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
	o.Backlog, o.Waits = cmp.Or(o.Backlog, 256<<20), o.Waits.withDefaults()
	r := &Engine{o: o, log: timeline.NewLog(o.Store, timeline.LogOptions{Messages: 1 << 19}),
		index: thread.NewIndex(o.Store, thread.Options{Wait: o.Waits.Brief, Suffix: o.Suffix, Taken: o.Taken,
			Plans: plan.Read, Shared: o.Shared}), cache: token.NewCache(0), turns: newTurns(),
		observer: newObserver()}
	r.ending, r.end = context.WithCancel(context.Background())
	r.working, r.hurry = context.WithCancel(context.Background())
	r.queue = newQueue(workers, o.Backlog, func(p any) {
		r.report(event.OpenStore, nil, "", fmt.Errorf("a panic while writing: %v", p))
	})
	r.change(options)
	return r
}

// Backlog returns how many calls wait to be written or are being written, and the bytes
// that they hold.
func (r *Engine) Backlog() (calls int, bytes int64) { return r.queue.depth() }

// Wait waits until the calls that have ended are stored.
func (r *Engine) Wait(ctx context.Context) error { return r.queue.wait(ctx) }

// WaitFor waits until the calls of a conversation that have ended are stored.
func (r *Engine) WaitFor(ctx context.Context, tenant, conversation string) error {
	return r.queue.waitKey(ctx, queueKey(tenant, conversation))
}

// Counters returns the counters of all calls.
func (r *Engine) Counters() *Counters { return &r.counters }

// Close waits until all calls are stored, and accepts no more. It abandons unfinished
// summaries.
func (r *Engine) Close(ctx context.Context) error {
	r.changing.Lock()
	r.closed = true
	r.end()
	condensing := r.tuning.Load().condensing
	unkept := r.keeping != nil && r.keeping.Stop()
	r.changing.Unlock()
	if condensing != nil {
		condensing.Close()
	}
	if err := r.drain(ctx); err != nil {
		return fmt.Errorf("write the last calls: %w", err)
	}
	if r.spool != nil {
		if err := r.spool.shutDown(ctx); err != nil {
			return fmt.Errorf("write the calls that waited: %w", err)
		}
	}
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		r.index.Wait()
	}()
	if err := waitFor(ctx, loaded); err != nil {
		return fmt.Errorf("wait for what is read of the store: %w", err)
	}
	if unkept {
		r.keep()
	}
	return nil
}

// drain waits until the last calls are stored. Half of the time is for the store; what is
// left then goes to the spool.
func (r *Engine) drain(ctx context.Context) error {
	if until, ok := ctx.Deadline(); ok && r.spool != nil {
		half, cancel := context.WithTimeout(ctx, time.Until(until)/2)
		defer cancel()
		if r.queue.wait(half) != nil {
			r.hurry()
		}
	}
	return r.queue.drain(ctx)
}

// Err returns why the last call could not be stored, or nil.
func (r *Engine) Err() error {
	if err := r.waiting(); err != nil {
		return err
	}
	if err := r.lastError.Load(); err != nil {
		return *err
	}
	return nil
}

// own returns the request with a tenant and a memory.
func (r *Engine) own(c *Request) *Request {
	if c.Tenant != "" && c.Memory != nil {
		return c
	}
	own := *c
	own.Tenant = cmp.Or(c.Tenant, r.o.Tenant)
	if own.Memory == nil {
		own.Memory = unlimited{}
	}
	return &own
}

// Begin finds the conversation that a request continues and decides what is sent. The
// caller then sends Call.Body, asks Call.Refused if the provider refuses it, passes the
// reply to Call.Response and Call.Write, and calls Call.End, which records the call.
// Begin never fails: an event reports what goes wrong, and the best remaining body is
// sent. Waits bounds how long Begin waits; ctx is for callers that no longer want the
// result.
func (r *Engine) Begin(ctx context.Context, c *Request) *Call {
	began := r.stageBegins()
	defer r.stageEnds(c.ID, StageBegin, began)
	r.counters.Calls.Add(1)
	r.refresh()
	c = r.own(c)
	cur, reading := r.tuning.Load(), r.stageBegins()
	body, err := readBody(c.Body, c.Format, c.Path)
	r.stageEnds(c.ID, StageRead, reading)
	if err != nil {
		r.event(event.Event{Kind: event.Unknown, Tenant: c.Tenant, Call: c.ID,
			Error: "the request is passed on as it came and not recorded: " + err.Error()})
		r.counters.Unknown.Add(1)
		return &Call{engine: r, unrecorded: true}
	}
	if _, err := cur.o.Profiles.Lookup(c.Profile); err != nil {
		r.event(event.Event{Kind: event.Profile, Tenant: c.Tenant, Call: c.ID, Model: body.Model,
			Error: fmt.Sprintf("%s; %s is used", secret.Of(c.Header, c.Query).Clean(err.Error()), cur.o.Profile)})
		other := *c
		other.Profile = ""
		c = &other
	}
	if _, err := askedBudget(c.Header); err != nil {
		r.event(event.Event{Kind: event.Budget, Tenant: c.Tenant, Call: c.ID, Model: body.Model,
			Error: secret.Of(c.Header, c.Query).Clean(err.Error())})
	}
	begun, err := r.guarded(ctx, c, body, cur)
	if err == nil {
		r.running.begin(begun)
		return begun
	}
	r.failOpen(event.OpenPlan, c, "", err)
	return &Call{engine: r, unrecorded: true, other: r.unseen(ctx, c, body, cur)}
}

// unseen returns the body to send for a call that is not recorded; nil for the client's.
func (r *Engine) unseen(ctx context.Context, c *Request, body *wire.Body, cur *tuning) (sent []byte) {
	defer func() {
		if recover() != nil {
			sent = nil
		}
	}()
	_, chain := chainOf(body)
	if cur.off(c) || len(chain) == 0 {
		return nil
	}
	begun := &Call{engine: r, tuning: cur, request: c, body: body, chain: chain, began: r.o.Now()}
	begun.askWindow(ctx)
	begun.fallbackUnknown(ctx)
	return begun.Body()
}

// guarded is begin with panics returned as errors.
func (r *Engine) guarded(ctx context.Context, c *Request, body *wire.Body, cur *tuning) (begun *Call, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	return r.begin(ctx, c, body, cur)
}

// budgetOf returns the budget that a client asks for in a header, or 0.
func budgetOf(h http.Header) int {
	n, _ := askedBudget(h)
	return n
}

// askedBudget is budgetOf, with an error if the header is ignored.
func askedBudget(h http.Header) (int, error) {
	text := h.Get("X-Oriel-Budget")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf(
			"X-Oriel-Budget %.40q is ignored: give a whole number of tokens that is more than 0, such as 8000", text)
	}
	return n, nil
}

// askWindow sets the model of the call as its server runs it.
func (c *Call) askWindow(ctx context.Context) {
	if w := c.request.Windows; w != nil {
		c.told = w.Of(ctx, c.body.Model, c.body.Window)
	}
	c.model = window.Served(c.tuning.o.Models.Lookup(c.body.Model), &c.body.Request, c.body.Format, c.told)
}

func (r *Engine) begin(ctx context.Context, c *Request, body *wire.Body, cur *tuning) (*Call, error) {
	system, chain := chainOf(body)
	begun := &Call{engine: r, tuning: cur, request: c, body: body, system: system, chain: chain, began: r.o.Now(),
		crew: limit.CrewOf(ctx)}
	if len(chain) == 0 {
		return nil, errors.New("the request has no messages: what its provider holds of it is not seen here")
	}
	begun.askWindow(ctx)
	begun.hints = hintsOf(c.Header, body.Hints, begun.secrets)
	begun.counted, begun.written = make(chan struct{}), make(chan struct{})
	request := &thread.Request{
		Tenant: c.Tenant, Hints: begun.hints, Previous: body.Hints.Previous, Held: body.Hints.Conversation != "",
		Sketch: r.sketches.lookUp(thread.Prompt(&body.Request)),
		Retry:  retries(c.Header), Messages: chain, Compacts: body.Compacts, Now: begun.began,
	}
	off := cur.off(c)
	wait := r.storeWait()
	if off {
		wait = r.o.Waits.Brief // nothing is left out, so nobody has to wait
	}
	reads, cancel := context.WithTimeout(ctx, wait) // all reads of the store
	defer cancel()
	looked := r.stageBegins()
	err := begun.find(reads, request)
	r.stageEnds(c.ID, StageFind, looked)
	if err != nil {
		if !off {
			r.noteStore(err)
		}
		begun.found = make(chan struct{})
		if !off || !errors.Is(err, context.DeadlineExceeded) {
			r.report(event.OpenFind, c, "", fmt.Errorf("%w; it is looked for while the call goes on", err))
			begun.fellBack = true
		}
		defer func() { go begun.findLate(request) }()
	} else {
		if begun.thread.Elsewhere {
			r.reread(reads)
		}
		r.asked.request(c.Tenant, begun.thread.Conversation, body.Tools)
	}
	if off {
		if len(c.Body) <= countAtOnce && begun.canCount() {
			begun.countBeside()
		} else {
			go begun.countBeside()
		}
		return begun, nil
	}
	defer close(begun.counted)
	if err != nil {
		begun.fallbackUnknown(ctx)
	} else if err := begun.guardedShow(ctx, reads); err != nil {
		r.report(event.OpenPlan, c, begun.thread.Conversation, err)
		begun.fallback(ctx)
	}
	return begun, nil
}

// retries reports whether a header says that a vendor's SDK repeats a request.
func retries(h http.Header) bool {
	n := h.Get("X-Stainless-Retry-Count")
	return n != "" && n != "0"
}

// summarised reports and stores a summary that was written in the background.
func (r *Engine) summarised(s plan.Summary) {
	e := event.Event{
		Kind: event.Condensation, Tenant: s.Tenant, Conversation: s.Conversation, Model: s.Model,
		TokensBefore: s.Before, TokensAfter: s.After, Cost: s.Cost, Plan: s.Plan, Items: s.Messages,
	}
	if errors.Is(s.Err, context.Canceled) {
		return // the engine is being closed: nothing has failed
	}
	if s.Err != nil {
		e.Error = s.Err.Error()
		r.event(e)
		return
	}
	r.event(e)
	bad := r.queue.add(nil, queueKey(s.Tenant, s.Conversation), int64(len(s.Text)), func() {
		ctx, cancel := context.WithTimeout(context.Background(), r.o.Waits.Write)
		defer cancel()
		record, err := s.Record()
		home, known := r.index.Home(s.Tenant, s.Conversation)
		if err == nil && !known {
			err = errors.New("the calls of its conversation are not stored yet")
		}
		if err == nil {
			_, err = r.o.Store.Apply(ctx, s.Tenant,
				timeline.Change{Conversation: home, Stay: true, Put: []timeline.Record{record}, Now: r.o.Now()})
		}
		if err != nil {
			r.report(event.OpenStore, &Request{Tenant: s.Tenant}, s.Conversation,
				fmt.Errorf("store a summary: %w", err))
		}
	})
	if bad != nil {
		r.report(event.OpenStore, &Request{Tenant: s.Tenant}, s.Conversation, fmt.Errorf("store a summary: %w", bad))
	}
}

// sketches caches the sketches of system prompts.
type sketches struct {
	mu    sync.Mutex
	known map[timeline.Hash]thread.PromptSketch
}

// maxSketches bounds the cache; when it is full, it is emptied.
const maxSketches = 256

func (l *sketches) lookUp(system []chat.Part) thread.PromptSketch {
	h := timeline.Hash{}
	for i := range system {
		p := timeline.HashOf(system[i].Text)
		for j := range h {
			h[j] = h[j]*31 ^ p[j]
		}
	}
	l.mu.Lock()
	sketch, ok := l.known[h]
	l.mu.Unlock()
	if ok {
		return sketch
	}
	sketch = thread.SketchOf(system)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxSketches {
		l.known = make(map[timeline.Hash]thread.PromptSketch, maxSketches)
	}
	l.known[h] = sketch
	return sketch
}

// unlimited is the Memory of a call without a limit.
type unlimited struct{}

func (unlimited) Take(int64) bool { return true }
func (unlimited) Give(int64)      {}
func (unlimited) Hold()           {}
func (unlimited) LetGo()          {}
