package thread

import (
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// A namespace holds the histories of one namespace of a tenant as a tree: histories that
// begin alike share their beginning. Looking for a request takes one comparison a
// message, however many branches and conversations there are.
type namespace struct {
	key space
	// forks are the trunks by where they leave another one, or, with a nil trunk, by
	// the message that begins a history.
	forks map[fork]*trunk
	// ends are the branches by where they end, and by where their last request ended;
	// tails the same by what the message there says. The latest stand last, and of
	// each there are at most maxEnds.
	ends  map[place][]*branch
	tails map[timeline.Hash][]*branch
	// recent are the latest conversations, the latest last.
	recent []*conversation
	count  int // conversations
	pins   int // requests that are looked for in it
	formed int // trunks that have forms
	// read: what is stored of the session was read. forgot: some of it was forgotten
	// since then.
	read, forgot bool
}

// Bounds of what is kept at one place. What is beyond them is still found by the
// messages that follow there.
const (
	maxEnds   = 64
	maxRecent = 64
)

func newNamespace(key space) *namespace {
	return &namespace{key: key, forks: map[fork]*trunk{}, ends: map[place][]*branch{}, tails: map[timeline.Hash][]*branch{}}
}

// trunk is a run of messages that follow one another.
type trunk struct {
	from  *trunk // that it leaves; nil for one that begins a history
	at    int    // messages before its first
	steps []step
	// forms are the hashes of all stored forms of messages that came in several, by
	// depth.
	forms map[int][]timeline.Hash
	plans []*plan
	// used is the conversation that used it last. own is the one that made it, and
	// shared how far others went on it, as a depth.
	used, own *conversation
	shared    int
	holders   int // branches, marks and ids of replies that end in it, and its forks
}

// step is a message of a trunk.
type step struct {
	bytes     uint64 // a hash of those in which it came last; 0 for unknown
	identity  timeline.Hash
	assistant bool
	model     bool // a model's reply, as it came or as its client sent it back
}

// fork is where a trunk leaves another.
type fork struct {
	from     *trunk
	depth    int
	identity timeline.Hash
}

// place is a message of the tree together with all before it; the zero place is where
// histories begin.
type place struct {
	trunk *trunk
	depth int
}

// end is the depth of the last message.
func (t *trunk) end() int { return t.at + len(t.steps) }

// step is the message at a depth, from 1 on, which must be one of the trunk's own.
func (t *trunk) step(depth int) *step { return &t.steps[depth-t.at-1] }

// last is the message at a place, which is not the zero one.
func (p place) last() *step { return p.trunk.step(p.depth) }

// before is the place of the message before.
func (p place) before() place {
	if p.depth--; p.depth == p.trunk.at {
		p.trunk = p.trunk.from
	}
	return p
}

// up is the place at a smaller depth on the way to p.
func (p place) up(depth int) place {
	for p.trunk != nil && p.trunk.at >= depth {
		p.trunk = p.trunk.from
	}
	return place{p.trunk, depth}
}

// passes reports whether the way to p leads through q.
func (p place) passes(q place) bool { return q.depth <= p.depth && p.up(q.depth) == q }

// answered reports whether a model has spoken on the way to p. What a client puts into
// its mouth, as examples or as a greeting, many conversations have in common.
func (p place) answered() bool {
	for t := p.trunk; t != nil; t, p.depth = t.from, t.at {
		for i := p.depth - t.at - 1; i >= 0; i-- { // the end is where they are
			if t.steps[i].model {
				return true
			}
		}
	}
	return false
}

// says are the identities of the messages up to p, from behind the first from on.
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

// next is the place of a message under p; false where there is none that says this.
func (n *namespace) next(p place, identity timeline.Hash) (place, bool) {
	if p.trunk != nil && p.depth < p.trunk.end() && p.trunk.step(p.depth+1).identity == identity {
		return place{p.trunk, p.depth + 1}, true
	}
	t := n.forks[fork{p.trunk, p.depth, identity}]
	return place{t, p.depth + 1}, t != nil
}

// extend puts messages under a place, and returns that of the last of them. Those that
// are there already are not written again; what is known of them now is. It counts the
// messages that are new.
func (n *namespace) extend(p place, steps []step) (to place, added int) {
	for i := range steps {
		s := &steps[i]
		if next, ok := n.next(p, s.identity); ok {
			p = next
			known := p.last()
			known.model = known.model || s.model
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

// form notes the stored forms of the message at a place.
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

// release lets go of a place, and returns how many messages are forgotten with it.
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

// use notes that a conversation goes on at a place.
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

// register enters a branch at a place where it ends.
func (n *namespace) register(p place, b *branch) {
	if p.trunk == nil {
		return
	}
	n.ends[p] = latest(n.ends[p], b, maxEnds)
	says := p.last().identity
	n.tails[says] = latest(n.tails[says], b, maxEnds)
}

// unregister takes a branch away from a place.
func (n *namespace) unregister(p place, b *branch) {
	if p.trunk == nil {
		return
	}
	if n.ends[p] = without(n.ends[p], b); len(n.ends[p]) == 0 {
		delete(n.ends, p)
	}
	says := p.last().identity
	if n.tails[says] = without(n.tails[says], b); len(n.tails[says]) == 0 {
		delete(n.tails, says)
	}
}

// latest makes one the last of all, of which there are at most so many.
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
