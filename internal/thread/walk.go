package thread

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// walk returns how far a request is known in a namespace. The tenant's lock is
// held before and after; what must be computed of messages is computed without
// it.
func (t *tenant) walk(n *namespace, r *Request) (p place) {
	version := t.removals
	ahead := 4
	for {
		if version != t.removals { // p may be gone
			p, version = place{}, t.removals
		}
		var need func()
		if p, need = t.descend(n, r, p, ahead); need == nil {
			// What is unknown will be written, so its identities are needed.
			from := r.unidentified(p.depth)
			if from == len(r.Messages) {
				return p
			}
			need = func() { r.identify(from, len(r.Messages)) }
		}
		t.mu.Unlock()
		need()
		t.mu.Lock()
		ahead *= 2
	}
}

// descend follows a request from a place for as long as nothing has to be
// computed, and returns in need what does. ahead is how many identities are
// computed at a time.
func (t *tenant) descend(n *namespace, r *Request, from place, ahead int) (p place, need func()) {
	p = from
	for i := p.depth; i < len(r.Messages); i++ {
		t.work++
		if p.trunk != nil && i < p.trunk.end() && p.trunk.step(i+1).bytes == r.hashes[i] {
			p.depth++
			continue
		}
		if r.identities[i] == (timeline.Hash{}) {
			return p, func() { r.identify(i, i+ahead) }
		}
		next, ok := n.next(p, r.identities[i])
		if !ok {
			if next, ok, need = n.alike(p, r, i); need != nil {
				return p, need
			}
		}
		if !ok {
			return p, nil
		}
		p = next
	}
	return p, nil
}

// alike returns the place of message i after p if the message is known in
// another form: by the identity of an earlier version, by a stored form, as
// the reply of a call that its client sends back, or by what Oriel put in its
// place.
func (n *namespace) alike(p place, r *Request, i int) (next place, ok bool, need func()) {
	if bare, some := r.bare[i]; some {
		if next, ok = n.next(p, bare); ok {
			return next, true, nil
		}
	}
	if texts(&r.Messages[i]) > 1 {
		apart, known := r.apart[i]
		if !known {
			return p, false, func() { r.apart[i] = timeline.LegacyIdentity(&r.Messages[i]) }
		}
		if next, ok = n.next(p, apart); ok {
			return next, true, nil
		}
	}
	if form, known := r.forms[i]; known {
		if p.trunk != nil && i < p.trunk.end() && slices.Contains(p.trunk.forms[i+1], form) {
			return place{p.trunk, i + 1}, true, nil
		}
		if t := n.forks[fork{p.trunk, i, form}]; t != nil {
			return place{t, i + 1}, true, nil
		}
	} else if n.formed > 0 {
		return p, false, func() { r.forms[i] = timeline.HashOf(r.Messages[i].Raw) }
	}
	for _, b := range n.replies(p) {
		e := echo{&b.reply[i-b.asked.depth], i}
		same, known := r.same[e]
		if !known {
			return p, false, func() { r.same[e] = wire.SameReply(e.reply, &r.Messages[i]) }
		}
		if same {
			return b.tip.up(i + 1), true, nil
		}
	}
	if p.trunk == nil || i >= p.trunk.end() || p.trunk.step(i+1).assistant {
		return p, false, nil
	}
	if _, known := r.replaced[i]; !known {
		return p, false, func() { r.wasReplaced(i) }
	}
	return place{p.trunk, i + 1}, r.replaced[i], nil
}

// texts counts the texts of a message.
func texts(m *chat.Message) (n int) {
	for i := range m.Parts {
		if m.Parts[i].Kind == chat.Text {
			n++
		}
	}
	return n
}

// Limits of the search for a reply that comes back in other words: messages of
// the reply before it, and replies to the same request.
const (
	maxItems   = 8
	maxReplies = 4
)

// replies returns the branches with an open reply of which a message is
// directly after p.
func (n *namespace) replies(p place) []*branch {
	var out []*branch
	for d := p.depth; d > 0 && d > p.depth-maxItems; d-- {
		looked := 0
		for _, b := range slices.Backward(n.ends[p.up(d)]) {
			if looked++; looked > maxReplies {
				break
			}
			if b.reply != nil && b.asked.depth == d && p.depth < b.tip.depth && b.tip.passes(p) {
				out = append(out, b)
			}
		}
	}
	return out
}
