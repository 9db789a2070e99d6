package thread

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
)

func randomSuffix() string {
	var b [3]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// knows reports whether what is in memory is enough to tell a request's conversation.
func (b *Book) knows(t *tenant, r *Request) bool {
	if r.Hints.Session != "" {
		return t.read[r.Hints.space()]
	}
	if !r.answered() || r.Previous != "" && t.replies[r.Previous] != nil {
		return true
	}
	l, n := t.deepest(r)
	return l != nil && l.answered(n)
}

// maxAlike is how many conversations are looked at that begin with the same message.
const maxAlike = 512

// deepest is the line that begins like the request for longest, and for how long. Of
// equals it is one that ends there, then one of the same lane, then the latest.
func (t *tenant) deepest(r *Request) (best *line, known int) {
	rank := func(l *line, n int) int {
		rank := 0
		if n == len(l.steps) || n == l.settled() {
			rank += 2
		}
		if !l.lane.Differs(&r.Lane) {
			rank++
		}
		return rank
	}
	all := t.roots[r.says(0)]
	for _, k := range slices.Backward(all[max(0, len(all)-maxAlike):]) {
		if k.space != r.Hints.space() {
			continue
		}
		for _, l := range k.lines {
			n := l.match(r)
			if n == 0 || n < known {
				continue
			}
			if best == nil || n > known || rank(l, n) > rank(best, known) || rank(l, n) == rank(best, known) && k.used.After(best.talk.used) {
				best, known = l, n
			}
		}
	}
	return best, known
}

// find decides. It always finds something, if only a new conversation.
func (t *tenant) find(r *Request, suffix func() string) *Thread {
	if th := t.answering(r); th != nil {
		return th
	}
	t.adopt(r)
	l, known := t.deepest(r)
	all := len(r.Messages)
	if l != nil && (l.answered(known) || known == all || known >= l.settled()) {
		if th := t.follow(r, l, known); th != nil {
			return th
		}
	}
	if old := t.compacted(r, known); old != nil {
		old.continued = true
		return t.begin(r, suffix, old.name)
	}
	if a := t.trimmed(r, known); a != nil {
		return t.align(r, known, a)
	}
	if l != nil && known < all && r.Hints.Session != "" && !l.lane.Differs(&r.Lane) {
		return t.join(r, l, known, Branched) // another second message, in the same session
	}
	return t.begin(r, suffix, "")
}

// adopt takes a conversation into the session that is named like it, if the request
// goes on from it: its client sends back the name that it was told.
func (t *tenant) adopt(r *Request) {
	k := t.talks[r.Hints.Session]
	if k == nil || k.space == r.Hints.space() || k.session != "" {
		return
	}
	for _, l := range k.lines {
		if l.answered(l.match(r)) {
			t.move(k, r.Hints.space())
			k.session = r.Hints.Session
			return
		}
	}
}

// answering is a request that sends only what comes after a reply which its provider
// holds, or after all that was said in the session.
func (t *tenant) answering(r *Request) *Thread {
	if l := t.replies[r.Previous]; r.Previous != "" && l != nil && l.talk.space == r.Hints.space() {
		if at, ok := l.replied[r.Previous]; ok && at <= len(l.steps) {
			return t.align(r, 0, &alignment{line: l, at: at})
		}
	}
	if r.Held && r.Hints.Session != "" {
		if k := t.talks[r.Hints.Session]; k != nil && k.space == r.Hints.space() {
			l := k.lines[0]
			return t.align(r, 0, &alignment{line: l, at: len(l.steps)})
		}
	}
	return nil
}

// follow is a request of which a line has the beginning: all that there is of it, all
// that the client has sent of it, or at least a reply. It is nil for an opener that
// opens another conversation.
func (t *tenant) follow(r *Request, l *line, known int) *Thread {
	// Who gives no session and has only an opener in common with a conversation may
	// go on from it as long as that is all there is of it.
	stranger := r.Hints.Session == "" && !l.answered(known)
	whole := known == len(r.Messages)
	switch {
	case stranger && len(l.steps) > known && !(r.Retry && whole && known >= l.settled()):
		return nil
	case stranger && whole && !r.Retry && l.talk.calls > 0:
		return nil
	case l.lane.Differs(&r.Lane):
		if stranger {
			return nil
		}
		// The prompt of an agent may change wholly, with the documents that are in it:
		// what goes on from the very end is the agent itself.
		if !whole && known == len(l.steps) && l.talk.calls == 0 {
			l.lane = r.Lane
			return t.join(r, l, known, Continued)
		}
		return t.join(r, l, known, Side)
	case !whole && known >= l.settled():
		return t.join(r, l, known, Continued)
	case !whole:
		if t.compacted(r, known) != nil {
			return nil
		}
		if a := t.trimmed(r, known); a != nil && a.line.talk == l.talk {
			return t.align(r, known, a)
		}
		return t.join(r, l, known, Branched)
	case known >= l.settled(): // the very request that came last
		return t.join(r, l, known, Retried)
	}
	return t.join(r, l, known, Branched)
}

// join puts a request on a line, or on a branch of it.
func (t *tenant) join(r *Request, l *line, known int, kind Kind) *Thread {
	l.note(0, known, r, 0)
	if kind == Side {
		l = l.copy(known) // whatever the others go on with
		l.side, l.lane = true, r.Lane
	}
	l = l.take(known, r, known)
	th := l.thread(r, kind)
	th.Known, th.Says = known, l.saysFrom(0)
	return th
}

// thread is that of a request that a line ends with.
func (l *line) thread(r *Request, kind Kind) *Thread {
	k := l.talk
	return &Thread{
		Tenant: r.Tenant, Conversation: k.name, Kind: kind, Stay: l.side, Continues: k.continues,
		space: k.space, lane: k.lane, stored: k.stored, line: l, depth: len(l.steps),
	}
}

// alignment is a stretch of a line that stands in a request: messages k up to k+n are
// the steps at up to at+n.
type alignment struct {
	line     *line
	k, at, n int
}

// trimmed finds the conversation of a request whose client has left something out: all
// that is known of it, beside its first known messages, stands in one row, and reaches
// to where the conversation ended. Who gives no session must have left out its head
// alone, and have three messages in common.
func (t *tenant) trimmed(r *Request, known int) *alignment {
	named := r.Hints.Session != ""
	var best *alignment
	for _, talk := range t.near(r) {
		for _, l := range talk.lines {
			if l.lane.Differs(&r.Lane) || known > 0 && l.match(r) < known {
				continue
			}
			k, at, n := l.run(r, known)
			switch {
			case n < 2, best != nil && n <= best.n, at+n < l.settled(), !l.speaks(at, n):
			case at < k, at == k && (known > 0 || !named): // nothing is left out
			case !named && (n < 3 || k > known):
			default:
				best = &alignment{l, k, at, n}
			}
		}
	}
	return best
}

// align puts a request where its alignment says.
func (t *tenant) align(r *Request, known int, a *alignment) *Thread {
	before := a.line.saysTo(a.at)
	a.line.note(a.at, a.n, r, a.k)
	l := a.line.take(a.at+a.n, r, a.k+a.n)
	kind := Trimmed
	if a.n == 0 {
		kind = Continued
	}
	th := l.thread(r, kind)
	th.Known, th.From, th.Head, th.Before, th.Says = known+a.n, a.k, known, before, l.saysFrom(a.at)
	return th
}

// nearTalks is how many conversations are looked at for one that a request could be
// the end of.
const nearTalks = 32

// near are the latest conversations of a request's namespace.
func (t *tenant) near(r *Request) []*talk {
	all := t.spaces[r.Hints.space()]
	latest := slices.Clone(all[max(0, len(all)-nearTalks):])
	slices.Reverse(latest)
	return latest
}

// long is how many messages a conversation has at least that is worth a summary.
const long = 6

// compacted is the conversation that a request begins with a summary of; known is how
// many messages both begin with: a client may keep its first ones.
func (t *tenant) compacted(r *Request, known int) *talk {
	if r.Hints.Session == "" || !summarises(r.Messages[known:]) {
		return nil
	}
	var best *talk
	for _, k := range t.near(r) {
		n := k.longest()
		// Of several the agent itself has said most; its helpers less.
		if n >= long && (known == 0 || n > len(r.Messages) && known*2 < n) && !k.continued && !k.lane.Differs(&r.Lane) && (best == nil || n > best.longest()) {
			best = k
		}
	}
	return best
}

// summarises reports whether one of the first messages is a summary, and none before
// it a reply.
func summarises(messages []chat.Message) bool {
	for i := range messages {
		m := &messages[i]
		if m.Role == chat.Assistant && i > 1 {
			return false
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Kind == chat.Compaction || p.Kind == chat.Text && len(p.Text) >= leastSummary && summary.Match(p.Text[:min(len(p.Text), 2000)]) {
				return true
			}
		}
	}
	return false
}

// leastSummary is the fewest bytes of a summary.
const leastSummary = 120

var summary = regexp.MustCompile(`(?i)continued from a previous conversation|conversation (?:that ran out|so far|history|summary)|summary of (?:the|our|your|this|what|all|previous|earlier)|here(?:'s| is) (?:a|the) summary|summari[sz]ed|summary:|<summary>|compacted|another language model (?:started|has)|handoff|hand-off`)

// begin makes a new conversation of a request; continues is the one that it was
// compacted from.
func (t *tenant) begin(r *Request, suffix func() string, continues string) *Thread {
	k := &talk{name: t.name(r, suffix), session: r.Hints.Session, space: r.Hints.space(), lane: r.Lane, continues: continues}
	l := (&line{talk: k, lane: r.Lane}).take(0, r, 0)
	k.lines = []*line{l}
	t.add(k)
	kind := New
	if continues != "" {
		kind = Compacted
	}
	th := l.thread(r, kind)
	th.Says = l.saysFrom(0)
	return th
}

// goesOn reports whether the steps from n on begin like others.
func (l *line) goesOn(n int, steps []step) bool {
	return len(l.steps) >= n+len(steps) && slices.EqualFunc(l.steps[n:n+len(steps)], steps, func(a, b step) bool { return a.says == b.says })
}

// speaks reports whether there is a reply among n steps.
func (l *line) speaks(at, n int) bool {
	return slices.ContainsFunc(l.steps[at:at+n], func(s step) bool { return s.assistant })
}

func (l *line) saysTo(n int) []timeline.Hash {
	out := make([]timeline.Hash, n)
	for i := range out {
		out[i] = l.steps[i].says
	}
	return out
}

func (l *line) saysFrom(at int) []timeline.Hash {
	out := make([]timeline.Hash, len(l.steps)-at)
	for i := range out {
		out[i] = l.steps[at+i].says
	}
	return out
}
