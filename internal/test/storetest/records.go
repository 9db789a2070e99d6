package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

func (f *fixture) records(conversation, kind, key string) []timeline.Record {
	f.Helper()
	all, err := f.Records(ctx, timeline.Local, conversation, kind, key)
	if err != nil {
		f.Fatal(err)
	}
	if keys, err := f.RecordKeys(ctx, timeline.Local, conversation, kind); err != nil ||
		key == "" && !slices.EqualFunc(keys, all, func(k string, r timeline.Record) bool { return k == r.Key }) {
		f.Errorf("keys %q of %d records of %s, %v", keys, len(all), kind, err)
	}
	for i := range all { // none is nil, whatever the store gives
		all[i].Data = append([]byte{}, all[i].Data...)
		all[i].Contents = append([]timeline.Hash{}, all[i].Contents...)
	}
	return all
}

func rec(kind, key, data string, contents ...timeline.Hash) timeline.Record {
	return timeline.Record{Kind: kind, Key: key, Data: []byte(data), Contents: append([]timeline.Hash{}, contents...),
		Time: noon}
}

func keys(records []timeline.Record) (all []string) {
	for _, r := range records {
		all = append(all, r.Key+"="+string(r.Data))
	}
	return all
}

var recordCases = []testCase{
	{"come back as they were put", func(f *fixture) {
		data := []byte("bytes \x00\xff")
		h := timeline.HashOf(data)
		a := f.say("c", timeline.Place{}, "1", "2")
		r := rec("plan", "1", "data\x00\xfe", h, timeline.HashOf(said("1").Raw), h)
		r.At, r.Time = a.Places[0], noon.Add(1500*time.Nanosecond)
		b := f.apply(timeline.Change{Conversation: "c", Stay: true, Contents: [][]byte{data},
			Put: []timeline.Record{r}})
		f.equal("new", b.New, struct{ Messages, Variants, Contents int }{0, 0, 1})
		r.Time = noon.Add(1000 * time.Nanosecond)
		f.equal("records", f.records("c", "plan", "1"), []timeline.Record{r})
		got, err := f.Content(ctx, timeline.Local, h)
		if err != nil || string(got) != string(data) {
			f.Errorf("content: %q, %v", got, err)
		}
	}},
	{"keep the order in which they were first written", func(f *fixture) {
		put := func(records ...timeline.Record) {
			f.Helper()
			f.apply(timeline.Change{Conversation: "c", Stay: true, Put: records})
		}
		put(rec("k", "b", "1"), rec("k", "a", "1"), rec("other", "x", "1"))
		put(rec("k", "c", "1"))
		put(rec("k", "a", "2"), rec("k", "d", "1"), rec("k", "b", "2"))
		f.equal("records", keys(f.records("c", "k", "")), []string{"b=2", "a=2", "c=1", "d=1"})
		f.apply(timeline.Change{Conversation: "c", Stay: true,
			Drop: []timeline.Key{{Kind: "k", Key: "a"}, {Kind: "k", Key: "none"}}})
		put(rec("k", "a", "3"))
		f.equal("after one was dropped and put again", keys(f.records("c", "k", "")),
			[]string{"b=2", "c=1", "d=1", "a=3"})
		f.equal("counted", f.stats().Records, int64(5))
	}},
	{"are found by kind and key in their conversation only", func(f *fixture) {
		f.apply(timeline.Change{Conversation: "c", Put: []timeline.Record{rec("k", "1", "c")}})
		f.apply(timeline.Change{Conversation: "d", Put: []timeline.Record{rec("k", "1", "d"), rec("l", "1", "l")}})
		f.equal("of d", keys(f.records("d", "k", "")), []string{"1=d"})
		for _, k := range []timeline.Key{{Kind: "k", Key: "2"}, {Kind: "l", Key: "1"}, {Kind: "", Key: ""}} {
			f.equal("none", len(f.records("c", k.Kind, k.Key)), 0)
		}
		if _, err := f.RecordKeys(ctx, timeline.Local, "nobody's", "k"); !errors.Is(err, timeline.ErrNoConversation) {
			f.Error(err)
		}
		if _, err := f.Records(ctx, timeline.Local, "nobody's", "k", ""); !errors.Is(err, timeline.ErrNoConversation) {
			f.Errorf("of a conversation that is not there: %v", err)
		}
	}},
	{"can stand at the head that their change makes", func(f *fixture) {
		r := rec("call", "1", "")
		r.At = timeline.AtHead()
		a := f.apply(timeline.Change{Conversation: "c", Messages: saidAll("1", "2"), Put: []timeline.Record{r}})
		f.equal("place", f.records("c", "call", "1")[0].At, a.Head)
		f.apply(timeline.Change{Conversation: "c", At: a.Places[0],
			Put: []timeline.Record{{Kind: "call", Key: "2", At: timeline.AtHead()}}})
		rewound := f.records("c", "call", "2")[0]
		f.equal("place after a rewind", rewound.At, a.Places[0])
		f.equal("time not given", rewound.Time, noon)
		f.apply(timeline.Change{Conversation: "new", Put: []timeline.Record{r}})
		f.equal("place in an empty one", f.records("new", "call", "1")[0].At, timeline.Place{})
	}},
	{"can stand at a message that their change appends", func(f *fixture) {
		at := func(depth int64) []timeline.Record {
			return []timeline.Record{{Kind: "call", Key: "1", At: timeline.AtDepth(depth)}}
		}
		a := f.apply(timeline.Change{Conversation: "c", Messages: saidAll("1", "2", "3"), Put: at(2)})
		f.equal("place on a new trunk", f.records("c", "call", "1")[0].At, a.Places[1])
		b := f.apply(timeline.Change{Conversation: "c", At: a.Head, Messages: saidAll("4"), Put: at(4)})
		f.equal("place on a trunk that goes on", f.records("c", "call", "1")[0].At, b.Places[0])
		f.apply(timeline.Change{Conversation: "c", At: a.Places[0], Messages: saidAll("2", "3b"), Stay: true,
			Put: at(2)})
		f.equal("place of one that was there", f.records("c", "call", "1")[0].At, a.Places[1])
		for _, depth := range []int64{-1, 1, 4} { // before the messages, and behind them
			_, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: a.Places[0],
				Messages: saidAll("2", "3"), Put: at(depth), Now: noon})
			if !errors.Is(err, timeline.ErrNoPlace) {
				f.Errorf("at depth %d: %v", depth, err)
			}
		}
	}},
	{"stand only where their conversation has been", func(f *fixture) {
		a := f.say("a", timeline.Place{}, "1", "2", "3")
		b := f.say("b", a.Places[0], "2b")
		put := func(conversation string, at timeline.Place) error {
			_, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: conversation, Stay: true, Now: noon,
				Put: []timeline.Record{{Kind: "k", Key: "1", At: at}}})
			return err
		}
		f.equal("where b passed", put("b", a.Places[0]), nil)
		f.equal("where b is", put("b", b.Head), nil)
		for _, at := range []timeline.Place{a.Places[1], {Trunk: b.Head.Trunk, Depth: 1},
			{Trunk: b.Head.Trunk, Depth: 3}, {Trunk: 1 << 40, Depth: 1}} {
			if err := put("b", at); !errors.Is(err, timeline.ErrNoPlace) {
				f.Errorf("b at %v: %v", at, err)
			}
		}
		f.equal("where a new one begins", func() error {
			_, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: "new", At: a.Places[1], Now: noon,
				Put: []timeline.Record{{Kind: "k", Key: "1", At: a.Places[0]}}})
			return err
		}(), nil)
	}},
	{"are dropped, then put", func(f *fixture) {
		f.apply(timeline.Change{Conversation: "c", Put: []timeline.Record{rec("k", "a", "old"), rec("k", "b", "old"),
			rec("k", "c", "old")}})
		f.apply(timeline.Change{Conversation: "c", Stay: true,
			Drop: []timeline.Key{{Kind: "k", Key: "a"}, {Kind: "k", Key: "b"}},
			Put:  []timeline.Record{rec("k", "a", "put")},
		})
		f.equal("records", keys(f.records("c", "k", "")), []string{"c=old", "a=put"})
	}},
	{"keep contents that the tenant has, and let go of them at the end", func(f *fixture) {
		x, y := []byte("x"), []byte("y")
		hx, hy := timeline.HashOf(x), timeline.HashOf(y)
		f.apply(timeline.Change{Conversation: "c", Contents: [][]byte{x, y, []byte("unused")},
			Put: []timeline.Record{rec("k", "1", "", hx, hy)}})
		f.equal("contents", f.stats().Contents, int64(2))
		// Written over: it still refers to x, which nobody gives again.
		a := f.apply(timeline.Change{Conversation: "c", Stay: true, Put: []timeline.Record{rec("k", "1", "", hx)}})
		f.equal("new contents", a.New.Contents, 0)
		f.equal("contents", f.stats().Contents, int64(1))
		// Dropped, and put under another key in the same change.
		f.apply(timeline.Change{Conversation: "c", Stay: true, Drop: []timeline.Key{{Kind: "k", Key: "1"}},
			Put: []timeline.Record{rec("k", "2", "", hx)}})
		f.equal("contents", f.stats().Contents, int64(1))
		// A message of the change counts.
		m := said("m")
		f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{m},
			Put: []timeline.Record{rec("k", "2", "", timeline.HashOf(m.Raw))}})
		if _, err := f.Content(ctx, timeline.Local, hx); !errors.Is(err, timeline.ErrNoContent) {
			f.Errorf("content that nothing refers to: %v", err)
		}
		f.equal("bytes", f.stats().Bytes, int64(len(m.Raw)))
	}},
	{"refer to nothing that is not there", func(f *fixture) {
		before := f.say("c", timeline.Place{}, "1")
		f.applyAs("other", timeline.Change{Conversation: "c", Messages: saidAll("theirs")})
		for _, h := range []timeline.Hash{{1}, timeline.HashOf(said("theirs").Raw)} {
			_, err := f.Apply(ctx, timeline.Local,
				timeline.Change{Conversation: "c", At: before.Head, Messages: saidAll("2"), Now: noon,
					Put: []timeline.Record{rec("k", "1", "", h)}})
			if !errors.Is(err, timeline.ErrNoContent) {
				f.Errorf("content %v: %v", h, err)
			}
		}
		f.equal("head after changes that failed", f.conversation("c").Head, before.Head)
		f.equal("stats after changes that failed", f.stats(), timeline.Stats{Conversations: 1, Messages: 1, Contents: 1,
			Bytes: 12})
	}},
	{"belong to whom they are given", func(f *fixture) {
		r := rec("k", "1", "data", timeline.HashOf([]byte("x")))
		f.apply(timeline.Change{Conversation: "c", Contents: [][]byte{[]byte("x")}, Put: []timeline.Record{r}})
		copy(r.Data, "DATA")
		got := f.records("c", "k", "1")
		copy(got[0].Data, "DATA")
		got[0].Contents[0] = timeline.Hash{}
		again := f.records("c", "k", "1")
		if string(again[0].Data) != "data" || slices.Contains(again[0].Contents, timeline.Hash{}) {
			f.Errorf("changed from outside: %+v", again[0])
		}
	}},
}
