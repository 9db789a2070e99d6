package thread

import (
	"container/list"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// conversation is what an Index remembers of a conversation.
type conversation struct {
	name   string
	space  *namespace
	sketch PromptSketch // of the conversation itself
	// branches are the paths on which it continues, the latest first.
	branches []*branch
	plans    []*anchor // in the order in which they were made
	// passed are ids of plans that are not read again: they were removed, here or from the
	// store, or are known from another conversation.
	passed  map[string]bool
	replies []string
	used    time.Time
	calls   int // in flight
	summing int // of these, requests for a summary
	held    int // calls that are not written yet
	size    int // as accounted, without messages
	idle    *list.Element
	dropped bool // it has been forgotten
	assumed bool // more of it may be stored; see Request.Offline
	// imported reports that nothing of it was recorded: it has the name of a session whose
	// calls are still to come.
	imported bool
	moved    bool // it has become part of another one; see Index.Settle
	// homeless reports that it was assumed without a name; see Homeless. Its client may have
	// sent back its name since.
	homeless bool
	moves    bool // see Thread.Moves
	// session is the session that it is named after, or "".
	session string
	// continues is the conversation from which it was compacted. continued
	// reports that another one was compacted from it. stored reports that
	// both, and the record that identifies it, are written.
	continues         string
	continued, stored bool
	// summary is the latest that its agent asked for; see quoted.
	summary []summaryLine
	// head is where the last written call left the conversation's head; the zero place if
	// this process has written none.
	head timeline.Place
}

// maxBranches is how many branches of a conversation are remembered.
const maxBranches = 8

// branch is a path through a conversation from its beginning.
type branch struct {
	of     *conversation
	sketch PromptSketch
	side   bool // the conversation's head is elsewhere and stays there
	// asked is where its last request ended, tip where the reply to it ended.
	asked, tip place
	// reply is the model's last reply, until the client sends it back, and
	// takes its size in bytes.
	reply []chat.Message
	takes int
	// stored is where a path ends in the store that has the first common messages of this
	// one: that of its last written call, or of the one that it left. The zero place: unknown.
	stored timeline.Place
	common int
}

// endsAt reports whether a branch ends at a place: with its last request, with
// the reply to it, or within that reply.
func (b *branch) endsAt(p place) bool {
	return p.depth >= b.asked.depth && p.depth <= b.tip.depth && b.tip.passes(p)
}

// move changes the places where a branch ends.
func (t *tenant) move(b *branch, asked, tip place, reply []chat.Message) {
	n := b.of.space
	n.unregister(b.tip, b)
	n.unregister(b.asked, b)
	tip.hold()
	t.grow(-n.release(b.tip))
	b.asked, b.tip, b.reply, b.takes = asked, tip, reply, 0
	for i := range reply {
		b.takes += len(reply[i].Raw) + wire.PartBytes*parts(reply[i].Parts)
	}
	n.register(tip, b)
	if asked != tip {
		n.register(asked, b)
	}
}

// parts counts parts, including nested ones.
func parts(list []chat.Part) int {
	n := len(list)
	for i := range list {
		n += parts(list[i].Parts)
	}
	return n
}

// add makes a branch the latest of its conversation.
func (t *tenant) add(k *conversation, b *branch) {
	k.branches = append([]*branch{b}, without(k.branches, b)...)
	for len(k.branches) > maxBranches {
		last := len(k.branches) - 1
		t.move(k.branches[last], place{}, place{}, nil)
		k.branches = k.branches[:last]
	}
}

// clone returns another branch of the same conversation.
func (b *branch) clone() *branch {
	return &branch{of: b.of, sketch: b.sketch, side: b.side, stored: b.stored, common: b.common}
}

// Written records where the store has the last message of a call, and the head of its
// conversation.
func (b *Index) Written(th *Thread, end, head timeline.Place) {
	t := b.tenant(th.Tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	k, at := th.branch, th.at.depth+th.replied
	k.stored, k.common, k.of.head = end, min(at, k.tip.depth), head
	if end.Depth != int64(at) {
		k.stored = timeline.Place{}
	}
}

// longest returns the number of messages of the longest branch.
func (k *conversation) longest() int {
	n := 0
	for _, b := range k.branches {
		n = max(n, b.tip.depth)
	}
	return n
}

// busy reports whether a conversation must stay in memory.
func (k *conversation) busy() bool { return k.calls+k.held > 0 }
