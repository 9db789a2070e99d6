package misses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Call is what is known of the cache of a recorded call.
type Call struct {
	// ID identifies the call in logs; Number is its place among the calls of the conversation in
	// the order in which they began.
	ID     string
	Number int
	Time   time.Time
	Model  string
	// Prompt is the size of the prompt, Read what the provider read of it from its cache, Could
	// what it could have read, all as it counts them. They are 0 if it reported no usage.
	Prompt, Read, Could int
	// Miss is why it did not read what it could have; nil if it did.
	Miss *Miss
}

// Reported reports whether the provider reported what it read.
func (c *Call) Reported() bool { return c.Prompt > 0 }

// Reader finds the misses of recorded calls and remembers them. It is safe for concurrent use.
type Reader struct {
	store timeline.Store

	mu    sync.Mutex // protects what follows
	known map[[2]string]*page
	calls int
}

// page is what is known of a conversation; it is not changed.
type page struct {
	created  time.Time
	revision int64
	models   *token.Models
	calls    []Call
}

// maxRemembered is how many calls a reader remembers. Beyond it, it forgets all of them.
const maxRemembered = 100_000

// NewReader returns a reader of a store.
func NewReader(store timeline.Store) *Reader {
	return &Reader{store: store, known: map[[2]string]*page{}}
}

