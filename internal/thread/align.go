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
	linked int // messages of it with ids of tool calls
	// guess reports that only replies identify it: another conversation may not have them.
	guess bool
}

// Limits of the search for the conversation of a request from which messages
// are missing.
const (
	maxGap     = 4 // messages that a client may put in place of those that it dropped
	leastRow   = 5 // messages behind a summary that no other conversation ends with
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
// three messages must match. If two of them have ids of tool calls, or if the
// replies among them are several and long, and only this conversation has them,
// the client may have put something else in its place. A summary may be there, too, before
// a long row of messages that only this conversation ends with.
func (t *tenant) trimmed(n *namespace, r *Request, p place) *alignment {
	named := r.Hints.Session != ""
	first := p.depth
	work := alignWork + alignPerMessage*len(r.Messages)
	var best *alignment
	var guessed *conversation   // one that has the replies
	several := false            // others have them, too
	summaries := map[int]bool{} // whether what is before a message begins with a summary
	summarised := func(k int) bool {
		if _, known := summaries[k]; !known {
			summaries[k] = summarises(r.Messages[first:k])
		}
		return summaries[k]
	}
	for j := len(r.Messages) - 1; j >= first && work > 0; j-- {
		if best != nil && best.n > j-first {
			break // no longer one ends here or before
		}
		work--
		t.work++
		looked := 0
		for _, b := range slices.Backward(n.like(r, j)) {
			if looked++; looked > maxSimilar || work <= 0 {
				break
			}
			work--
			t.work++
			if b.sketch.Differs(&r.Sketch) || first > 0 && !t.leads(p, b.tip, &work) {
				continue
			}
			end := b.tip
			if !end.last().says(r, j) {
				end = b.asked
			}
			m, exact, said := t.stretch(r, end, j, first, &work)
			a := &alignment{branch: b, end: end, k: j - m + 1, n: m}
			if a.k > first+maxGap {
				continue
			}
			if said.called || said.size > 0 && summarised(a.k) {
				a.linked = r.links(a.k, j+1)
			}
			sums := a.linked > 0 && summarised(a.k)
			known := named || a.linked >= leastLinked || sums
			strange := !named && !sums && first == 0 && a.k > 0 && r.calls(a.k, j+1) < leastLinked
			before := end.depth - m // messages that the history has before it
			guess := !known && a.k > first && !own(r.Messages[first:a.k])
			much := said.much() || exact == m && m >= leastRow && said.replies >= leastReplies && said.size > 0 &&
				summarised(a.k)
			if guess && much {
				several = several || guessed != nil && guessed != b.of
				guessed = b.of
			}
			switch {
			case exact < 2 && !sums, best != nil && m <= best.n, said.replies == 0:
			case strange && !own(r.Messages[:a.k]) && !much:
			case before < a.k, before == a.k && exact == m && (first > 0 || !known): // nothing is missing
			case !known && (exact < 3 || a.k > first && !own(r.Messages[first:a.k]) && !much):
			default:
				best, a.guess = a, guess
			}
		}
	}
	if best != nil && best.guess && several {
		return nil
	}
	return best
}

// stretch counts the messages up to j, but not before first, that lead to end.
// exact counts those that are unchanged; Oriel has replaced the others.
func (t *tenant) stretch(r *Request, end place, j, first int, work *int) (m, exact int, said speech) {
	for at := end; m <= j-first && at.depth > 0 && *work > 0; m++ {
		*work--
		t.work++
		switch s := at.last(); {
		case s.bytes == r.hashes[j-m], s.says(r, j-m):
			exact++
			if s.assistant {
				said.add(r, s, j-m)
			}
		case s.assistant || !r.wasReplaced(j-m):
			return m, exact, said
		}
		at = at.before()
	}
	return m, exact, said
}

// own reports whether messages consist only of what Oriel inserted.
func own(messages []chat.Message) bool {
	for i := range messages {
		if len(messages[i].Parts) == 0 ||
			slices.ContainsFunc(messages[i].Parts, func(p chat.Part) bool { return !p.Inserted() }) {
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
	again := a.n > 0 && a.k+a.n == len(r.Messages) && a.end == a.branch.asked
	note(a.end, r.hashes[a.k:a.k+a.n])
	b := t.goOn(a.branch, a.end, r, a.k+a.n, nil)
	kind := Trimmed
	if a.n == 0 {
		kind = Continued
	}
	th := b.thread(r, kind)
	th.Again = again
	th.Known, th.From, th.Head, th.Before, th.Identities = head+a.n, a.k, head, b.tip.up(before).identities(0),
		b.tip.identities(before)
	return th
}
