package thread

import (
	"container/list"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/oriel-context/oriel/timeline"
)

// tenant is what is remembered of a tenant. No lock spans several tenants.
type tenant struct {
	index *Index
	name  string
	size  atomic.Int64
	drops atomic.Int64 // number of conversations that were forgotten

	listing sync.Mutex // protects listed
	listed  *conversationList

	mu sync.Mutex // protects the fields below

	conversations map[string]*conversation
	spaces        map[space]*namespace
	// begins maps the identity of a history's first message to namespaces, the
	// latest last.
	begins map[timeline.Hash][]*namespace
	// sessions maps names to the sessions whose stored conversations were
	// read.
	sessions map[string]*session
	replies  map[string]*replied // by the provider's ids
	// idle lists the conversations that may be forgotten, the latest last.
	idle    list.List
	fetches map[fetchKey]*fetching
	ended   chan struct{} // closed when the next call ends
	seq     int64         // last sequence number of a plan
	// homes maps the names of homeless conversations to those that their calls belong to.
	homes map[string]string
	// removals counts removals from trees: places found before may be gone.
	removals int
	// work counts comparisons, for tests.
	work int
}

// session holds the names of a session's conversations.
type session struct {
	taken map[string]bool // names that are stored
	next  int             // the first number that may be free
	count int             // number of remembered conversations
}

// replied is where a reply ended.
type replied struct {
	branch *branch
	at     place
}

func newTenant(b *Index, name string) *tenant {
	return &tenant{
		index: b, name: name, conversations: map[string]*conversation{}, spaces: map[space]*namespace{},
		begins: map[timeline.Hash][]*namespace{}, sessions: map[string]*session{},
		replies: map[string]*replied{}, fetches: map[fetchKey]*fetching{}, ended: make(chan struct{}),
	}
}

func (t *tenant) namespace(key space) *namespace {
	n := t.spaces[key]
	if n == nil {
		n = newNamespace(key)
		t.spaces[key] = n
	}
	return n
}

// unpin ends the use of a namespace by a request.
func (t *tenant) unpin(n *namespace) {
	n.pins--
	t.tidy(n)
}

// tidy forgets an empty namespace.
func (t *tenant) tidy(n *namespace) {
	if n.count == 0 && n.pins == 0 {
		delete(t.spaces, n.key)
	}
}

func (t *tenant) session(name string) *session {
	s := t.sessions[name]
	if s == nil {
		s = &session{}
		t.sessions[name] = s
	}
	return s
}

// maxBegins is how many namespaces are remembered per first message.
const maxBegins = 8

// enter adds a conversation whose branches are in its namespace.
func (t *tenant) enter(k *conversation) {
	t.conversations[k.name] = k
	k.space.count++
	k.space.recent = latest(k.space.recent, k, maxRecent)
	first := k.branches[0].tip.up(1).last().identity
	t.begins[first] = latest(t.begins[first], k.space, maxBegins)
	if k.session != "" {
		t.session(k.session).count++
	}
	t.busy(k)
	t.account(k)
}

// busy updates whether a conversation may be forgotten.
func (t *tenant) busy(k *conversation) {
	switch {
	case k.busy() && k.idle != nil:
		t.idle.Remove(k.idle)
		k.idle = nil
	case !k.busy() && k.idle == nil:
		k.idle = t.idle.PushBack(k)
	}
}

// maxIDs is how many ids of replies are remembered.
const maxIDs = 1 << 16

// remember stores the provider's id of a reply.
func (t *tenant) remember(id string, b *branch, at place) {
	if len(t.replies) >= maxIDs {
		for old := range t.replies { // any one will do
			t.unremember(old)
			break
		}
	}
	t.unremember(id)
	at.hold()
	t.replies[id] = &replied{b, at}
	b.of.replies = append(b.of.replies, id)
}

func (t *tenant) unremember(id string) {
	if r := t.replies[id]; r != nil {
		delete(t.replies, id)
		t.grow(-r.branch.of.space.release(r.at))
	}
}

