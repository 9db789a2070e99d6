package thread

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
)

// alignment is a stretch of a branch that a request contains: messages k to
// k+n of the request lead to end.
type alignment struct {
	branch *branch
	end    place
	k, n   int
}

// Limits of the search for the conversation of a request from which messages
// are missing.
const (
	maxGap     = 4 // messages that a client may put in place of those that it dropped
	maxSimilar = 8 // branches that are compared because their last message is in the request
	// alignWork and alignPerMessage limit the comparisons, which equal
	// messages could multiply.
	alignWork       = 256
	alignPerMessage = 4
)

// trimmed finds the conversation of a request whose client has dropped
// messages. The first messages of the request lead to p. All its other known
// messages must be consecutive and lead up to the end of the conversation. If
// the request has no session, only the beginning may be missing, and at least
// three messages must match.
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
			case before < a.k, before == a.k && (first > 0 || !named): // nothing is missing
			case !named && (exact < 3 || a.k > first && !own(r.Messages[first:a.k])):
			default:
				best = a
			}
		}
	}
	return best
}

// stretch counts the messages up to j, but not before first, that lead to end.
// exact counts those that are unchanged; Oriel has replaced the others.
// replies reports whether a reply is among them.
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

// own reports whether messages consist only of what Oriel inserted.
func own(messages []chat.Message) bool {
	for i := range messages {
		if len(messages[i].Parts) == 0 || slices.ContainsFunc(messages[i].Parts, func(p chat.Part) bool { return !p.Inserted() }) {
			return false
		}
	}
	return true
}

// leads reports whether the path to tip passes p.
func (t *tenant) leads(p, tip place, work *int) bool {
	for ; tip.trunk != nil && tip.trunk.at >= p.depth && *work > 0; tip.trunk = tip.trunk.from {
		*work--
		t.work++
	}
	return tip.trunk == p.trunk && tip.depth >= p.depth
}

// align places a request according to its alignment. Its first head messages
// are also the first of the history.
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
