package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// Index finds the conversation that a request belongs to. It remembers the conversations
// of a store.
type Index struct {
	store timeline.Store
	limit int
	wait  time.Duration // for the end of the call that a request continues from
	// suffix makes the names of unnamed conversations unique.
	suffix func() string
	plans  func(context.Context, timeline.Notes, func(id string) bool) ([]plan.Stored, error)
	taken  func(tenant, name string) bool
	shared bool

	loads sync.WaitGroup
	size  atomic.Int64 // in messages, of all tenants

	mu      sync.Mutex // protects tenants
	tenants map[string]*tenant
}

// Options configures an Index.
type Options struct {
	// Messages is how many messages to remember, of all conversations
	// together; the least recently used are forgotten first. A reply that
	// nobody has sent back counts by its bytes and parts, and a conversation
	// counts as some messages. 0 means 524,288, which take about 30 MB.
	Messages int
	// Plans reads the stored plans of a conversation. nil means that none are
	// read.
	Plans func(ctx context.Context, n timeline.Notes, known func(id string) bool) ([]plan.Stored, error)
	// Wait is the longest that a request waits for the end of the call that it
	// continues from. 0 means 50 ms.
	Wait time.Duration
	// Suffix returns the end of the name of a conversation that its client
	// does not name. It must differ between processes. nil means a random
	// suffix.
	Suffix func() string
	// Taken, if set, reports whether a conversation of something else than calls has a name,
	// although it was free when the names in use were read. It must return quickly.
	Taken func(tenant, name string) bool
	// Shared reports that other processes add to the store all the time. What is not in
	// memory is then looked for in the store as it is now.
	Shared bool
}

// NewIndex returns an index of the conversations in store.
func NewIndex(store timeline.Store, o Options) *Index {
	b := &Index{store: store, limit: cmp.Or(o.Messages, 1<<19), wait: cmp.Or(o.Wait, 50*time.Millisecond),
		suffix: o.Suffix, plans: o.Plans, taken: o.Taken, shared: o.Shared, tenants: map[string]*tenant{}}
	if b.suffix == nil {
		b.suffix = randomSuffix
	}
	return b
}

// tenant returns what is remembered of a tenant.
func (b *Index) tenant(name string) *tenant {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tenants[name]
	if t == nil {
		t = newTenant(b, name)
		b.tenants[name] = t
	}
	return t
}

// Kind is how a request relates to what was known.
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
	// Stay reports that the conversation's head stays where it is.
	Stay bool
	// Again reports that the conversation's last request is sent again although it is not
	// Retried: its client has dropped messages.
	Again bool
	// Moves reports that the client moves messages of its own along with its
	// newest question: the next request will not have them at the same place.
	Moves bool
	// Known is how many of the request's messages were known; Answered reports
	// whether a model's reply is among them.
	Known    int
	Answered bool
	// Elsewhere reports that the request has replies that the Index did not know when it
	// came, in a store that is shared: another process had those calls.
	Elsewhere bool
	// Homeless reports that the conversation was begun because the store could not be
	// asked, and may be part of another one; see Index.FindHome.
	Homeless bool
	// From is the first message of the request from which on all follow one
	// another in the history; Before is what the history has before it. Of the
	// messages before From, the first Head are also the first of the history;
	// the client put the others in place of what it dropped.
	From, Head int
	Before     []timeline.Hash
	// Identities are the identities of the messages from From on.
	Identities []timeline.Hash
	// Echoes are the indices of the messages that are the model's replies, where
	// they are not known yet: the last one in the client's words, or several
	// on another path than before.
	Echoes []int
	// Was is not nil if the request has messages of the conversation on another
	// path than before. It maps their depths before to those on this path,
	// after the first Known messages.
	Was map[int]int
	// Past is the place up to which the store has what this request continues from; the zero
	// place means the conversation's head.
	Past timeline.Place
	// Audience names the model and format whose plans apply. Plans of other audiences on
	// the same history are separate.
	Audience string
	// space, sketch and stored belong to the conversation; see Record.
	space  space
	sketch PromptSketch
	stored bool

	of      *conversation // never changes; nil if it is not known
	at      place         // of the last message of the request
	branch  *branch       // the tenant's mutex protects it, replied and by
	replied int           // messages of the reply
	common  int           // messages up to Past that are on the path of the request
	sums    bool          // it asks for a summary of the history

	// read is what Find has read of the conversation for this request; nil: nothing.
	read *timeline.Snapshot
}