// grow adds to the number of remembered messages.
func (t *tenant) grow(messages int) {
	if messages < 0 {
		t.removals++
	}
	t.size.Add(int64(messages))
	t.index.size.Add(int64(messages))
}

// The sizes of what an Index keeps of a conversation besides its messages. The
// unit is the size of a message, stepBytes.
const (
	stepBytes         = 48
	conversationSteps = 12
	branchSteps       = 8
)

// account updates the size of a conversation besides its messages.
func (t *tenant) account(k *conversation) {
	size := conversationSteps + branchSteps*len(k.branches) + 2*len(k.plans) + 2*len(k.replies) + len(k.summary)/2
	for _, b := range k.branches {
		size += b.takes / stepBytes
	}
	t.size.Add(int64(size - k.size))
	t.index.size.Add(int64(size - k.size))
	k.size = size
}

// shrink forgets conversations until the size is within the limit or all
// others are in use. It forgets the least recently used conversation of the
// largest tenant first.
func (b *Index) shrink() {
	for b.size.Load() > int64(b.limit) {
		if t := b.largest(); t == nil || !t.forget() {
			return
		}
	}
}

func (b *Index) largest() (largest *tenant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.tenants {
		if largest == nil || t.size.Load() > largest.size.Load() {
			largest = t
		}
	}
	return largest
}

// forget forgets one conversation, or returns false if all are in use.
func (t *tenant) forget() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	oldest := t.idle.Front()
	if oldest != nil {
		t.drop(oldest.Value.(*conversation))
	}
	return oldest != nil
}

func (t *tenant) drop(k *conversation) {
	t.work++
	t.drops.Add(1)
	n := k.space
	delete(t.conversations, k.name)
	t.idle.Remove(k.idle)
	k.idle, k.dropped = nil, true
	t.removeBranches(k)
	t.size.Add(-int64(k.size))
	t.index.size.Add(-int64(k.size))
	n.recent, n.summed = without(n.recent, k), without(n.summed, k)
	n.forgot = true
	n.count--
	t.tidy(n)
	if s := t.sessions[k.session]; s != nil {
		if s.count--; s.count <= 0 {
			delete(t.sessions, k.session)
		}
	}
}

// removeBranches removes everything of a conversation from its tree.
func (t *tenant) removeBranches(k *conversation) {
	n := k.space
	for _, id := range k.replies {
		if r := t.replies[id]; r != nil && r.branch.of == k {
			t.unremember(id)
		}
	}
	for _, m := range k.plans {
		t.removePlan(m)
	}
	for _, b := range k.branches {
		first := b.tip.up(1).last().identity
		t.move(b, place{}, place{}, nil)
		if n.forks[fork{identity: first}] == nil {
			if t.begins[first] = without(t.begins[first], n); len(t.begins[first]) == 0 {
				delete(t.begins, first)
			}
		}
	}
	k.plans, k.replies, k.branches = nil, nil, nil
}

// newName returns the name of a new conversation. If the client gives none, it
// consists of the time at which the conversation began, so that people find
// it, and a unique suffix.
func (t *tenant) newName(r *Request) string {
	if r.Hints.Session == "" {
		for {
			name := r.Now.UTC().Format("20060102-150405-") + t.index.suffix()
			if t.conversations[name] == nil {
				return name
			}
		}
	}
	s := t.session(r.Hints.Session)
	for s.next = max(s.next, 1); ; s.next++ {
		t.work++
		if name := chainName(r.Hints.Session, s.next); t.conversations[name] == nil && !s.taken[name] &&
			(t.index.taken == nil || !t.index.taken(t.name, name)) {
			return name
		}
	}
}

// chainName returns the name of the nth conversation of a session.
func chainName(session string, n int) string {
	if n == 1 {
		return session
	}
	return session + "~" + strconv.Itoa(n)
}