// Calls returns the calls of a conversation in the order in which they began, without imported
// ones. The caller must not change them. models is the table with cache rules and prices; nil means
// the built-in one.
func (r *Reader) Calls(ctx context.Context, tenant string, c *timeline.Conversation, models *token.Models) ([]Call,
	error) {
	if models == nil {
		models = token.Builtin()
	}
	at := [2]string{tenant, c.Name}
	r.mu.Lock()
	old := r.known[at]
	r.mu.Unlock()
	if old != nil && (!old.created.Equal(c.Created) || old.models != models) {
		old = nil
	}
	if old != nil && old.revision == c.Revision {
		return old.calls, nil
	}
	calls, err := r.read(ctx, tenant, c, models, old)
	if errors.Is(err, timeline.ErrNoConversation) {
		return nil, nil // deleted meanwhile
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls += len(calls); r.calls > maxRemembered {
		clear(r.known)
		r.calls = len(calls)
	}
	if was := r.known[at]; was != nil {
		r.calls -= len(was.calls)
	}
	r.known[at] = &page{c.Created, c.Revision, models, calls}
	return calls, nil
}

// stored is a recorded call while misses are looked for.
type stored struct {
	*call.Stored
	id     string
	record *timeline.Record
	read   bool // bodies has been read
	bodies bodies
}

// ready returns when something of the prompt could be in the provider's cache.
func (s *stored) ready() time.Time {
	return s.Began.Add(time.Duration(s.FirstMS * float64(time.Millisecond)))
}

func prompt(u *event.Usage) int { return u.Input + u.CacheRead + u.CacheWrite + u.Hour }

func (r *Reader) read(ctx context.Context, tenant string, c *timeline.Conversation, models *token.Models,
	old *page) ([]Call, error) {
	records, err := r.store.Records(ctx, tenant, c.Name, "call", "")
	if err != nil {
		return nil, err
	}
	var all []*stored
	for i := range records {
		if strings.HasPrefix(records[i].Key, usage.Imported) {
			continue
		}
		s, err := call.Decode(&records[i])
		if err != nil {
			return nil, fmt.Errorf("conversation %q: %w: %w", c.Name, usage.ErrUnread, err)
		}
		all = append(all, &stored{Stored: s, id: records[i].Key, record: &records[i]})
	}
	l := r.line(ctx, tenant, c.Name, models, all)
	known := map[string]*Call{}
	if old != nil {
		for i := range old.calls {
			known[old.calls[i].ID] = &old.calls[i]
		}
	}
	out := make([]Call, len(all))
	for i, s := range all {
		l.meets(s)
		if k := known[s.id]; k != nil && k.Number == i+1 {
			out[i] = *k
			continue
		}
		if out[i], err = l.call(i); err != nil {
			return nil, err
		}
		l.forget(i)
	}
	return out, l.name(out)
}

// Latest returns what Calls would of the last of some recorded calls of a conversation, compared with
// the others of them alone, or nil if it is not recorded. Its Number, its Miss.Before and the name of
// its plan are not those of the conversation.
func (r *Reader) Latest(ctx context.Context, tenant, conversation string, ids []string, models *token.Models) (*Call,
	error) {
	var all []*stored
	for _, id := range ids {
		records, err := r.store.Records(ctx, tenant, conversation, "call", id)
		if err != nil {
			return nil, err
		}
		for i := range records {
			s, err := call.Decode(&records[i])
			if err != nil {
				return nil, fmt.Errorf("conversation %q: %w: %w", conversation, usage.ErrUnread, err)
			}
			all = append(all, &stored{Stored: s, id: id, record: &records[i]})
		}
	}
	l := r.line(ctx, tenant, conversation, models, all)
	for i, s := range l.all {
		if l.meets(s); s.id != ids[len(ids)-1] {
			continue
		}
		c, err := l.call(i)
		return &c, err
	}
	return nil, nil
}

// line returns calls in the order in which they began.
func (r *Reader) line(ctx context.Context, tenant, conversation string, models *token.Models, all []*stored) *line {
	slices.SortStableFunc(all, func(a, b *stored) int { return a.Began.Compare(b.Began) })
	return &line{reader: r, ctx: ctx, tenant: tenant, conversation: conversation, models: models, all: all,
		cached: map[string]bool{}}
}

// meets notes whether the provider of a call reports something of a cache.
func (l *line) meets(s *stored) {
	if u := s.Usage; u != nil && u.CacheRead+u.CacheWrite+u.Hour > 0 {
		l.cached[s.Model] = true
	}
}

// line looks at the calls of a conversation.
type line struct {
	reader               *Reader
	ctx                  context.Context
	tenant, conversation string
	models               *token.Models
	all                  []*stored
	cached               map[string]bool // models whose provider has reported something of a cache
}

// Candidates is with how many of the calls before a prompt is compared: parallel agents take turns.
const Candidates = 4

// forget lets go of bodies that later calls are not compared with.
func (l *line) forget(i int) {
	if i -= 4 * Candidates; i >= 0 {
		l.all[i].bodies, l.all[i].read = bodies{}, false
	}
}

// counts reports whether a call could fill the cache of the conversation.
func (s *stored) counts() bool {
	return s.Usage != nil && !s.Outcome.Failed() && s.Thread != thread.Side
}

// call looks at one call.
func (l *line) call(i int) (Call, error) {
	now := l.all[i]
	c := Call{ID: now.id, Number: i + 1, Time: now.Began, Model: now.Model}
	if now.Usage == nil {
		return c, nil
	}
	c.Prompt, c.Read, c.Could = prompt(now.Usage), now.Usage.CacheRead, now.Usage.CacheRead
	if !now.counts() {
		return c, nil
	}
	same, other := l.before(i)
	if len(same) == 0 && other < 0 {
		return c, nil
	}
	m := l.models.Lookup(now.Model)
	if !l.cached[now.Model] && Silent(&m) {
		return c, nil
	}
	rule := m.Cache
	most := 0
	for _, k := range append(slices.Clip(same), other) {
		if k >= 0 {
			most = max(most, min(prompt(l.all[k].Usage), c.Prompt))
		}
	}
	if Whole(&rule, most, c.Read) {
		c.Could = max(c.Read, most)
		return c, nil
	}
	facts, before, err := l.facts(i, same, other)
	if err != nil || facts == nil {
		return c, err
	}
	c.Could = facts.Could()
	if c.Miss = Why(facts); c.Miss != nil {
		c.Miss.Before = before + 1
		c.Miss.Cost = l.cost(now, c.Miss.Tokens)
	}
	return c, nil
}

// before returns the latest calls before call i that asked the same model, newest first, and the
// latest one after all of them that asked another, or -1.
func (l *line) before(i int) (same []int, other int) {
	now := l.all[i]
	other = -1
	for k := i - 1; k >= 0 && len(same) < Candidates; k-- {
		s := l.all[k]
		switch {
		case !s.counts() || s.ready().After(now.Began):
		case s.Model == now.Model:
			same = append(same, k)
		case other < 0 && len(same) == 0:
			other = k
		}
	}
	return same, other
}

// cost returns what tokens cost more than they would have if they had been read from the cache.
func (l *line) cost(s *stored, tokens int) float64 {
	m := l.models.Lookup(s.Model)
	if !m.Known || !m.Prices.Known() {
		return 0
	}
	paid := usage.OfProvider(s.Usage)
	read := *paid
	for _, from := range []*int{&read.CacheWrite1h, &read.CacheWrite, &read.Input} {
		n := min(tokens, *from)
		*from -= n
		read.CacheRead += n
		tokens -= n
	}
	return usage.Dollars(m.Prices.Cost(*paid) - m.Prices.Cost(read))
}

// name gives plans the names that people know.
func (l *line) name(calls []Call) error {
	var names map[string]string
	for i := range calls {
		m := calls[i].Miss
		if m == nil || m.Plan == "" {
			continue
		}
		if names == nil {
			var err error
			notes := timeline.Notes{Store: l.reader.store, Tenant: l.tenant, Conversation: l.conversation}
			if names, err = plan.Names(l.ctx, notes); err != nil {
				return err
			}
		}
		if n := names[m.Plan]; n != "" {
			named := *m
			named.Plan, calls[i].Miss = n, &named
		}
	}
	return nil
}
