package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// branching is a conversation in a folder, and another program that works on it.
type branching struct {
	t     *testing.T
	c     *Conversation
	dir   string
	other timeline.Store
}

func newBranching(t *testing.T, config Config) *branching {
	config.Dir = t.TempDir()
	b := &branching{t: t, c: open(t, config), dir: config.Dir}
	other, err := sqlite.Open(t.Context(), config.Dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.other = other
	t.Cleanup(func() { _ = errors.Join(b.c.engine.Close(), other.Close()) })
	return b
}

// say appends texts under a place, which moves the conversation there.
func (b *branching) say(at timeline.Place, texts ...string) timeline.Place {
	b.t.Helper()
	c := timeline.Change{Conversation: "c", At: at, Now: noon}
	for _, text := range texts {
		c.Messages = append(c.Messages, timeline.Message{Identity: timeline.TextIdentity("user", text),
			Raw: []byte(text), Format: "item", Role: "user"})
	}
	a, err := b.other.Apply(b.t.Context(), timeline.Local, c)
	if err != nil {
		b.t.Fatal(err)
	}
	return a.Head
}

func (b *branching) head() timeline.Place {
	b.t.Helper()
	c, err := b.other.Conversation(b.t.Context(), timeline.Local, "c")
	if err != nil {
		b.t.Fatal(err)
	}
	return c.Head
}

// pinned are the ids and words of the pinned items.
func (b *branching) pinned() []string {
	b.t.Helper()
	out := []string{}
	for id := int64(1); id <= b.head().Depth; id++ {
		it, err := b.c.Item(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if it.Pinned() {
			out = append(out, fmt.Sprint(id, " ", it.Content))
		}
	}
	return out
}

func (b *branching) same(want, got any) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Error(diff)
	}
}

// A pin is a message's, not a number's: on another branch another message has the
// number.
func TestAPinStaysWithItsMessage(t *testing.T) {
	for _, items := range []int{3, 100} { // out of view, and in view
		t.Run(fmt.Sprint(items), func(t *testing.T) {
			b := newBranching(t, Config{MaxItems: items})
			trunk := b.say(timeline.Place{}, "a1", "a2", "a3", "a4", "a5", "a6")
			for _, id := range []int64{2, 5} {
				if err := b.c.Pin(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			b.same([]string{"2 a2", "5 a5"}, b.pinned())
			branch := b.say(timeline.Place{Trunk: trunk.Trunk, Depth: 3}, "b4", "b5", "b6", "b7")
			b.same([]string{"2 a2"}, b.pinned())

			// Both have their own.
			if err := b.c.Pin(t.Context(), 5); err != nil {
				t.Fatal(err)
			}
			b.same([]string{"2 a2", "5 b5"}, b.pinned())
			b.say(trunk)
			b.same([]string{"2 a2", "5 a5"}, b.pinned())
			if err := b.c.Unpin(t.Context(), 5); err != nil {
				t.Fatal(err)
			}
			b.same([]string{"2 a2"}, b.pinned())
			b.say(branch)
			b.same([]string{"2 a2", "5 b5"}, b.pinned())
		})
	}
}

// The star of an item that is added is its own, too.
func TestAStarStaysWithItsMessage(t *testing.T) {
	b := newBranching(t, Config{})
	add(t, b.c, Item{Content: "one"}, Item{Content: "two", Flags: []items.Flag{"starred"}})
	trunk := b.head()
	b.say(timeline.Place{Trunk: trunk.Trunk, Depth: 1}, "other two")
	b.same([]string{}, b.pinned())
	b.say(timeline.Place{Trunk: trunk.Trunk, Depth: 1})
	add(t, b.c, Item{Content: "third two", Flags: []items.Flag{"starred"}})
	b.same([]string{"2 third two"}, b.pinned())
	b.say(trunk)
	b.same([]string{"2 two"}, b.pinned())
}

// What left on a branch that was left cannot be brought back by its number.
func TestPlansOfABranchThatWasLeftAreNotListed(t *testing.T) {
	b := newBranching(t, Config{MaxItems: 3, Policy: "fifo"})
	for i := range 6 {
		add(t, b.c, Item{Content: fmt.Sprint("a", i+1)})
	}
	list := func() (ids []string) {
		for _, limit := range []int{0, 100} {
			plans, err := b.c.Plans(t.Context(), limit)
			if err != nil {
				t.Fatal(err)
			}
			ids = nil
			for i := range plans {
				ids = append(ids, plans[i].Undo)
			}
		}
		return ids
	}
	b.same([]string{"p1", "p2", "p3"}, list())
	trunk := b.head()
	b.say(timeline.Place{Trunk: trunk.Trunk, Depth: 4}, "b5", "b6", "b7")
	b.same([]string{"p1"}, list())
	if err := b.c.Undo(t.Context(), "p3"); !errors.Is(err, fault.ErrNoPlan) ||
		!strings.Contains(err.Error(), "branch that the conversation has left") {
		t.Error(err)
	}
	if err := b.c.Undo(t.Context(), "p1"); err != nil {
		t.Error(err)
	}
	b.say(trunk)
	if got := list(); len(got) < 3 || got[2] != "p3" {
		t.Error(got)
	}
}

// One that was deleted and begun anew may be at the same revision.
func TestAConversationThatBeganAnewIsReadAnew(t *testing.T) {
	b := newBranching(t, Config{})
	add(t, b.c, Item{Content: "old"})
	revision := b.c.loaded.stored.Revision
	if _, err := b.other.Delete(t.Context(), timeline.Local, "c", nil); err != nil {
		t.Fatal(err)
	}
	for i := range revision {
		if _, err := b.other.Apply(t.Context(), timeline.Local,
			timeline.Change{Conversation: "c", Now: noon.Add(time.Hour),
				Messages: []timeline.Message{{Identity: timeline.TextIdentity("user", fmt.Sprint(i)),
					Raw:    []byte("new"),
					Format: "item", Role: "user"}}}); err != nil {
			t.Fatal(err)
		}
	}
	now, err := b.other.Conversation(t.Context(), timeline.Local, "c")
	if err != nil || now.Revision != revision {
		t.Fatal(now.Revision, revision, err)
	}
	items, err := b.c.Items(t.Context(), 0)
	if err != nil || len(items) != 1 || items[0].Content != "new" {
		t.Errorf("%+v: %v", items, err)
	}
}

// What is in memory is another branch's, though its ids are the same.
func TestItemsOfAnotherBranchAreReadAnew(t *testing.T) {
	b := newBranching(t, Config{})
	trunk := b.say(timeline.Place{}, "a1", "a2", "a3", "a4")
	inView(t, b.c)
	b.say(timeline.Place{Trunk: trunk.Trunk, Depth: 2}, "b3", "b4", "b5")
	second := open(t, Config{Dir: b.dir})
	defer second.engine.Close()
	if _, err := second.Resize(t.Context(), 5000); err != nil { // stores the state of the branch
		t.Fatal(err)
	}
	items, err := b.c.Items(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range items {
		got = append(got, it.Content)
	}
	b.same([]string{"a1", "a2", "b3", "b4", "b5"}, got)
}
