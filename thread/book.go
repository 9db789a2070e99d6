package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
)

// Book remembers the conversations of a store, and finds those of requests.
type Book struct {
	store timeline.Store
	limit int
	// suffix makes names of conversations that have none different from others'.
	suffix func() string
	marks  Marks

	loads sync.WaitGroup
	drops atomic.Int64 // conversations that were forgotten

	listing sync.Mutex // protects lists
	lists   map[string]*conversationList

	mu      sync.Mutex // protects what follows
	tenants map[string]*tenant
	fetches map[fetchKey]*fetching
	ended   chan struct{} // closed when the next call ends
	size    int           // in steps
}

// Options are those of NewBook.
type Options struct {
	// Messages is how many messages to remember, of all conversations together, those
	// used least recently going first; a reply that nobody has sent back counts by its
	// bytes. 0 means 524,288, which take about 25 MB.
	Messages int
	// Marks reads what is kept at the places of conversations. Default: nothing is.
	Marks Marks
	// Suffix ends the names of conversations whose client gives none. It must be
	// different for every process. Default: random.
	Suffix func() string
}

// NewBook makes a book over a store.
func NewBook(store timeline.Store, o Options) *Book {
	b := &Book{store: store, limit: cmp.Or(o.Messages, 1<<19), suffix: o.Suffix, marks: o.Marks, tenants: map[string]*tenant{}, fetches: map[fetchKey]*fetching{}, ended: make(chan struct{}), lists: map[string]*conversationList{}}
	if b.suffix == nil {
		b.suffix = randomSuffix
	}
	return b
}

// tenant is what is remembered of a tenant.
type tenant struct {
	talks map[string]*talk
	// roots are the talks by what their first messages say, spaces by their
	// namespaces; the latest of each stand last.
	roots  map[timeline.Hash][]*talk
	spaces map[space][]*talk
	read   map[space]bool // sessions whose stored conversations are all here
	// taken are, for a session that was read, the names after it that are stored.
	taken   map[string]map[string]bool
	replies map[string]*line // by the provider's ids of replies
}

// Kind is how a request stands to what was known.
type Kind string

// The kinds.
const (
	New       Kind = "new"
	Continued Kind = "continued"
	Retried   Kind = "retried"
	Branched  Kind = "branched"
	Trimmed   Kind = "trimmed"
	Compacted Kind = "compacted"
	Side      Kind = "side"
)

// Thread is the place of a request in the history.
type Thread struct {
	Tenant       string
	Conversation string
	Kind         Kind
	// Continues is the conversation that this new one was compacted from.
	Continues string
	// Stay: the conversation's head stays where it is.
	Stay bool
	// Known is how many of the request's messages were known.
	Known int
	// From is the first message of the request that stands in the history in one
	// row with all that follow, Before what the history has before it. Of the
	// messages up to From, the first Head are the history's first ones too, and
	// the others are the client's own, in the place of what it left out.
	From, Head int
	Before     []timeline.Hash
	// Says are the identities of the messages from From on.
	Says []timeline.Hash
	// Whose marks are seen and made: those of others on the same history are apart.
	Whose string
	// space, lane and stored are the conversation's: see Record.
	space  space
	lane   Lane
	stored bool

	line  *line
	depth int // steps up to the end of the request

	replied int // steps of the reply
}

// Depth is how many messages the history has up to the end of the request.
func (t *Thread) Depth() int { return t.depth }

// Find tells to which conversation a request belongs, and remembers that it came.
// Done must be called when the call has ended, and Stored when it is written or never
// will be. What the store has to be asked for comes to stay, even where it takes longer
// than this call can wait.
func (b *Book) Find(ctx context.Context, r *Request) (*Thread, error) {
	if len(r.Messages) == 0 {
		return nil, errors.New("find the conversation of a request: it has no messages")
	}
	b.await(ctx, r)
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tenant(r.Tenant); !b.knows(t, r) {
		if err := b.fetch(ctx, r); err != nil {
			return nil, fmt.Errorf("find the conversation of a request: %w", err)
		}
	}
	t := b.tenant(r.Tenant)
	th := t.find(r, b.suffix)
	k := th.line.talk
	k.calls++
	k.held++
	k.use(th.line, r.Now)
	t.latest(k)
	b.account(k)
	b.shrink()
	return th, nil
}

// awaitTime is the longest that a request waits for the call that it goes on from.
const awaitTime = 50 * time.Millisecond

