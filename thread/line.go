package thread

import (
	"maps"
	"slices"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// talk is what a Book remembers of a conversation.
type talk struct {
	name   string
	space  space
	begins timeline.Hash // what its first message says
	lane   Lane          // of the conversation itself
	lines  []*line       // the latest first
	marks  []*mark       // in the order in which they were made
	used   time.Time
	calls  int // in flight
	held   int // calls that are not written yet
	size   int // as accounted
	// session is the one that it is named after; empty for none.
	session string
	// continues is the conversation that it was compacted from, continued that
	// another one was from it. stored: both, and who talks, are written.
	continues         string
	continued, stored bool
}

// maxLines is how many branches of a conversation are remembered.
const maxLines = 8

// line is a way through the history of a conversation, from its beginning on.
type line struct {
	talk  *talk
	lane  Lane
	side  bool // the conversation's head is elsewhere and stays there
	steps []step
	// forms are all stored forms of messages that came in several, by index.
	forms map[int][]timeline.Hash
	// reply is what the model said last, until the client sends it back; its
	// messages are the last steps.
	reply []chat.Message
	// replied are the provider's ids of replies, and how many steps there are up to
	// the end of each.
	replied map[string]int
}

// step is a message on the way.
type step struct {
	bytes     uint64 // a hash of those in which it came last; 0 for unknown
	says      timeline.Hash
	assistant bool
	model     bool // it is a model's reply, seen as it came
}

// settled counts the steps that a client has sent.
func (l *line) settled() int { return len(l.steps) - len(l.reply) }

// match counts the messages that a request has in common with the line. A reply's
// echo in other words is adopted.
func (l *line) match(r *Request) int {
	n := min(len(r.Messages), len(l.steps))
	for i := range n {
		if !l.is(i, r, i) {
			return i
		}
	}
	return n
}

// is reports whether step i is message k of a request.
func (l *line) is(i int, r *Request, k int) bool {
	s := &l.steps[i]
	if s.bytes == r.bytes(k) || s.says == r.says(k) {
		return true
	}
	if forms := l.forms[i]; len(forms) > 0 && slices.Contains(forms, timeline.HashOf(r.Messages[k].Raw)) {
		return true
	}
	j := i - l.settled()
	return j >= 0 && wire.SameReply(&l.reply[j], &r.Messages[k])
}

// answered reports whether a model has spoken among the first n steps. What a client
// puts into its mouth, as examples or as a greeting, many conversations have in common.
func (l *line) answered(n int) bool {
	for i := range n {
		if l.steps[i].model {
			return true
		}
	}
	return false
}

// run finds the longest stretch of the request, from message first on, with which the
// line ends: messages k up to k+n are steps at up to at+n.
func (l *line) run(r *Request, first int) (k, at, n int) {
	work := 4 * (len(l.steps) + len(r.Messages)) // equal messages could be compared for ever
	ends := []int{len(l.steps)}
	if l.settled() < len(l.steps) && l.settled() > 0 {
		ends = append(ends, l.settled())
	}
	for _, end := range ends {
		for j := len(r.Messages) - 1; j >= first; j-- {
			m := 0
			for m <= j-first && m < end && work > 0 && l.is(end-1-m, r, j-m) {
				m++
				work--
			}
			work--
			if m > n && j-m+1 <= first+maxGap {
				k, at, n = j-m+1, end-m, m
			}
			if work <= 0 {
				return k, at, n
			}
		}
	}
	return k, at, n
}

// maxGap is how many messages a client may put in the place of what it forgot.
const maxGap = 4

// take makes the line that goes on from the first n steps with the messages of a
// request from k on: l itself where nothing of it is left behind.
func (l *line) take(n int, r *Request, k int) *line {
	if n < len(l.steps) {
		l = l.cut(n)
	}
	if l.reply != nil && n == len(l.steps) {
		l.reply = nil // the client has it
	}
	for ; k < len(r.Messages); k++ {
		l.steps = append(l.steps, step{bytes: r.bytes(k), says: r.says(k), assistant: r.Messages[k].Role == chat.Assistant})
	}
	return l
}

// note keeps the forms in which known messages came: steps at up to at+n are messages
// k up to k+n.
func (l *line) note(at, n int, r *Request, k int) {
	for i := range n {
		l.steps[at+i].bytes = r.bytes(k + i)
	}
}

// cut is a line of its own with the first n steps. Only replies that nobody sent back
// are left behind for good: then the line itself is cut.
func (l *line) cut(n int) *line {
	if n >= l.settled() {
		l.steps, l.reply = l.steps[:n:n], nil
		return l
	}
	return l.copy(n)
}

// copy is a line of its own with the first n steps.
func (l *line) copy(n int) *line {
	c := &line{talk: l.talk, lane: l.lane, side: l.side, steps: slices.Clone(l.steps[:n]), forms: maps.Clone(l.forms), replied: maps.Clone(l.replied)}
	maps.DeleteFunc(c.forms, func(i int, _ []timeline.Hash) bool { return i >= n })
	maps.DeleteFunc(c.replied, func(_ string, at int) bool { return at > n })
	return c
}

// use makes a line the latest of its talk.
func (t *talk) use(l *line, now time.Time) {
	t.used = now
	if i := slices.Index(t.lines, l); i >= 0 {
		t.lines = slices.Delete(t.lines, i, i+1)
	}
	t.lines = slices.Insert(t.lines, 0, l)
	if len(t.lines) > maxLines {
		t.lines = slices.Delete(t.lines, maxLines, len(t.lines))
	}
}

// longest is the number of steps of its longest line.
func (t *talk) longest() int {
	n := 0
	for _, l := range t.lines {
		n = max(n, len(l.steps))
	}
	return n
}