// Depth returns how many messages the history has up to the end of the
// request.
func (t *Thread) Depth() int { return t.at.depth }

// Has reports whether the message at a depth of the history, from 1 on, has an identity. The
// zero identity is that of any message.
func (t *Thread) Has(depth int, identity timeline.Hash) bool {
	if depth < 1 || depth > t.Depth() {
		return false
	}
	if identity == (timeline.Hash{}) {
		return true
	}
	i := depth - 1
	if i < len(t.Before) {
		return t.Before[i] == identity
	}
	i -= len(t.Before)
	return i < len(t.Identities) && t.Identities[i] == identity
}

// Here returns the depth on the path of the request of the message that had this depth when
// the request came, and false if the request does not have it.
func (t *Thread) Here(depth int) (int, bool) {
	known := len(t.Before) + t.Known - t.Head
	switch {
	case depth <= min(known, t.common):
		return depth, true
	case t.Was != nil:
		here, ok := t.Was[depth]
		return here, ok
	case depth <= known || t.Kind == Branched || t.Kind == Continued:
		return 0, false
	}
	return depth, depth < t.Depth()
}

// Path returns a hash of the identities of the first depth messages of the history, and false
// if the history is shorter. It is the same in every process.
func (t *Thread) Path(depth int) (timeline.Hash, bool) {
	before := min(depth, len(t.Before))
	if depth < 0 || depth-before > len(t.Identities) {
		return timeline.Hash{}, false
	}
	var all []byte
	for _, list := range [][]timeline.Hash{t.Before[:before], t.Identities[:depth-before]} {
		for i := range list {
			all = append(all, list[i][:]...)
		}
	}
	return timeline.HashOf(all), true
}

// MaxMessages is the most messages of a request whose conversation is looked
// for.
const MaxMessages = 1 << 16

// ErrTooMany: a request has more than MaxMessages.
var ErrTooMany = fmt.Errorf("the request has more than %d messages", MaxMessages)

// Find returns the conversation that a request belongs to, and remembers the
// request. The caller must call Done when the call has ended, and Stored when
// it is written or never will be. What Find reads from the store is
// remembered, even if it takes longer than this call can wait.
func (b *Index) Find(ctx context.Context, r *Request) (*Thread, error) {
	if len(r.Messages) == 0 {
		return nil, errors.New("find the conversation of a request: it has no messages")
	}
	if len(r.Messages) > MaxMessages {
		return nil, fmt.Errorf("find the conversation of a request: %w", ErrTooMany)
	}
	r.prepare()
	t := b.tenant(r.Tenant)
	th, err := t.locate(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("find the conversation of a request: %w", err)
	}
	b.shrink()
	return th, nil
}