// await waits for the end of the call whose reply a request goes on from: its client
// has it a moment before it is known here.
func (b *Book) await(ctx context.Context, r *Request) {
	if r.Previous == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	for {
		b.mu.Lock()
		t := b.tenant(r.Tenant)
		known := t.replies[r.Previous] != nil
		busy := slices.ContainsFunc(t.near(r), func(k *talk) bool { return k.calls > 0 })
		ended := b.ended
		b.mu.Unlock()
		if known || !busy {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// fetching is a load that is under way.
type fetching struct {
	done chan struct{}
	err  error
}

// fetchTime is the longest that a load may take.
const fetchTime = time.Minute

// fetch reads the stored conversations that a request may belong to. The lock is held
// before and after it, not meanwhile. Who cannot wait leaves it to go on.
func (b *Book) fetch(ctx context.Context, r *Request) error {
	key := fetchKey{r.Tenant, r.Hints.space(), r.says(0)}
	if r.Hints.Session != "" {
		key.root = timeline.Hash{}
	}
	f := b.fetches[key]
	if f == nil {
		f = &fetching{done: make(chan struct{})}
		b.fetches[key] = f
		ask := &Request{Tenant: r.Tenant, Hints: r.Hints, anybody: r.anybody, said: r.saysFirst(maxWalk)}
		b.loads.Add(1)
		go func() {
			defer b.loads.Done()
			ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
			defer cancel()
			loaded, err := b.guardedLoad(ctx, ask)
			b.mu.Lock()
			defer b.mu.Unlock()
			if f.err = err; err == nil {
				b.take(ask, loaded)
			}
			delete(b.fetches, key)
			close(f.done)
		}()
	}
	b.mu.Unlock()
	defer b.mu.Lock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// guardedLoad is load, whose panics are errors: it runs where nobody else would catch
// them.
func (b *Book) guardedLoad(ctx context.Context, r *Request) (l *loaded, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	return b.load(ctx, r)
}

type fetchKey struct {
	tenant string
	space  space
	root   timeline.Hash
}

// take keeps what was loaded.
func (b *Book) take(r *Request, loaded *loaded) {
	t := b.tenant(r.Tenant)
	for _, k := range loaded.talks {
		if t.add(k) {
			b.account(k)
		}
	}
	if r.Hints.Session != "" {
		t.read[r.Hints.space()] = true
		t.taken[r.Hints.Session] = loaded.names
	}
}

// Wait waits for what is being read of the store.
func (b *Book) Wait() { b.loads.Wait() }

// Done ends a call. reply is what the model said, where it came to its end: the
// messages that a client would send back; id is the provider's,
// where a request may go on from it without sending what was before. The identities of
// the messages are returned.
func (b *Book) Done(th *Thread, reply []chat.Message, id string) (says []timeline.Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	talk := th.line.talk
	talk.calls--
	defer func() {
		close(b.ended)
		b.ended = make(chan struct{})
	}()
	t := b.tenant(th.Tenant)
	if len(reply) == 0 {
		return nil
	}
	steps := make([]step, len(reply))
	for i := range reply {
		steps[i] = step{bytes: bytesOf(reply[i].Raw), says: timeline.Says(&reply[i]), assistant: true, model: true}
		says = append(says, steps[i].says)
	}
	l := th.line
	th.replied = len(steps)
	if len(l.steps) != th.depth { // others went on meanwhile
		if l.goesOn(th.depth, steps) { // the client itself, with this very reply
			for i := range steps {
				l.steps[th.depth+i].model = true
			}
			return says
		}
		l = l.copy(min(th.depth, len(l.steps)))
		th.line = l
	}
	talk.use(l, talk.used)
	l.steps, l.reply = append(l.steps, steps...), reply
	if id != "" {
		if l.replied == nil {
			l.replied = map[string]int{}
		}
		l.replied[id] = len(l.steps)
		t.remember(id, l)
	}
	b.account(talk)
	return says
}

// maxReplies is how many ids of replies are remembered.
const maxReplies = 1 << 16

func (t *tenant) remember(id string, l *line) {
	if len(t.replies) >= maxReplies {
		for old := range t.replies { // any
			delete(t.replies, old)
			break
		}
	}
	t.replies[id] = l
}

// Stored tells that a call is written, so that its conversation can be read again from
// the store; or, with false, that it never will be.
func (b *Book) Stored(th *Thread, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := th.line.talk
	k.held--
	k.stored = k.stored || ok
}

// Passed reports whether a later request has gone on from where this call ended: the
// conversation's end is that one's matter then.
func (b *Book) Passed(th *Thread) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(th.line.steps) > th.depth+th.replied
}

func (b *Book) tenant(name string) *tenant {
	t := b.tenants[name]
	if t == nil {
		t = &tenant{talks: map[string]*talk{}, roots: map[timeline.Hash][]*talk{}, spaces: map[space][]*talk{}, read: map[space]bool{}, taken: map[string]map[string]bool{},
			replies: map[string]*line{}}
		b.tenants[name] = t
	}
	return t
}

// add takes a conversation in, unless it is there.
func (t *tenant) add(k *talk) bool {
	if t.talks[k.name] != nil || len(k.lines) == 0 {
		return false
	}
	t.talks[k.name] = k
	t.spaces[k.space] = append(t.spaces[k.space], k)
	k.begins = k.lines[0].steps[0].says
	t.roots[k.begins] = append(t.roots[k.begins], k)
	return true
}

// latest makes a talk the last of those that it stands with.
func (t *tenant) latest(k *talk) {
	t.spaces[k.space] = append(without(t.spaces[k.space], k), k)
	t.roots[k.begins] = append(without(t.roots[k.begins], k), k)
}

// move puts a talk into another namespace.
func (t *tenant) move(k *talk, to space) {
	if t.spaces[k.space] = without(t.spaces[k.space], k); len(t.spaces[k.space]) == 0 {
		delete(t.spaces, k.space)
	}
	k.space, k.stored = to, false
	t.spaces[to] = append(t.spaces[to], k)
}

// stepBytes is about what a step takes.
const stepBytes = 48

// account counts what a conversation takes.
func (b *Book) account(k *talk) {
	size := 8
	for _, l := range k.lines {
		size += len(l.steps)
		for i := range l.reply {
			size += len(l.reply[i].Raw) / stepBytes
		}
	}
	for _, m := range k.marks {
		size += len(m.says) / 3
	}
	b.size += size - k.size
	k.size = size
}

// shrink forgets the conversations that were used least recently, of all but those
// that are in use, while there is too much.
func (b *Book) shrink() {
	if b.size <= b.limit {
		return
	}
	type owned struct {
		of *tenant
		k  *talk
	}
	var idle []owned
	for _, t := range b.tenants {
		for _, k := range t.talks {
			if k.calls+k.held == 0 {
				idle = append(idle, owned{t, k})
			}
		}
	}
	slices.SortFunc(idle, func(a, c owned) int { return a.k.used.Compare(c.k.used) })
	for _, o := range idle {
		if b.size <= b.limit*3/4 {
			break
		}
		b.drop(o.of, o.k)
	}
}

func (b *Book) drop(t *tenant, k *talk) {
	b.drops.Add(1)
	delete(t.talks, k.name)
	t.spaces[k.space] = without(t.spaces[k.space], k)
	if len(t.spaces[k.space]) == 0 {
		delete(t.spaces, k.space)
	}
	delete(t.read, k.space)
	delete(t.taken, k.session)
	if t.roots[k.begins] = without(t.roots[k.begins], k); len(t.roots[k.begins]) == 0 {
		delete(t.roots, k.begins)
	}
	for _, l := range k.lines {
		for id := range l.replied {
			delete(t.replies, id)
		}
	}
	b.size -= k.size
	k.size = 0
}

func without(all []*talk, k *talk) []*talk {
	return slices.DeleteFunc(all, func(o *talk) bool { return o == k })
}

// name makes the name of a new conversation. Where the client gives none it is when
// the conversation began, so that people find it, and what makes it the only one.
func (t *tenant) name(r *Request, suffix func() string) string {
	if r.Hints.Session == "" {
		for {
			name := r.Now.UTC().Format("20060102-150405-") + suffix()
			if t.talks[name] == nil {
				return name
			}
		}
	}
	for n := 1; ; n++ {
		if name := chainName(r.Hints.Session, n); t.talks[name] == nil && !t.taken[r.Hints.Session][name] {
			return name
		}
	}
}

// chainName is the name of the nth conversation of a session.
func chainName(session string, n int) string {
	if n == 1 {
		return session
	}
	return session + "~" + strconv.Itoa(n)
}
