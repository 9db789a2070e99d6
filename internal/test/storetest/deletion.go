package storetest

import (
	"errors"

	"github.com/oriel-context/oriel/timeline"
)

func (f *fixture) remove(name string) timeline.Deleted {
	f.Helper()
	gone, err := f.Delete(ctx, timeline.Local, name, nil)
	if err != nil {
		f.Fatal(err)
	}
	return gone
}

var deletionCases = []testCase{
	{"removes everything of a conversation that stands alone", func(f *fixture) {
		f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("1", "aa"), form("2", "bbb")},
			Contents: [][]byte{[]byte("cccc")},
			Put:      []timeline.Record{rec("k", "1", "", timeline.HashOf([]byte("cccc"))), rec("k", "2", "")}})
		f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("1", "AA"), form("2b", "BBB")}})
		f.equal("deleted", f.remove("c"), timeline.Deleted{Messages: 3, Contents: 5, Records: 2,
			Bytes: 2 + 3 + 4 + 2 + 3})
		f.equal("stats", f.stats(), timeline.Stats{})
		if _, err := f.Conversation(ctx, timeline.Local, "c"); !errors.Is(err, timeline.ErrNoConversation) {
			f.Errorf("it is still there: %v", err)
		}
		if _, err := f.Content(ctx, timeline.Local, timeline.HashOf([]byte("AA"))); !errors.Is(err,
			timeline.ErrNoContent) {
			f.Errorf("a variant is still there: %v", err)
		}
		if p, found, err := f.Under(ctx, timeline.Local, timeline.Place{}, said("1").Identity); found || err != nil {
			f.Errorf("a message is still there: %v, %v", p, err)
		}
		f.equal("begins anew", f.say("c", timeline.Place{}, "1").Revision, int64(1))
	}},
	{"leaves what another conversation has used or passed", func(f *fixture) {
		a := f.say("a", timeline.Place{}, numbered("a", 6)...)
		b := f.say("b", a.Places[3], numbered("b", 2)...) // passes a1 to a4
		f.say("a", b.Places[0], "a again")                // a branch of b's branch
		f.equal("deleted", f.remove("a"), timeline.Deleted{Messages: 3, Contents: 3,
			Bytes: int64(2*len(said("a5").Raw) + len(said("a again").Raw))})
		f.reads(b.Head, "a1", "a2", "a3", "a4", "b1", "b2")
		if _, err := entries(f.Store, timeline.Local, a.Places[4], 1, 9, true); !errors.Is(err, timeline.ErrNoPlace) {
			f.Errorf("a5 is still there: %v", err)
		}
		f.equal("stats", f.stats(), timeline.Stats{Conversations: 1, Messages: 6, Branches: 1, Contents: 6,
			Bytes: int64(6 * len(said("a1").Raw))})
		// The first trunk ends at a4 now, and goes on there.
		c := f.say("c", a.Places[3], "c5")
		f.equal("goes on", c.Head, timeline.Place{Trunk: a.Head.Trunk, Depth: 5})
		again := f.say("c", timeline.Place{}, "a1", "a2", "a3", "a4", "b1")
		f.equal("the branch is found still", again.Head, b.Places[0])
	}},
	{"leaves contents that others refer to", func(f *fixture) {
		f.apply(timeline.Change{Conversation: "a", Messages: []timeline.Message{form("1", "same"), form("2", "own")}})
		f.apply(timeline.Change{Conversation: "b", Messages: []timeline.Message{form("other", "same")}})
		f.apply(timeline.Change{Conversation: "c",
			Put: []timeline.Record{rec("k", "1", "", timeline.HashOf([]byte("own")))}})
		f.equal("deleted", f.remove("a"), timeline.Deleted{Messages: 2})
		for _, raw := range []string{"same", "own"} {
			if got, err := f.Content(ctx, timeline.Local, timeline.HashOf([]byte(raw))); err != nil ||
				string(got) != raw {
				f.Errorf("content %q: %q, %v", raw, got, err)
			}
		}
		f.equal("deleted", f.remove("c"), timeline.Deleted{Records: 1, Contents: 1, Bytes: 3})
	}},
	{"of all conversations leaves nothing, in whatever order", func(f *fixture) {
		for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
			a := f.say("a", timeline.Place{}, numbered("a", 4)...)
			b := f.say("b", a.Places[1], numbered("b", 4)...)
			f.say("c", b.Places[1], numbered("c", 4)...)
			f.say("a", b.Places[2], "from b")
			for _, name := range order {
				f.remove(name)
				f.verify()
			}
			f.equal("stats", f.stats(), timeline.Stats{})
		}
	}},
	{"does not touch other tenants", func(f *fixture) {
		f.say("c", timeline.Place{}, "1", "2")
		b := f.applyAs("other", timeline.Change{Conversation: "c", Messages: saidAll("1", "2")})
		f.remove("c")
		all, err := entries(f.Store, "other", b.Head, 1, 9, false)
		if err != nil || len(all) != 2 || string(all[1].Raw) != string(said("2").Raw) {
			f.Errorf("the other reads %d messages: %v", len(all), err)
		}
	}},
	{"leaves a conversation that is not at the revision expected", func(f *fixture) {
		f.say("c", timeline.Place{}, "1")
		seen := f.say("c", timeline.Place{}, "1", "2").Revision
		f.say("c", timeline.Place{}, "1", "2", "3")
		if _, err := f.Delete(ctx, timeline.Local, "c", &seen); !errors.Is(err, timeline.ErrChanged) {
			f.Errorf("error %v", err)
		}
		f.equal("stats", f.stats().Messages, int64(3))
		seen++
		gone, err := f.Delete(ctx, timeline.Local, "c", &seen)
		if err != nil || gone.Messages != 3 {
			f.Errorf("%+v, %v", gone, err)
		}
		if _, err := f.Delete(ctx, timeline.Local, "c", &seen); !errors.Is(err, timeline.ErrNoConversation) {
			f.Errorf("error %v", err)
		}
	}},
	{"is noticed by Changed", func(f *fixture) {
		f.say("c", timeline.Place{}, "1")
		before, err := f.Changed(ctx)
		if err != nil {
			f.Fatal(err)
		}
		f.remove("c")
		after, err := f.Changed(ctx)
		if err != nil || after == before {
			f.Errorf("%d after %d, %v", after, before, err)
		}
	}},
	{"by closing the store ends it", func(f *fixture) {
		s := f.Store
		defer func() { f.Store = closedStore{s} }()
		f.equal("close", s.Close(), nil)
		f.equal("close again", s.Close(), nil)
		for name, err := range afterClose(s) {
			if !errors.Is(err, timeline.ErrClosed) {
				f.Errorf("%s: %v", name, err)
			}
		}
	}},
}
