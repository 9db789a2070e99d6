package thread

import "github.com/oriel-context/oriel/chat"

// firstReply is the least size, in bytes, of a first reply that no other
// conversation has by chance; greetings are shorter. After common messages
// leastCommon suffices.
const firstReply = 256

// reworded finds the branch whose newest question a request has in other
// words, followed by the model's reply to it: front-ends wrap the newest
// question in documents and send it without them from the next call on. It
// also returns the place before the question. p is how far the request is
// known: up to the question, or including it if another conversation has it
// too. A reply that several conversations have at this place identifies none
// of them.
func (t *tenant) reworded(n *namespace, r *Request, p place) (*branch, place) {
	if b := t.rewordedAfter(n, r, p); b != nil || p.depth == 0 {
		return b, p
	}
	p = p.before()
	return t.rewordedAfter(n, r, p), p
}

func (t *tenant) rewordedAfter(n *namespace, r *Request, p place) (found *branch) {
	reply := p.depth + 1
	if reply >= len(r.Messages) || r.Messages[p.depth].Role == chat.Assistant || r.Messages[reply].Role != chat.Assistant {
		return nil
	}
	least := leastCommon
	if p.depth == 0 {
		least = firstReply
	}
	if len(textOf(&r.Messages[reply])) < least {
		return nil
	}
	for _, b := range n.tails[r.identities[reply]] {
		t.work++
		if b.asked.depth != reply || b.tip.depth != reply+1 || b.asked.before() != p || b.tip.last().identity != r.identities[reply] || b.sketch.Differs(&r.Sketch) {
			continue
		}
		if found != nil && found.of != b.of {
			return nil
		}
		found = b
	}
	return found
}

// rejoin makes a request another branch of b's conversation. They share the
// messages up to p, and then have the question in different words.
func (t *tenant) rejoin(r *Request, b *branch, p place) *Thread {
	note(p, r.hashes[:p.depth])
	b = t.goOn(b, p, r, p.depth, []int{p.depth + 1})
	th := b.thread(r, Branched)
	th.Known, th.Answered, th.Identities = p.depth, true, b.tip.identities(0)
	return th
}
