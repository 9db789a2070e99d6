package thread

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

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

	mu      sync.Mutex // protects what follows
	tenants map[string]*tenant
	size    int // steps remembered
}

// Options are those of NewBook.
type Options struct {
	// Messages is how many messages to remember, of all conversations together, those
	// used least recently going first. 0 means 524,288, which take about 25 MB.
	Messages int
	// Marks reads what is kept at the places of conversations. Default: nothing is.
	Marks Marks
	// Suffix ends the names of conversations whose client gives none. It must be
	// different for every process. Default: random.
	Suffix func() string
}

// NewBook makes a book over a store.
func NewBook(store timeline.Store, o Options) *Book {
	b := &Book{store: store, limit: cmp.Or(o.Messages, 1<<19), suffix: o.Suffix, marks: o.Marks, tenants: map[string]*tenant{}}
	if b.suffix == nil {
		b.suffix = randomSuffix
	}
	return b
}

// tenant is what is remembered of a tenant.
type tenant struct {
	talks  map[string]*talk
	roots  map[timeline.Hash][]*talk // by what their first messages say
	spaces map[space][]*talk
	read   map[space]bool // sessions whose stored conversations are all here
	chains map[string]int // of a session's name: how many there are
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
	// Space and Lane are to be kept with a conversation that is new: see Record.
	space space
	lane  Lane

	line  *line
	depth int // steps up to the end of the request

	replied int // steps of the reply
}

// Depth is how many messages the history has up to the end of the request.
func (t *Thread) Depth() int { return t.depth }

// Find tells to which conversation a request belongs, and remembers that it came.
// Done must be called when the call has ended.
func (b *Book) Find(ctx context.Context, r *Request) (*Thread, error) {
	if len(r.Messages) == 0 {
		return nil, fmt.Errorf("find the conversation of a request: it has no messages")
	}
	b.mu.Lock()
	t := b.tenant(r.Tenant)
	if !b.knows(t, r) {
		b.mu.Unlock()
		loaded, chains, err := b.load(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("find the conversation of a request: %w", err)
		}
		b.mu.Lock()
		t = b.tenant(r.Tenant)
		for _, k := range loaded {
			t.add(k)
			b.account(k)
		}
		if s := r.Hints.space(); r.Hints.Session != "" {
			t.read[s] = true
			t.chains[r.Hints.Session] = max(t.chains[r.Hints.Session], chains)
		}
	}
	defer b.mu.Unlock()
	th := t.find(r, b.suffix)
	th.line.talk.calls++
	th.line.talk.use(th.line, r.Now)
	b.account(th.line.talk)
	b.shrink()
	return th, nil
}

// Done ends a call. reply is what the model said, where it came to its end: the
// messages that a client would send back; id is the provider's,
// where a request may go on from it without sending what was before. The identities of
// the messages are returned.
func (b *Book) Done(th *Thread, reply []chat.Message, id string) (says []timeline.Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	talk := th.line.talk
	talk.calls--
	if len(reply) == 0 {
		return nil
	}
	steps := make([]step, len(reply))
	for i := range reply {
		steps[i] = step{bytes: bytesOf(reply[i].Raw), says: timeline.Says(&reply[i]), assistant: true}
		says = append(says, steps[i].says)
	}
	l := th.line
	th.replied = len(steps)
	if len(l.steps) != th.depth { // others went on meanwhile
		if l.goesOn(th.depth, steps) {
			return says // the client itself, with this very reply
		}
		l = l.copy(min(th.depth, len(l.steps)))
		th.line = l
		talk.use(l, talk.used)
	}
	l.steps, l.reply = append(l.steps, steps...), reply
	if id != "" {
		if l.replied == nil {
			l.replied = map[string]int{}
		}
		l.replied[id] = len(l.steps)
	}
	b.account(talk)
	return says
}

// Passed reports whether a later request has gone on from where this call ended: the
// conversation's end is that one's matter then.
func (b *Book) Passed(th *Thread) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(th.line.steps) > th.depth+th.replied
}

// Forget drops what is remembered of a conversation.
func (b *Book) Forget(tenant, conversation string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tenants[tenant]; t != nil && t.talks[conversation] != nil {
		b.drop(t, t.talks[conversation])
	}
}

func (b *Book) tenant(name string) *tenant {
	t := b.tenants[name]
	if t == nil {
		t = &tenant{talks: map[string]*talk{}, roots: map[timeline.Hash][]*talk{}, spaces: map[space][]*talk{}, read: map[space]bool{}, chains: map[string]int{}}
		b.tenants[name] = t
	}
	return t
}

// add takes a conversation in, unless it is there.
func (t *tenant) add(k *talk) {
	if t.talks[k.name] != nil || len(k.lines) == 0 {
		return
	}
	t.talks[k.name] = k
	t.spaces[k.space] = append(t.spaces[k.space], k)
	root := k.lines[0].steps[0].says
	t.roots[root] = append(t.roots[root], k)
}

// account counts what a conversation takes.
func (b *Book) account(k *talk) {
	size := 4
	for _, l := range k.lines {
		size += len(l.steps)
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
			if k.calls == 0 {
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
	delete(t.talks, k.name)
	t.spaces[k.space] = without(t.spaces[k.space], k)
	if len(t.spaces[k.space]) == 0 {
		delete(t.spaces, k.space)
	}
	delete(t.read, k.space)
	for _, l := range k.lines {
		root := l.steps[0].says
		if t.roots[root] = without(t.roots[root], k); len(t.roots[root]) == 0 {
			delete(t.roots, root)
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
	t.chains[r.Hints.Session]++
	return chainName(r.Hints.Session, t.chains[r.Hints.Session])
}

// chainName is the name of the nth conversation of a session.
func chainName(session string, n int) string {
	if n == 1 {
		return session
	}
	return session + "~" + strconv.Itoa(n)
}
