package thread

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"slices"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
)

func randomSuffix() string {
	var b [3]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// knows reports whether memory suffices to find a request's conversation; p is
// how far the request is known.
func (t *tenant) knows(n *namespace, r *Request, p place) bool {
	switch {
	case r.Hints.Session != "" && !n.read:
		return false
	case r.Hints.Session != "" && !n.forgot && !t.index.shared:
		return true
	case (r.Hints.Session == "" || t.index.shared && !n.forgot) && !r.answered():
		return true
	case r.Previous != "" && t.replies[r.Previous] != nil:
		return true
	case p.answered():
		return true
	}
	b := t.nearest(n, r, p)
	return b != nil && goesOn(r, b, p)
}

// nearest returns the branch that a request whose first messages lead to p may
// continue. Of several it prefers one that ends there, then one with a similar
// system prompt, then the latest.
func (t *tenant) nearest(n *namespace, r *Request, p place) (best *branch) {
	if p.depth == 0 {
		return nil
	}
	if r.changedReply != nil && r.changedReply.asked == p {
		return r.changedReply
	}
	choose := func(b *branch) bool {
		t.work++
		same := !b.sketch.Differs(&r.Sketch)
		if best == nil || same {
			best = b
		}
		return same
	}
	for _, b := range slices.Backward(n.ends[p]) {
		if choose(b) {
			return best
		}
	}
	if best != nil {
		return best
	}
	for _, b := range n.replies(p) {
		if choose(b) {
			return best
		}
	}
	if k := p.trunk.used; best == nil && k != nil && !k.dropped && k.space == n {
		for _, b := range k.branches {
			if choose(b) {
				return best
			}
		}
	}
	return best
}

// longOpener is the least size, in bytes, of a first message that hardly opens
// two conversations by chance.
const longOpener = 64

// goesOn reports whether a request continues from the last request of a
// branch, whatever its client made of the reply. Either it begins with all
// messages of that request, and these are more than many conversations have in
// common; or what stands in place of the reply contains something of it.
func goesOn(r *Request, b *branch, p place) bool {
	switch {
	case p != b.asked || p.depth == len(r.Messages):
		return false
	case r.changedReply == b:
		return true
	case p.shared():
		return false
	}
	size := 0
	for i := range r.Messages[:p.depth] {
		m := &r.Messages[i]
		if m.Role == chat.Assistant {
			return true
		}
		for j := range m.Parts {
			if m.Parts[j].Kind != chat.Text {
				size += len(m.Parts[j].Raw)
			}
			size += len(m.Parts[j].Text)
		}
	}
	// A conversation that has gone on elsewhere has its reply.
	return size >= longOpener && len(b.of.branches) > 0 && b.of.branches[0] == b
}

// strange reports whether a request has only a first message in common with the branch, and
// something else behind it than the reply.
func (r *Request) strange(b *branch, p place) bool {
	return r.Hints.Session == "" && !p.answered() && p.depth < len(r.Messages) && !goesOn(r, b, p)
}

// find returns the thread of a request, which may be a new conversation. p is
// how far the request is known.
func (t *tenant) find(n *namespace, r *Request, p place) *Thread {
	if th := t.answering(n, r); th != nil {
		return th
	}
	b := t.nearest(n, r, p)
	trimmed := sync.OnceValue(func() *alignment { return t.trimmed(n, r, p) })
	var told *retelling
	if b == nil || !b.endsAt(p) || r.strange(b, p) {
		a := trimmed()
		told = t.retold(n, r, p)
		if told != nil && (a == nil || told.matched > a.n) {
			return t.tell(r, told, p)
		}
		if a != nil && a.linked >= leastLinked && !p.answered() {
			return t.align(r, p.depth, a)
		}
	}
	all := len(r.Messages)
	if b != nil && (p.answered() || p.depth == all || b.endsAt(p)) {
		if th := t.follow(n, r, b, p, trimmed); th != nil {
			return th
		}
	}
	if old := t.compacted(n, r, p); old != nil && told == nil { // not the same summary with a note that moves
		old.continued = true
		return t.begin(n, r, p, old.name)
	}
	if a := trimmed(); a != nil {
		return t.align(r, p.depth, a)
	}
	if old := t.quoted(n, r, p); old != nil {
		old.continued = true
		return t.begin(n, r, p, old.name)
	}
	if b != nil && p.depth < all && r.Hints.Session != "" && !b.sketch.Differs(&r.Sketch) {
		return t.join(r, b, p, Branched) // another second message, in the same session
	}
	if k := t.conversations[r.Hints.Session]; k != nil && k.imported && k.space == n && r.answered() {
		return t.beside(k, r, p)
	}
	return t.begin(n, r, p, "")
}

// beside places the first recorded request of an imported session, whose file has its
// messages in another form: on a path of its own. A first message alone, such as that of a
// title, is another conversation of the session.
func (t *tenant) beside(k *conversation, r *Request, p place) *Thread {
	n := k.space
	b := &branch{of: k, sketch: r.Sketch}
	note(p, r.hashes[:p.depth])
	tip, added := n.extend(p, r.steps(p.depth))
	t.grow(added)
	t.move(b, tip, tip, nil)
	tip.use(k)
	t.begins[r.identities[0]] = latest(t.begins[r.identities[0]], n, maxBegins)
	k.sketch, k.imported = r.Sketch, false
	th := b.thread(r, New)
	th.Identities = tip.identities(0)
	return th
}

// answering returns the thread of a request that sends only what follows a
// reply held by its provider, or what follows everything said in the session.
func (t *tenant) answering(n *namespace, r *Request) *Thread {
	if a := t.replies[r.Previous]; r.Previous != "" && a != nil && a.branch.of.space == n {
		return t.align(r, 0, &alignment{branch: a.branch, end: a.at})
	}
	if r.Held && r.Hints.Session != "" {
		if k := t.conversations[r.Hints.Session]; k != nil && k.space == n {
			b := k.branches[0]
			return t.align(r, 0, &alignment{branch: b, end: b.tip})
		}
	}
	return nil
}

// follow places a request whose beginning is on a known branch: the whole
// branch, all of it that the client ever sent, or at least up to one reply. It
// returns nil for a first message that opens another conversation. trimmed
// returns the alignment of the request, or nil.
func (t *tenant) follow(n *namespace, r *Request, b *branch, p place, trimmed func() *alignment) *Thread {
	// A request without a session that has only a first message in common with
	// a conversation may continue it only if the conversation consists of
	// nothing else.
	stranger := r.Hints.Session == "" && !p.answered()
	whole, ends := p.depth == len(r.Messages), b.endsAt(p)
	switch {
	case stranger && b.tip.depth > p.depth && !(r.Retry && whole && ends) && !goesOn(r, b, p):
		return nil
	case stranger && whole && !r.Retry && b.of.calls > 0:
		return nil
	case b.sketch.Differs(&r.Sketch):
		if stranger {
			return nil
		}
		// The prompt of an agent may change completely, with the documents in
		// it. A request that continues from the very end comes from the same
		// agent, unless it asks for a summary: agents have a prompt of its own for that.
		if !whole && p == b.tip && b.of.calls == 0 && !r.compacts {
			b.sketch = r.Sketch
			return t.join(r, b, p, Continued)
		}
		return t.join(r, b, p, Side)
	case !whole && ends:
		return t.join(r, b, p, Continued)
	case !whole:
		if t.compacted(n, r, p) != nil {
			return nil
		}
		if a := trimmed(); a != nil && a.branch.of == b.of {
			return t.align(r, p.depth, a)
		}
		if t.quoted(n, r, p) != nil {
			return nil
		}
		return t.join(r, b, p, Branched)
	case ends: // the last request again
		return t.join(r, b, p, Retried)
	}
	return t.join(r, b, p, Branched)
}

// join puts a request on a branch, or on a new one that leaves it at p.
func (t *tenant) join(r *Request, b *branch, p place, kind Kind) *Thread {
	note(p, r.hashes[:p.depth])
	if kind == Side {
		b = b.clone() // the other requests continue on their own
		b.side, b.sketch = true, r.Sketch
	}
	var echoes []int
	if p == b.asked && b.tip != p {
		for i := p.depth; i < len(r.Messages) && r.Messages[i].Role == chat.Assistant; i++ {
			echoes = append(echoes, i)
		}
	}
	b = t.goOn(b, p, r, p.depth, echoes)
	th := b.thread(r, kind)
	th.Known, th.Answered, th.Identities, th.Echoes = p.depth, p.answered(), b.tip.identities(0), echoes
	return th
}

// goOn makes a branch end with the messages of a request from i on, which
// follow p. It reuses b if that leaves behind nothing but a reply that nobody
// sent back. A request for a summary leaves b as it is: the client continues from
// there, with the summary in place of the beginning.
func (t *tenant) goOn(b *branch, p place, r *Request, i int, echoes []int) *branch {
	n := b.of.space
	if b.tip.trunk == nil || !b.endsAt(p) || r.compacts {
		b = b.clone()
	} else if p != b.tip {
		t.leaveReply(b, p)
	}
	steps := r.steps(i)
	for _, e := range echoes {
		steps[e-i].model = true
	}
	tip, added := n.extend(p, steps)
	t.grow(added)
	t.move(b, tip, tip, nil)
	tip.use(b.of)
	b.common = min(b.common, p.depth)
	return b
}

// leaveReply removes what follows p from a branch, and from the tree if no
// other branch has it.
func (t *tenant) leaveReply(b *branch, p place) {
	old := b.tip
	t.move(b, p, p, nil)
	trunk := p.trunk
	if old.trunk != trunk || old.depth != trunk.end() || trunk.holders != 1+len(trunk.plans) {
		return
	}
	for _, m := range trunk.plans {
		if m.at.depth > p.depth {
			return
		}
	}
	trunk.steps = trunk.steps[:p.depth-trunk.at]
	t.grow(p.depth - old.depth)
}

// note records the form in which the messages up to p arrived.
func note(p place, hashes []uint64) {
	for i := len(hashes) - 1; i >= 0; i-- {
		p.last().bytes = hashes[i]
		p = p.before()
	}
}

// thread returns the thread of a request that ends the branch.
func (b *branch) thread(r *Request, kind Kind) *Thread {
	k := b.of
	th := &Thread{
		Tenant: r.Tenant, Conversation: k.name, Kind: kind, Stay: b.side, Moves: k.moves, Continues: k.continues,
		space: k.space.key, sketch: k.sketch, stored: k.stored, of: k, branch: b, at: b.tip, common: b.tip.depth,
		sums: r.compacts && r.answered(),
	}
	if b.stored != (timeline.Place{}) {
		th.common = b.common
		if b.stored != k.head {
			th.Past = b.stored
		}
	}
	return th
}

// nearConversations is how many conversations are considered as the one that a
// request summarises.
const nearConversations = 32

// long is the least number of messages of a conversation worth a summary.
const long = 6

// compacted returns the conversation that a request begins with a summary of,
// or nil. p is how far both begin alike: a client may keep its first messages.
func (t *tenant) compacted(n *namespace, r *Request, p place) *conversation {
	if r.Hints.Session == "" || !summarises(r.Messages[p.depth:]) {
		return nil
	}
	var best *conversation
	for _, k := range slices.Backward(n.recent[max(0, len(n.recent)-nearConversations):]) {
		t.work++
		size := k.longest()
		// The agent itself has said more than its helpers.
		if (size >= long || k.continues != "") && k.compactedAt(r, p) && !k.continued && !k.sketch.Differs(&r.Sketch) &&
			(best == nil || size > best.longest()) {
			best = k
		}
	}
	return best
}

// summarises reports whether one of the first messages is a summary, with no
// reply before it.
func summarises(messages []chat.Message) bool {
	for i := range messages {
		m := &messages[i]
		if m.Role == chat.Assistant && i > 1 {
			return false
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Kind == chat.Compaction || p.Kind == chat.Text && isSummary(p.Text) {
				return true
			}
		}
	}
	return false
}

// isSummary reports whether a text looks like the summary of a conversation.
func isSummary(text chat.String) bool {
	head := text[:min(len(text), 2000)]
	return len(text) >= leastSummary && summary.Match(head) || shortSummary.Match(head)
}

// leastSummary is the fewest bytes of a summary, unless its first words are those of a program.
const leastSummary = 120

var shortSummary = regexp.MustCompile(`(?i)^"\W*(?:here is a summary of (?:the|our) conversation (?:to date|so far)|this session is being continued from a previous conversation|another language model started to solve this problem)`)

var summary = regexp.MustCompile(`(?i)continued from a previous conversation|conversation (?:that ran out|so far|history|summary)|summary of (?:the|our|your|this|what|all|previous|earlier)|here(?:'s| is) (?:a|the) summary|summari[sz]ed|summary:|<summary>|compacted|another language model (?:started|has)|handoff|hand-off`)

// begin makes a new conversation of a request whose first messages lead to p.
// continues is the conversation that it was compacted from.
func (t *tenant) begin(n *namespace, r *Request, p place, continues string) *Thread {
	k := &conversation{name: t.newName(r), session: r.Hints.Session, space: n, sketch: r.Sketch, continues: continues}
	b := &branch{of: k, sketch: r.Sketch}
	note(p, r.hashes[:p.depth])
	tip, added := n.extend(p, r.steps(p.depth))
	t.grow(added)
	t.move(b, tip, tip, nil)
	k.branches = []*branch{b}
	t.enter(k)
	tip.use(k)
	kind := New
	if continues != "" {
		kind = Compacted
	}
	th := b.thread(r, kind)
	th.Identities = tip.identities(0)
	return th
}
