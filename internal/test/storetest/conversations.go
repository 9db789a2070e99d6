package storetest

import (
	"errors"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

var conversationCases = []testCase{
	{"begin with their first change and count their changes", func(f *fixture) {
		if _, err := f.Conversation(ctx, timeline.Local, "c"); !errors.Is(err, timeline.ErrNoConversation) {
			f.Errorf("before the first change: %v", err)
		}
		a := f.apply(timeline.Change{Conversation: "c", Messages: saidAll("1"), Project: "p", Now: noon})
		f.equal("revision", a.Revision, int64(1))
		later := noon.Add(time.Minute + 999)
		b := f.apply(timeline.Change{Conversation: "c", Stay: true, Continues: "before", Now: later})
		f.equal("applied", b, timeline.Applied{Head: a.Head, Revision: 2})
		f.equal("conversation", f.conversation("c"), timeline.Conversation{
			Name: "c", Head: a.Head, Revision: 2, Created: noon, Updated: noon.Add(time.Minute), Project: "p",
			Continues: "before",
		})
	}},
	{"can be empty", func(f *fixture) {
		f.apply(timeline.Change{Conversation: "stays", Stay: true, At: timeline.Place{Trunk: 77, Depth: 7}})
		f.apply(timeline.Change{Conversation: "begins"})
		for _, name := range []string{"stays", "begins"} {
			f.equal("head", f.conversation(name).Head, timeline.Place{})
			heads, err := f.Heads(ctx, timeline.Local, name)
			f.equal("error", err, nil)
			f.equal("heads", heads, []timeline.Place{{}})
		}
		f.equal("history", len(f.raws(timeline.Place{})), 0)
	}},
	{"are listed by name", func(f *fixture) {
		for _, name := range []string{"b", "ä", "a", "Z", "a/b", "a b"} {
			f.say(name, timeline.Place{}, "1")
		}
		all, err := f.Conversations(ctx, timeline.Local)
		if err != nil {
			f.Fatal(err)
		}
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
		}
		f.equal("names", names, []string{"Z", "a", "a b", "a/b", "b", "ä"})
		f.equal("one of them", all[0], f.conversation("Z"))
		none, err := f.Conversations(ctx, "nobody")
		if err != nil || len(none) != 0 {
			f.Errorf("of a tenant that is not there: %v, %v", none, err)
		}
	}},
	{"share what begins alike", func(f *fixture) { // SPEC D1
		a := f.say("a", timeline.Place{}, "1", "2", "3")
		b := f.say("b", timeline.Place{}, "1", "2", "3b")
		f.equal("shared places", b.Places[:2], a.Places[:2])
		c := f.say("c", b.Head, "4c")
		f.reads(c.Head, "1", "2", "3b", "4c")
		d := f.apply(timeline.Change{Conversation: "d", At: a.Places[1]})
		f.equal("head of one that begins in another", d.Head, a.Places[1])
		f.equal("head of the other", f.conversation("a").Head, a.Head)
	}},
	{"are rewound by a change without messages", func(f *fixture) {
		a := f.say("c", timeline.Place{}, "1", "2", "3")
		b := f.apply(timeline.Change{Conversation: "c", At: a.Places[0]})
		f.equal("head", b.Head, a.Places[0])
		heads, err := f.Heads(ctx, timeline.Local, "c")
		f.equal("error", err, nil)
		f.equal("heads", heads, []timeline.Place{a.Places[0], a.Head})
		c := f.apply(timeline.Change{Conversation: "c"})
		f.equal("head at the beginning", c.Head, timeline.Place{})
		heads, err = f.Heads(ctx, timeline.Local, "c")
		f.equal("error", err, nil)
		f.equal("heads", heads, []timeline.Place{{}, a.Head})
	}},
	{"know where their branches end", func(f *fixture) {
		a := f.say("c", timeline.Place{}, numbered("a", 5)...)
		b := f.say("c", a.Places[2], numbered("b", 3)...)
		c := f.say("c", b.Places[0], numbered("c", 3)...)
		d := f.say("c", timeline.Place{}, "edited first")
		back := f.apply(timeline.Change{Conversation: "c", At: b.Head})
		heads, err := f.Heads(ctx, timeline.Local, "c")
		f.equal("error", err, nil)
		f.equal("heads", heads, []timeline.Place{back.Head, a.Head, c.Head, d.Head})
	}},
	{"end where they went, not where others went on", func(f *fixture) {
		a := f.say("a", timeline.Place{}, numbered("a", 3)...)
		f.say("b", a.Head, numbered("b", 3)...) // on the same trunk
		c := f.say("a", a.Head, "c1")           // hence a branch from a's end
		heads, err := f.Heads(ctx, timeline.Local, "a")
		f.equal("error", err, nil)
		f.equal("heads", heads, []timeline.Place{c.Head})
		d := f.say("d", c.Head, "d1") // passes the first trunk only
		heads, err = f.Heads(ctx, timeline.Local, "d")
		f.equal("error", err, nil)
		f.equal("heads", heads, []timeline.Place{d.Head})
	}},
	{"change only if they are those that are expected, not begun again", func(f *fixture) {
		try := func(created time.Time) error {
			_, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Expect: ptr(int64(1)),
				ExpectCreated: created, Messages: saidAll("1"), Now: noon})
			return err
		}
		if err := try(noon); !errors.Is(err, timeline.ErrChanged) {
			f.Errorf("one that is not there: %v", err)
		}
		if _, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", ExpectCreated: noon,
			Messages: saidAll("1"), Now: noon}); !errors.Is(err, timeline.ErrChanged) {
			f.Errorf("one that is not there, at any revision: %v", err)
		}
		f.apply(timeline.Change{Conversation: "c", Messages: saidAll("1"), Now: noon})
		if _, err := f.Delete(ctx, timeline.Local, "c", nil); err != nil {
			f.Fatal(err)
		}
		later := noon.Add(time.Minute + time.Nanosecond)
		f.apply(timeline.Change{Conversation: "c", Messages: saidAll("1"), Now: later})
		if err := try(noon); !errors.Is(err, timeline.ErrChanged) {
			f.Errorf("one that was begun again: %v", err)
		}
		f.equal("the one that is there", try(later), nil)
	}},
	{"change only at the revision that is expected", func(f *fixture) {
		try := func(expect int64) error {
			_, err := f.Apply(ctx, timeline.Local, timeline.Change{
				Conversation: "c", Expect: &expect, Messages: saidAll("1"), Now: noon,
				Put: []timeline.Record{{Kind: "k", Key: "1"}},
			})
			return err
		}
		if err := try(1); !errors.Is(err, timeline.ErrChanged) {
			f.Errorf("expect 1 of one that is not there: %v", err)
		}
		f.equal("written by a change that failed", f.stats(), timeline.Stats{})
		f.equal("expect 0 of one that is not there", try(0), nil)
		for _, wrong := range []int64{-1, 0, 2} {
			if err := try(wrong); !errors.Is(err, timeline.ErrChanged) {
				f.Errorf("expect %d at revision 1: %v", wrong, err)
			}
		}
		f.equal("expect 1", try(1), nil)
		f.equal("revision", f.conversation("c").Revision, int64(2))
	}},
}
