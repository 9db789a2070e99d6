package thread

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
)

// Limits of what makes two histories one although they differ in between.
const (
	longID      = 10  // bytes of a tool call's id
	mixedID     = 3   // changes between letters and digits in it
	longWord    = 9   // bytes of a part of an id without separators
	mixedWord   = 4   // changes between small letters, capitals and digits in it
	leastLinked = 2   // messages with such ids
	maxNotes    = 6   // messages of its own that a client moves, drops or changes
	leastCommon = 24  // bytes of a reply that is not a coincidence after common messages
	firstReply  = 256 // bytes of replies that no other conversation has by chance
	// A history whose beginning is missing, and which has no ids, is known by at least
	// leastReplies replies with leastSaid bytes.
	leastReplies = 3
	leastSaid    = 1024
)

// random reports whether an id of a tool call looks as if no other
// conversation had it. Some models number their calls or name them after the
// tool.
func random(id string) bool {
	mixed := 0
	for i := 1; i < len(id); i++ {
		if letter(id[i]) && digit(id[i-1]) || digit(id[i]) && letter(id[i-1]) {
			mixed++
		}
	}
	if len(id) >= longID && mixed >= mixedID {
		return true
	}
	words := strings.FieldsFunc(id, func(c rune) bool {
		return c >= utf8.RuneSelf ||
			!letter(byte(c)) && !digit(byte(c))
	})
	return slices.ContainsFunc(words, randomWord)
}

// randomWord reports whether a part of an id is a number too large to count calls, or mixes
// small letters, capitals and digits. A number at its end may be a counter.
func randomWord(word string) bool {
	if len(word) < longWord {
		return false
	}
	name := strings.TrimRight(word, "0123456789")
	if name == "" {
		return word[0] != '0'
	}
	mixed, digits := 0, false
	for i := range name {
		digits = digits || digit(name[i])
		if i > 0 && kindOf(name[i]) != kindOf(name[i-1]) {
			mixed++
		}
	}
	return digits && mixed >= mixedWord
}

// kindOf distinguishes small letters, capitals and digits.
func kindOf(c byte) int {
	switch {
	case digit(c):
		return 0
	case c >= 'a':
		return 1
	}
	return 2
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

// linked reports whether message i has the id of a tool call that no other
// conversation has by chance.
func (r *Request) linked(i int) bool {
	return slices.ContainsFunc(r.Messages[i].Parts, func(p chat.Part) bool {
		return (p.Kind == chat.Call || p.Kind == chat.Result) && random(p.ID)
	})
}

// links counts the messages i to to that have such ids, as far as it matters.
func (r *Request) links(i, to int) (n int) {
	for ; i < to && n < leastLinked; i++ {
		if r.linked(i) {
			n++
		}
	}
	return n
}

// calls counts the tool calls of messages i to to that have such ids, as far as it matters:
// an agent hands over to another one with the one call by which it does.
func (r *Request) calls(i, to int) (n int) {
	for ; i < to && n < leastLinked; i++ {
		for j := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[j]; p.Kind == chat.Call && random(p.ID) {
				n++
			}
		}
	}
	return n
}

// speech is what a model has said in some messages, also to tools. called reports that it
// called a tool with an id that no other conversation has by chance: what a client wrote in
// its place, as an example, may be in all its conversations. size is exact up to leastSaid,
// more than which nothing asks for.
type speech struct {
	replies, size int
	called        bool
}

// add adds message i of a request, if the model has said it.
func (v *speech) add(r *Request, s *step, i int) {
	v.replies++
	if !s.model && !s.echoed {
		return
	}
	if v.size < leastSaid {
		v.size += r.textSize(i)
	}
	m := &r.Messages[i]
	for j := range m.Parts {
		if p := &m.Parts[j]; p.Kind == chat.Call {
			v.size += len(p.Args)
			v.called = v.called || random(p.ID)
		}
	}
}

// textSize returns the length of the text of message i. Many histories may be compared with
// the message, so it is decoded once.
func (r *Request) textSize(i int) int {
	size, known := r.sizes[i]
	if !known {
		size = len(textOf(&r.Messages[i]))
		r.sizes[i] = size
	}
	return size
}

// much reports whether no other conversation has it by chance.
func (v *speech) much() bool { return v.replies > 1 && v.size >= firstReply }

// retelling is a branch whose messages a request has, but not in one row.
type retelling struct {
	branch *branch
	// replies are the messages of the request that are the model's replies, the last first. was
	// maps the depths of common messages on the branch to their depths on the
	// path of the request.
	replies []int
	was     map[int]int
	// matched counts the common messages, linked those of them with ids of
	// tool calls, calls the calls in these, lost the replies that the request lacks, and missing all
	// that it lacks. Reasoning does not count: clients drop it.
	matched, linked, calls, lost, missing int
	said                                  speech
	before                                speech // what is echoed of the common beginning; see step.echoed
	// from is the first common message, and at its place on the branch. dropped reports
	// that replies before it are missing: the client has left out the beginning. lostSince
	// and missingSince are lost and missing without what was before.
	from                    int
	at                      place
	dropped                 bool
	lostSince, missingSince int
	// unsure reports that it would be the same history if the replies had more bytes.
	unsure bool
}