// Free forgets a conversation that is not stored, so that something else can have its name. It
// returns false if a call of it has begun and is not written yet.
func (b *Index) Free(tenant, conversation string) bool {
	t := b.tenant(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.conversations[conversation]
	if k != nil && k.busy() {
		return false
	}
	if k != nil {
		t.drop(k)
	}
	return true
}

// locate is the part of Find under the tenant's lock.
func (t *tenant) locate(ctx context.Context, r *Request) (*Thread, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if home := t.homes[r.Hints.Session]; home != "" { // the client was told this name while the store was away
		r.Hints.Session = home
	}
	n := t.namespace(r.Hints.space())
	n.pins++
	defer t.unpin(n)
	p := t.byChangedReply(n, r, t.await(ctx, n, r))
	heard := p.depth
	var read map[string]*timeline.Snapshot
	if !r.Offline && !t.knows(n, r, p) {
		var err error
		if read, err = t.fetch(ctx, n, r); err != nil {
			return nil, err
		}
		p = t.byChangedReply(n, r, t.walk(n, r))
	}
	p = t.adopt(n, r, p)
	th := t.find(n, r, p)
	th.Elsewhere = t.index.shared &&
		slices.ContainsFunc(r.Messages[heard:], func(m chat.Message) bool { return m.Role == chat.Assistant })
	th.read = read[th.Conversation]
	k := th.of
	if r.Offline && th.Kind == New {
		k.assumed, k.homeless = true, r.Hints.Session == ""
	}
	th.Homeless = k.assumed && k.homeless
	k.calls++
	k.held++
	if th.sums {
		k.summing++
	}
	k.used = r.Now
	t.busy(k)
	th.at.hold()
	t.add(k, th.branch)
	n.recent = latest(n.recent, k, maxRecent)
	t.account(k)
	return th, nil
}

// await returns how far a request is known. If the request continues from a
// call that has not ended, await waits for its end: a client has the end of a
// reply a moment before the Index does.
func (t *tenant) await(ctx context.Context, n *namespace, r *Request) place {
	p := t.walk(n, r)
	if !t.early(n, r, p) {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, t.index.wait)
	defer cancel()
	for t.early(n, r, p) && ctx.Err() == nil {
		ended := t.ended
		t.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		t.mu.Lock()
		p = t.walk(n, r)
	}
	return p
}

// early reports whether a request continues from a reply that is not known
// yet.
func (t *tenant) early(n *namespace, r *Request, p place) bool {
	if r.Previous != "" {
		if t.replies[r.Previous] != nil {
			return false
		}
		for _, k := range n.recent {
			if k.calls > 0 {
				return true
			}
		}
		return false
	}
	if p.depth == len(r.Messages) {
		return false
	}
	if r.Messages[p.depth].Role == chat.Assistant {
		for _, b := range n.ends[p] {
			if b.of.calls > 0 && b.tip == p {
				return true
			}
		}
	}
	return t.earlyQuoted(n, r, p) || t.earlyRetold(n, r, p)
}

// Done ends a call. reply is the model's complete reply, as the messages that
// a client would send back. id is the provider's id of the reply, for requests
// that continue from it without sending what came before. Done returns the
// identities of the messages.
func (b *Index) Done(th *Thread, reply []chat.Message, id string) (identities []timeline.Hash) {
	steps := make([]step, len(reply))
	for i := range reply {
		m := &reply[i]
		says := timeline.Identity(m)
		steps[i] = step{bytes: m.Summed(), identity: says, core: core(m, says), assistant: true, model: true,
			thought: thought(m)}
		identities = append(identities, says)
	}
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	k.calls--
	if len(reply) > 0 {
		t.answer(th, reply, steps, id)
	}
	if th.sums {
		k.summing--
		t.noteSummary(k, reply)
	}
	t.grow(-k.space.release(th.at))
	t.busy(k)
	t.account(k)
	close(t.ended)
	t.ended = make(chan struct{})
	return identities
}

// answer adds a reply after the request that it answers.
func (t *tenant) answer(th *Thread, reply []chat.Message, steps []step, id string) {
	k := th.of
	th.replied = len(steps)
	tip, added := k.space.extend(th.at, steps)
	t.grow(added)
	b := th.branch
	switch {
	case b.tip == th.at:
		t.move(b, th.at, tip, reply)
		t.add(k, b)
	case b.tip.passes(tip): // the client has already continued with this reply
	default: // others have continued meanwhile
		b = b.clone()
		th.branch = b
		t.move(b, th.at, tip, reply)
		t.add(k, b)
	}
	tip.use(k)
	if id != "" {
		t.remember(id, b, tip)
	}
}

// Stored reports that a call is written, so that its conversation can be read
// from the store again or, with ok false, that it never will be.
func (b *Index) Stored(th *Thread, ok bool) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := th.of
	k.held--
	k.stored = k.stored || ok
	t.busy(k)
	t.leave(k)
}

// Passed reports whether a later request has continued from the end of this
// call. That request then moves the conversation's head.
func (b *Index) Passed(th *Thread) bool {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	return th.branch.tip.depth > th.at.depth+th.replied
}
