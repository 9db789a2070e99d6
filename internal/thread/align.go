package thread

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
)

// alignment is a stretch of a branch that stands in a request: messages k up to k+n are
// those that lead to end.
type alignment struct {
	branch *branch
	end    place
	k, n   int
}

// Bounds of the search for the conversation of a request whose client has left something
// out.
const (
	maxGap     = 4 // messages that a client may put in the place of what it forgot
	maxSimilar = 8 // branches that are looked at whose last message stands in a request
	// alignWork and alignPerMessage bound the comparisons: equal messages could be
	// compared for ever.
	alignWork       = 256
	alignPerMessage = 4
)

// trimmed finds the conversation of a request whose client has left messages out. The first
// messages of the request lead to p. All other messages of it that are known must follow one
// another without a gap, up to where the conversation ended. A request without a session must
// have left out nothing but the beginning, and must have three messages in common with the
// conversation.
func (t *tenant) trimmed(n *namespace, r *Request, p place) *alignment {
	named := r.Hints.Session != ""
	first := p.depth
	work := alignWork + alignPerMessage*len(r.Messages)
	var best *alignment
	for j := len(r.Messages) - 1; j >= first && work > 0; j-- {
		if best != nil && best.n > j-first {
			break // no longer one ends here or before
		}
		work--
		t.work++
		looked := 0
		for _, b := range slices.Backward(n.tails[r.identities[j]]) {
			if looked++; looked > maxSimilar || work <= 0 {
				break
			}
			work--
			t.work++
			if b.sketch.Differs(&r.Sketch) || first > 0 && !t.leads(p, b.tip, &work) {
				continue
			}
			end := b.tip
			if end.last().identity != r.identities[j] {
				end = b.asked
			}
			m, exact, replies := t.stretch(r, end, j, first, &work)
			a := &alignment{branch: b, end: end, k: j - m + 1, n: m}
			before := end.depth - m // messages that the history has before it
			switch {
			case a.k > first+maxGap, exact < 2, best != nil && m <= best.n, !replies:
			case before < a.k, before == a.k && (first > 0 || !named): // nothing is left out
			case !named && (exact < 3 || a.k > first && !own(r.Messages[first:a.k])):
			default:
				best = a
			}
		}
	}
	return best
}

// stretch counts the messages up to j, and not before first, that lead to end, and of
// those the ones that are as they were: the others have been replaced by Oriel. It
// reports whether there is a reply among them.
func (t *tenant) stretch(r *Request, end place, j, first int, work *int) (m, exact int, replies bool) {
	for at := end; m <= j-first && at.depth > 0 && *work > 0; m++ {
		*work--
		t.work++
		switch s := at.last(); {
		case s.bytes == r.hashes[j-m], s.identity == r.identities[j-m]:
			exact++
			replies = replies || s.assistant
		case s.assistant || !r.wasReplaced(j-m):
			return m, exact, replies
		}
		at = at.before()
	}
	return m, exact, replies
}

// own reports whether messages are nothing but Oriel's.
func own(messages []chat.Message) bool {
	for i := range messages {
		if len(messages[i].Parts) == 0 || slices.ContainsFunc(messages[i].Parts, func(p chat.Part) bool { return !p.Inserted() }) {
			return false
		}
	}
	return true
}

// leads reports whether the way through p leads to a tip.
func (t *tenant) leads(p, tip place, work *int) bool {
	for ; tip.trunk != nil && tip.trunk.at >= p.depth && *work > 0; tip.trunk = tip.trunk.from {
		*work--
		t.work++
	}
	return tip.trunk == p.trunk && tip.depth >= p.depth
}

// align puts a request where its alignment says. Its first head messages are those of the
// history, too.
func (t *tenant) align(r *Request, head int, a *alignment) *Thread {
	before := a.end.depth - a.n
	note(a.end, r.hashes[a.k:a.k+a.n])
	b := t.goOn(a.branch, a.end, r, a.k+a.n, nil)
	kind := Trimmed
	if a.n == 0 {
		kind = Continued
	}
	th := b.thread(r, kind)
	th.Known, th.From, th.Head, th.Before, th.Identities = head+a.n, a.k, head, b.tip.up(before).identities(0), b.tip.identities(before)
	return th
}