// retold finds the branch whose last messages a request has further on,
// although not all that is before them is the same: its client has dropped
// reasoning, changed messages, or put a note elsewhere. p is how far the
// request is known. Without ids of tool calls, only one conversation may have
// them.
func (t *tenant) retold(n *namespace, r *Request, p place) (found *retelling) {
	work := alignWork + alignPerMessage*len(r.Messages)
	var places map[uint64][]int
	for j := len(r.Messages) - 1; j >= p.depth && found == nil && work > 0; j-- {
		work--
		t.work++
		looked := 0
		several, sure := false, false // conversations without ids; one of them is not unsure
		for _, b := range slices.Backward(n.like(r, j)) {
			if looked++; looked > maxSimilar || work <= 0 {
				break
			}
			if b.sketch.Differs(&r.Sketch) {
				continue
			}
			if places == nil {
				places = r.places(p)
			}
			told := t.retell(r, b, p, j, places, &work)
			sure = sure || told != nil && !told.unsure
			switch {
			case told == nil, found != nil && found.linked > 0 && told.linked == 0:
			case found == nil, found.linked == 0 && told.linked > 0:
				found, several = told, false
			case found.branch.of != b.of && found.linked == 0:
				several = true
			case told.missing < found.missing:
				found = told
			}
		}
		if several && sure {
			return nil
		}
		if !sure {
			found = nil
		}
	}
	return found
}

// places maps the cores of steps to the messages that say the same, in order. The first
// messages, which lead to p, may be known by their bytes alone.
func (r *Request) places(p place) map[uint64][]int {
	out := make(map[uint64][]int, len(r.Messages))
	for i, s := range p.path() {
		out[s.core] = append(out[s.core], i)
	}
	for i := p.depth; i < len(r.Messages); i++ {
		core := r.cores[i]
		out[core] = append(out[core], i)
		if same := coreOf(r.identities[i]); same != core {
			out[same] = append(out[same], i)
		}
		if bare, ok := r.bareCores[i]; ok {
			out[bare] = append(out[bare], i)
		}
	}
	return out
}

// retell compares a branch with a request whose message j is its last or that
// of its last request. It returns nil if they are not the same history.
func (t *tenant) retell(r *Request, b *branch, p place, j int, places map[uint64][]int, work *int) *retelling {
	at := b.tip
	if !at.last().says(r, j) {
		at = b.asked
	}
	common := meet(at, p)
	told := &retelling{branch: b, was: map[int]int{}}
	before := j + 1 // messages of the request that may still match
	for ; at.depth > common.depth && before > common.depth && *work > 0; at = at.before() {
		*work--
		t.work++
		s := at.last()
		where := places[s.core]
		i, _ := slices.BinarySearch(where, before)
		if i == 0 || where[i-1] < common.depth {
			if s.thought {
				continue
			}
			told.missing++
			if s.model {
				told.lost++
			}
			if told.missing > 2*maxNotes && len(told.replies)+told.linked == 0 {
				return nil // they have no more in common than a note that every call ends with
			}
			continue
		}
		before = where[i-1]
		told.was[at.depth] = before + 1
		told.match(r, s, before)
		if !told.said.called && !s.assistant && r.linked(before) {
			told.said.called = answersModel(at.before(), work)
		}
		told.from, told.at = before, at
		told.lostSince, told.missingSince = told.lost, told.missing
	}
	for ; at.depth > common.depth && at.last().thought; at = at.before() {
		*work--
		t.work++
	}
	for q := p; q.depth > common.depth; q = q.before() {
		if *work--; q.last().model && !told.matches(q.depth-1) || *work <= 0 {
			return nil // it continues from another reply
		}
	}
	told.missing += at.depth - common.depth
	told.dropped = told.matched > 0 && told.lost > told.lostSince
	for ; at.depth > common.depth && told.matched > 0 && !told.dropped && *work > 0; at = at.before() {
		*work--
		t.work++
		told.dropped = at.last().model && !at.last().thought
	}
	if !told.said.called {
		told.linked, told.calls = 0, 0
	}
	if r.Hints.Session == "" && !common.answered() {
		for q := common; q.depth > 0 && *work > 0 && told.before.size < firstReply; q = q.before() {
			*work--
			t.work++
			if s := q.last(); s.echoed {
				told.before.add(r, s, q.depth-1)
			}
		}
	}
	own := j + 1 - common.depth - told.matched
	if told.same(r, common, own) {
		return told
	}
	if told.lost > 0 || told.missing > maxNotes || own > maxNotes || len(told.replies) == 0 {
		return nil
	}
	for _, i := range told.replies {
		r.echoed[i] = true
	}
	told.unsure = true
	return told
}

