package thread

import (
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// A namespace holds the histories of one namespace of a tenant as a tree:
// histories that begin alike share their beginning. Finding a request takes
// one comparison per message, however many branches and conversations there
// are.
type namespace struct {
	key space
	// forks maps the place where a trunk leaves another to the trunk or, with
	// a nil trunk, the first message of a history.
	forks map[fork]*trunk
	// ends maps places to the branches that end there or whose last request
	// did; tails does the same by the core of the message there. The
	// latest come last, and each list has at most maxEnds.
	ends  map[place][]*branch
	tails map[uint64][]*branch
	// recent are the latest conversations, the latest last.
	recent []*conversation
	// summed are the conversations whose agents have asked for a summary, the latest last.
	summed []*conversation
	count  int // number of conversations
	pins   int // number of requests that use it now
	formed int // number of trunks with forms
	// read reports that the stored conversations of the session were read,
	// forgot that some of those are no longer in memory.
	read, forgot bool
}

// Limits of what is kept at one place. What exceeds them can still be found by
// later messages.
const (
	maxEnds   = 64
	maxRecent = 64
)

func newNamespace(key space) *namespace {
	return &namespace{key: key, forks: map[fork]*trunk{}, ends: map[place][]*branch{}, tails: map[uint64][]*branch{}}
}

// trunk is a run of consecutive messages.
type trunk struct {
	from  *trunk // the trunk that it leaves; nil if it begins a history
	at    int    // number of messages before its first
	steps []step
	// forms holds, by depth, the hashes of all stored forms of messages that
	// arrived in several.
	forms map[int][]timeline.Hash
	plans []*anchor
	// used is the conversation that used it last. own is the one that created
	// it, and shared the depth that others reached on it.
	used, own *conversation
	shared    int
	holders   int // branches, plans and ids of replies that end in it, and its forks
}

// step is a message of a trunk.
type step struct {
	bytes    uint64 // hash of the bytes in which it last arrived; 0 if unknown
	identity timeline.Hash
	// core is the beginning of the identity that the message has without the white space
	// around its texts, which clients drop and add; of a stored message, of its identity.
	core      uint64
	assistant bool
	model     bool // a model's reply, as received or as its client sent it back
	thought   bool // reasoning alone, which clients drop; not known after a restart
	// echoed reports that it is a model's reply to a history like this one, which was not
	// recognised: not a reply here, but one by which this history may be recognised.
	echoed bool
}

// says reports whether the step says what message i of a request says.
func (s *step) says(r *Request, i int) bool {
	if s.identity == r.identities[i] || s.core == r.cores[i] {
		return true
	}
	bare, ok := r.bareCores[i]
	return ok && s.core == bare
}

// like returns the branches whose last message, or that of whose last request, says what
// message i of a request says, the latest last.
func (n *namespace) like(r *Request, i int) []*branch {
	found := n.tails[r.cores[i]]
	if same := coreOf(r.identities[i]); same != r.cores[i] {
		found = slices.Concat(found, n.tails[same])
	}
	if bare, ok := r.bareCores[i]; ok {
		found = slices.Concat(found, n.tails[bare])
	}
	return found
}

// fork is where a trunk leaves another.
type fork struct {
	from     *trunk
	depth    int
	identity timeline.Hash
}

// place is a message of the tree together with all before it. The zero place
// is where histories begin.
type place struct {
	trunk *trunk
	depth int
}

// end returns the depth of the last message.
func (t *trunk) end() int { return t.at + len(t.steps) }

// step returns the message at a depth, counted from 1, which must be one of
// the trunk's own.
func (t *trunk) step(depth int) *step { return &t.steps[depth-t.at-1] }

// last returns the message at a place other than the zero place.
func (p place) last() *step { return p.trunk.step(p.depth) }

// before returns the place of the previous message.
func (p place) before() place {
	if p.depth--; p.depth == p.trunk.at {
		p.trunk = p.trunk.from
	}
	return p
}

// up returns the place at a smaller depth on the path to p.
func (p place) up(depth int) place {
	for p.trunk != nil && p.trunk.at >= depth {
		p.trunk = p.trunk.from
	}
	return place{p.trunk, depth}
}

// passes reports whether the path to p passes q.
func (p place) passes(q place) bool { return q.depth <= p.depth && p.up(q.depth) == q }

// answered reports whether a model has replied on the path to p. Replies that
// clients invent, as examples or as a greeting, are common to many
// conversations and do not count.
func (p place) answered() bool {
	for t := p.trunk; t != nil; t, p.depth = t.from, t.at {
		for i := p.depth - t.at - 1; i >= 0; i-- { // from the end, where they usually are
			if t.steps[i].model {
				return true
			}
		}
	}
	return false
}

// identities returns the identities of the messages up to p, after the first
// from.
func (p place) identities(from int) []timeline.Hash {
	out := make([]timeline.Hash, p.depth-from)
	for p.depth > from {
		for ; p.depth > max(from, p.trunk.at); p.depth-- {
			out[p.depth-from-1] = p.last().identity
		}
		p.trunk = p.trunk.from
	}
	return out
}

// next returns the place of the message with this identity after p, or false
// if there is none.
func (n *namespace) next(p place, identity timeline.Hash) (place, bool) {
	if p.trunk != nil && p.depth < p.trunk.end() && p.trunk.step(p.depth+1).identity == identity {
		return place{p.trunk, p.depth + 1}, true
	}
	t := n.forks[fork{p.trunk, p.depth, identity}]
	return place{t, p.depth + 1}, t != nil
}

// extend adds messages after a place and returns the place of the last one. It
// does not add messages that exist, but updates what is known of them. added
// counts the new ones.
func (n *namespace) extend(p place, steps []step) (to place, added int) {
	for i := range steps {
		s := &steps[i]
		if next, ok := n.next(p, s.identity); ok {
			p = next
			known := p.last()
			known.model, known.echoed = known.model || s.model, known.echoed || s.echoed
			if s.bytes != 0 {
				known.bytes = s.bytes
			}
			continue
		}
		rest := steps[i:]
		t := p.trunk
		if t == nil || p.depth < t.end() {
			t = &trunk{from: p.trunk, at: p.depth}
			n.forks[fork{p.trunk, p.depth, s.identity}] = t
			if p.trunk != nil {
				p.trunk.holders++
			}
		}
		t.steps = append(t.steps, rest...)
		return place{t, t.end()}, len(rest)
	}
	return p, 0
}

// form records the stored forms of the message at a place.
func (n *namespace) form(p place, forms []timeline.Hash) {
	t := p.trunk
	if t.forms == nil {
		t.forms = map[int][]timeline.Hash{}
		n.formed++
	}
	t.forms[p.depth] = forms
	if p.depth == t.at+1 {
		for _, f := range forms {
			n.forks[fork{t.from, t.at, f}] = t
		}
	}
}

// hold keeps a place until it is released.
func (p place) hold() {
	if p.trunk != nil {
		p.trunk.holders++
	}
}

// release releases a place and returns how many messages are forgotten with
// it.
func (n *namespace) release(p place) (removed int) {
	for t := p.trunk; t != nil; t = t.from {
		if t.holders--; t.holders > 0 {
			return removed
		}
		removed += len(t.steps)
		delete(n.forks, fork{t.from, t.at, t.steps[0].identity})
		if t.forms != nil {
			n.formed--
			for _, f := range t.forms[t.at+1] {
				if key := (fork{t.from, t.at, f}); n.forks[key] == t {
					delete(n.forks, key)
				}
			}
		}
	}
	return removed
}

// use records that a conversation continues at a place.
func (p place) use(k *conversation) {
	for t := p.trunk; t != nil; t, p.depth = t.from, t.at {
		switch {
		case t.own == nil || t.own.dropped:
			t.own = k
		case t.own != k:
			t.shared = max(t.shared, p.depth)
		}
		t.used = k
	}
}

// shared reports whether several conversations have the message at a place.
func (p place) shared() bool { return p.trunk != nil && p.trunk.shared >= p.depth }

// register adds a branch to the place where it ends.
func (n *namespace) register(p place, b *branch) {
	if p.trunk == nil {
		return
	}
	n.ends[p] = latest(n.ends[p], b, maxEnds)
	says := p.last().core
	n.tails[says] = latest(n.tails[says], b, maxEnds)
}

// unregister removes a branch from a place.
func (n *namespace) unregister(p place, b *branch) {
	if p.trunk == nil {
		return
	}
	if n.ends[p] = without(n.ends[p], b); len(n.ends[p]) == 0 {
		delete(n.ends, p)
	}
	says := p.last().core
	if n.tails[says] = without(n.tails[says], b); len(n.tails[says]) == 0 {
		delete(n.tails, says)
	}
}

// latest moves one to the end of all, or appends it, and keeps at most most
// elements.
func latest[T comparable](all []T, one T, most int) []T {
	all = append(without(all, one), one)
	if len(all) > most {
		all = slices.Delete(all, 0, len(all)-most)
	}
	return all
}

func without[T comparable](all []T, one T) []T {
	return slices.DeleteFunc(all, func(o T) bool { return o == one })
}
