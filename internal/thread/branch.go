package thread

import (
	"container/list"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// conversation is what a Index remembers of one.
type conversation struct {
	name   string
	space  *namespace
	sketch PromptSketch // of the conversation itself
	// branches are the ways on which it goes on, the latest first.
	branches []*branch
	plans    []*plan // in the order in which they were made
	replies  []string
	used     time.Time
	calls    int // in flight
	held     int // calls that are not written yet
	size     int // as accounted, beside messages
	idle     *list.Element
	dropped  bool // it was forgotten
	assumed  bool // more of it may be stored: see Request.Offline
	// session is the one that it is named after; empty for none.
	session string
	// continues is the conversation that it was compacted from, continued that
	// another one was from it. stored: both, and who talks, are written.
	continues         string
	continued, stored bool
}

// maxBranches is how many branches of a conversation are remembered.
const maxBranches = 8

// branch is a way through a conversation, from its beginning on.
type branch struct {
	of     *conversation
	sketch PromptSketch
	side   bool // the conversation's head is elsewhere and stays there
	// asked is where its last request ended, tip where the reply to it did.
	asked, tip place
	// reply is what the model said last, until the client sends it back, and takes is
	// how many bytes it takes.
	reply []chat.Message
	takes int
}

// endsAt reports whether a branch ends at a place: its last request did, the reply to it,
// or a part of that.
func (b *branch) endsAt(p place) bool {
	return p.depth >= b.asked.depth && p.depth <= b.tip.depth && b.tip.passes(p)
}

// move makes a branch end at other places.
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

// parts counts parts, and those within them.
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

// copy is another branch of the same conversation.
func (b *branch) clone() *branch { return &branch{of: b.of, sketch: b.sketch, side: b.side} }

// longest is the number of messages of its longest branch.
func (k *conversation) longest() int {
	n := 0
	for _, b := range k.branches {
		n = max(n, b.tip.depth)
	}
	return n
}

// busy reports whether a conversation must be remembered.
func (k *conversation) busy() bool { return k.calls+k.held > 0 }