// answersModel reports whether the results that follow at are those of calls that the model itself
// made: its ids are no client's examples. A client may have put the calls into another message.
func answersModel(at place, work *int) bool {
	for ; at.depth > 0 && !at.last().assistant && *work > 0; at = at.before() {
		*work--
	}
	return at.depth > 0 && at.last().assistant && at.last().model
}

// match adds message i of a request, which is step s of the branch.
func (told *retelling) match(r *Request, s *step, i int) {
	told.matched++
	if r.linked(i) {
		told.linked++
		told.calls += r.calls(i, i+1)
	}
	if s.model || s.echoed {
		told.replies = append(told.replies, i)
		told.said.add(r, s, i)
	}
}

// matches reports whether message i of a request is one of the common replies, which are in
// descending order.
func (told *retelling) matches(i int) bool {
	_, found := slices.BinarySearchFunc(told.replies, i, func(reply, i int) int { return i - reply })
	return found
}

// same reports whether a request tells the history of the branch. Both are the
// same up to a place; own counts the messages after it that only the request
// has. The ids of several calls suffice, or that of one if little else has
// changed. Without ids nothing may have changed but notes; if the beginning is missing,
// several long replies must be there word for word.
func (told *retelling) same(r *Request, common place, own int) bool {
	few := told.missing <= maxNotes && own <= maxNotes
	switch {
	case told.linked >= leastLinked && (told.calls >= leastLinked || common.depth > 0):
		return own <= max(maxNotes, told.matched)
	case told.linked > 0 && few && len(told.replies) > 0:
		return true
	case told.missing+own == 0 && common.depth > 0 && len(told.replies) > 0: // all but reasoning
		return true
	case told.dropped && told.missingSince <= maxNotes && told.lostSince == 0 && own <= maxNotes &&
		told.said.replies >= leastReplies && told.said.size >= leastSaid:
		return true
	case !few || told.lost > 0 || len(told.replies) == 0:
		return false
	case r.Hints.Session != "":
		return true // another one of the session with the same last reply makes it nobody's
	case common.answered():
		return told.said.size >= leastCommon
	}
	return told.said.size+told.before.size >= firstReply
}

// tell puts a request on another path of the conversation that it continues.
// They have the messages up to p in common.
func (t *tenant) tell(r *Request, told *retelling, p place) *Thread {
	told.branch.of.moves = true
	if told.dropped {
		return t.tellRest(r, told, p)
	}
	note(p, r.hashes[:p.depth])
	replies := slices.DeleteFunc(told.replies, func(i int) bool { return i < p.depth })
	b := t.goOn(told.branch, p, r, p.depth, replies)
	th := b.thread(r, Continued)
	th.Known, th.Answered, th.Identities, th.Echoes = p.depth, true, b.tip.identities(0), replies
	th.Was = told.was
	return th
}

// tellRest puts a request whose client has left out the beginning on a path that leaves the
// history behind what is left out.
func (t *tenant) tellRest(r *Request, told *retelling, p place) *Thread {
	start, head := told.at.before(), meet(told.at, p).depth
	at, k, known := start, told.from, 0
	for ; k+known < len(r.Messages); known++ {
		next, ok := told.branch.of.space.next(at, r.identities[k+known])
		if !ok {
			break
		}
		at = next
	}
	note(at, r.hashes[k:k+known])
	replies := slices.DeleteFunc(told.replies, func(i int) bool { return i < k+known })
	b := t.goOn(told.branch, at, r, k+known, replies)
	th := b.thread(r, Trimmed)
	th.Known, th.From, th.Head, th.Before, th.Identities = head+known, k, head, b.tip.up(start.depth).identities(0),
		b.tip.identities(start.depth)
	th.Answered, th.Echoes, th.Was = true, replies, map[int]int{}
	for depth, message := range told.was {
		th.Was[depth] = start.depth + message - k
	}
	return th
}

// earlyRetold reports whether a request has a reply after p, where a call is
// in progress whose reply that may be.
func (t *tenant) earlyRetold(n *namespace, r *Request, p place) bool {
	replies := 0
	for i := p.depth; i < len(r.Messages); i++ {
		if r.Messages[i].Role == chat.Assistant && (i == 0 || r.Messages[i-1].Role != chat.Assistant) {
			replies++
		}
	}
	if replies == 0 {
		return false
	}
	var near []*conversation
	switch {
	case r.Hints.Session != "":
		near = n.recent
	case p.trunk != nil:
		near = []*conversation{p.trunk.used}
	case replies == 1: // the second call of a conversation whose first message has changed
		near = n.recent[max(0, len(n.recent)-nearConversations):]
	}
	return slices.ContainsFunc(near, func(k *conversation) bool {
		return k.calls > 0 && slices.ContainsFunc(k.branches, func(b *branch) bool {
			return b.tip == b.asked && b.tip.depth > p.depth && b.tip.depth <= p.depth+maxNotes && b.tip.passes(p) &&
				!b.sketch.Differs(&r.Sketch)
		})
	})
}
