package storetest

import (
	"bytes"
	"errors"
	"math"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

var messageCases = []testCase{
	{"come back byte for byte, with all that was said of them", func(f *fixture) { // SPEC A7, D1
		m := timeline.Message{
			Identity: timeline.HashOf([]byte("odd")), Raw: []byte("{ \"a\":\t1.0,\"b\":\"\\u00e9\xff\x00\"}\n"),
			Format: "anthropic", Role: "assistant", Ref: "msg_01", Time: noon.Add(-time.Hour),
		}
		a := f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{m}})
		f.equal("entries", f.entries(a.Head),
			[]timeline.Entry{{Place: a.Head, Message: m, Content: timeline.HashOf(m.Raw)}})
	}},
	{"of any size come back, also an empty one", func(f *fixture) {
		large := bytes.Repeat([]byte("0123456789abcdef\x00\xfe"), 1<<16)
		a := f.apply(timeline.Change{Conversation: "c",
			Messages: []timeline.Message{form("empty", ""), form("large", string(large))}})
		all := f.entries(a.Head)
		if len(all) != 2 || len(all[0].Raw) != 0 || !bytes.Equal(all[1].Raw, large) {
			f.Errorf("%d messages, not the bytes that were given", len(all))
		}
		f.equal("content bytes", f.stats().Bytes, int64(len(large)))
	}},
	{"are the store's own copy", func(f *fixture) {
		m := said("one")
		a := f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{m}})
		m.Raw[2] = 'X'
		got, err := f.Content(ctx, timeline.Local, timeline.HashOf(said("one").Raw))
		if err != nil {
			f.Fatal(err)
		}
		got[2] = 'Y'
		f.reads(a.Head, "one")
	}},
	{"without a time have that of the change, in microseconds UTC", func(f *fixture) {
		zone := time.FixedZone("east", 3600)
		now := time.Date(2025, 1, 2, 3, 4, 5, 678901999, zone)
		old := said("b")
		old.Time = time.Date(1969, 12, 31, 23, 0, 0, 1999, time.UTC)
		a := f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{said("a"), old}, Now: now})
		all := f.entries(a.Head)
		f.equal("time not given", all[0].Time, time.Date(2025, 1, 2, 2, 4, 5, 678901000, time.UTC))
		f.equal("zone", all[0].Time.Location().String(), "UTC")
		f.equal("time before 1970", all[1].Time, time.Date(1969, 12, 31, 23, 0, 0, 1000, time.UTC))
	}},
	{"at the end of a trunk go on it", func(f *fixture) {
		a := f.say("c", timeline.Place{}, "1", "2")
		b := f.say("c", a.Head, "3")
		f.equal("place", b.Places, []timeline.Place{{Trunk: a.Head.Trunk, Depth: 3}})
		f.equal("head", b.Head, b.Places[0])
		f.reads(b.Head, "1", "2", "3")
		f.equal("branches", f.stats().Branches, int64(0))
	}},
	{"in the middle of a trunk begin a branch that goes on counting", func(f *fixture) { // SPEC D1
		a := f.say("c", timeline.Place{}, "1", "2", "3")
		b := f.say("c", a.Places[0], "2b", "3b")
		if b.Head.Trunk <= a.Head.Trunk || b.Head.Depth != 3 || b.Places[0].Depth != 2 ||
			b.Places[0].Trunk != b.Head.Trunk {
			f.Errorf("branch at %v, head %v after %v", b.Places[0], b.Head, a.Head)
		}
		f.reads(b.Head, "1", "2b", "3b")
		f.reads(a.Head, "1", "2", "3")
		f.equal("stats", f.stats(), timeline.Stats{Conversations: 1, Messages: 5, Branches: 1, Contents: 5,
			Bytes: 3*12 + 2*13})
	}},
	{"that are there already are not written again", func(f *fixture) { // SPEC D1
		a := f.say("c", timeline.Place{}, "1", "2", "3")
		again := f.apply(timeline.Change{Conversation: "c", Now: noon.Add(time.Hour), Messages: []timeline.Message{
			said("1"), {Identity: said("2").Identity, Raw: said("2").Raw, Format: "openai", Role: "tool", Ref: "other"},
			said("3"), said("4"),
		}})
		f.equal("places", again.Places, append(a.Places, timeline.Place{Trunk: a.Head.Trunk, Depth: 4}))
		f.equal("new", again.New, struct{ Messages, Variants, Contents int }{1, 0, 1})
		second := f.entries(again.Head)[1]
		if second.Format != "item" || second.Role != "user" || second.Ref != "" || !second.Time.Equal(noon) {
			f.Errorf("the first writing did not stay: %+v", second)
		}
	}},
	{"that are there on a branch are found there", func(f *fixture) {
		a := f.say("c", timeline.Place{}, "1", "2", "3")
		b := f.say("c", a.Places[0], "2b", "3b")
		again := f.say("d", timeline.Place{}, "1", "2b", "3b", "4b")
		f.equal("places", again.Places, []timeline.Place{a.Places[0], b.Places[0], b.Places[1],
			{Trunk: b.Head.Trunk, Depth: 4}})
		f.equal("new messages", again.New.Messages, 1)
	}},
	{"with other bytes become variants, each form once", func(f *fixture) { // SPEC D1
		a := f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("x", "x0"), said("y")}})
		for i, raw := range []string{"x1", "x0", "x2", "x1", "x2"} {
			b := f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("x", raw), said("y")}})
			f.equal("head", b.Head, a.Head)
			want := 0
			if i == 0 || i == 2 {
				want = 1
			}
			f.equal("new variants of "+raw, b.New, struct{ Messages, Variants, Contents int }{0, want, want})
		}
		first := f.entries(a.Head)[0]
		f.equal("first form", string(first.Raw), "x0")
		f.equal("variants", first.Variants,
			[]timeline.Hash{timeline.HashOf([]byte("x1")), timeline.HashOf([]byte("x2"))})
		for _, raw := range []string{"x0", "x1", "x2"} {
			got, err := f.Content(ctx, timeline.Local, timeline.HashOf([]byte(raw)))
			if err != nil || string(got) != raw {
				f.Errorf("content %s: %q, %v", raw, got, err)
			}
		}
		f.equal("variants counted", f.stats().Variants, int64(2))
	}},
	{"are written only in the forms that are expected", func(f *fixture) {
		a := f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("x", "x0"), said("y")},
			Forms: []int{0, 0}})
		send := func(raw string, forms ...int) error {
			_, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c",
				Messages: []timeline.Message{form("x", raw), said("y"), said("z")}[:len(forms)], Forms: forms,
				Now: noon})
			return err
		}
		for _, forms := range [][]int{{0, 0, 0}, {2, 0, 0}, {1, 1, 0}, {1, 0, 1}} {
			if err := send("x1", forms...); !errors.Is(err, timeline.ErrForms) {
				f.Errorf("forms %v: %v", forms, err)
			}
		}
		refused := func(raw string, forms ...int) (e *timeline.FormsError) {
			if err := send(raw, forms...); !errors.As(err, &e) {
				f.Fatalf("forms %v: %v", forms, err)
			}
			return e
		}
		x0, x1 := timeline.HashOf([]byte("x0")), timeline.HashOf([]byte("x1"))
		f.equal("what is stored", *refused("x1", 1, 0, 1),
			timeline.FormsError{Message: 2, Places: a.Places, Forms: [][]timeline.Hash{{x0}, nil}})
		f.equal("after refusals", f.conversation("c").Head, a.Head)
		f.equal("variants after refusals", f.stats().Variants, int64(0))
		f.equal("a new form", send("x1", 1, 0), nil)
		f.equal("the first form", send("x0", 0, 0), nil)
		f.equal("a known form, and a new message", send("x1", 1, 0, 0), nil)
		f.equal("a form that is stored", refused("x1", 2).Forms, [][]timeline.Hash{{x0, x1}})
		f.equal("another", send("x2", 2, 0, 0), nil)
		_, err := f.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", Messages: saidAll("z"),
			Forms: []int{0, 0}, Now: noon})
		if !errors.Is(err, timeline.ErrInvalid) {
			f.Errorf("more forms than messages: %v", err)
		}
	}},
	{"of the same bytes share a content", func(f *fixture) { // SPEC D1
		f.apply(timeline.Change{Conversation: "c", Messages: []timeline.Message{form("1", "same"), form("2", "same"),
			form("3", "same")}})
		f.equal("stats", f.stats(), timeline.Stats{Conversations: 1, Messages: 3, Contents: 1, Bytes: 4})
	}},
	{"of the same identity under different places are different messages", func(f *fixture) {
		a := f.say("c", timeline.Place{}, "yes", "yes", "yes")
		f.equal("places", a.Places, []timeline.Place{{Trunk: a.Head.Trunk, Depth: 1}, {Trunk: a.Head.Trunk, Depth: 2},
			{Trunk: a.Head.Trunk, Depth: 3}})
	}},
	{"are read in ranges across branches", func(f *fixture) {
		a := f.say("c", timeline.Place{}, numbered("a", 5)...)
		b := f.say("c", a.Places[2], numbered("b", 5)...)
		c := f.say("c", b.Places[1], numbered("c", 3)...)
		way := []string{"a1", "a2", "a3", "b1", "b2", "c1", "c2", "c3"}
		f.reads(c.Head, way...)
		for first := int64(-1); first <= 10; first++ {
			for last := int64(-1); last <= 10; last++ {
				for _, hashes := range []bool{false, true} {
					all, err := entries(f.Store, timeline.Local, c.Head, first, last, hashes)
					if err != nil {
						f.Fatal(err)
					}
					from, to := max(first, 1), min(last, int64(len(way)))
					if want := max(0, to-from+1); int64(len(all)) != want {
						f.Fatalf("%d to %d: %d messages, want %d", first, last, len(all), want)
					}
					for i, e := range all {
						want := said(way[from-1+int64(i)])
						if e.Place.Depth != from+int64(i) || e.Identity != want.Identity ||
							e.Content != timeline.HashOf(want.Raw) {
							f.Errorf("%d to %d: depth %d is %+v", first, last, from+int64(i), e)
						}
						if hashes && e.Raw != nil || !hashes && !bytes.Equal(e.Raw, want.Raw) {
							f.Errorf("%d to %d, hashes %v: bytes %q", first, last, hashes, e.Raw)
						}
					}
				}
			}
		}
	}},
	{"are visited until the visitor has enough", func(f *fixture) {
		a := f.say("c", timeline.Place{}, numbered("m", 600)...)
		enough, n := errors.New("enough"), 0
		err := f.Messages(ctx, timeline.Local, a.Head, 1, math.MaxInt64, false, func(*timeline.Entry) error {
			if n++; n == 300 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || n != 300 {
			f.Errorf("after %d visits: %v", n, err)
		}
	}},
	{"are found under their place by what they say", func(f *fixture) {
		a := f.say("c", timeline.Place{}, "1", "2")
		b := f.say("c", a.Places[0], "2b")
		for _, c := range []struct {
			at   timeline.Place
			text string
			want timeline.Place
		}{
			{timeline.Place{}, "1", a.Places[0]},
			{timeline.Place{}, "2", timeline.Place{}},
			{a.Places[0], "2", a.Places[1]},
			{a.Places[0], "2b", b.Places[0]},
			{a.Places[0], "1", timeline.Place{}},
			{a.Head, "3", timeline.Place{}},
		} {
			got, found, err := f.Under(ctx, timeline.Local, c.at, said(c.text).Identity)
			if err != nil || got != c.want || found != (c.want != timeline.Place{}) {
				f.Errorf("%q under %v: %v, %v, %v; want %v", c.text, c.at, got, found, err, c.want)
			}
		}
	}},
	{"are never seen by another tenant", func(f *fixture) {
		a := f.say("c", timeline.Place{}, "1", "2")
		b := f.applyAs("other", timeline.Change{Conversation: "c", Messages: saidAll("1", "2")})
		f.equal("new for the other", b.New, struct{ Messages, Variants, Contents int }{2, 0, 2})
		if b.Head.Trunk == a.Head.Trunk {
			f.Error("tenants share a trunk")
		}
		if _, err := entries(f.Store, "other", a.Head, 1, 2, false); !errors.Is(err, timeline.ErrNoPlace) {
			f.Errorf("the other reads: %v", err)
		}
		if _, _, err := f.Under(ctx, "other", a.Head, said("1").Identity); !errors.Is(err, timeline.ErrNoPlace) {
			f.Errorf("the other looks under: %v", err)
		}
		f.say("c", a.Head, "secret")
		if _, err := f.Content(ctx, "other", timeline.HashOf(said("secret").Raw)); !errors.Is(err,
			timeline.ErrNoContent) {
			f.Errorf("the other reads a content: %v", err)
		}
		if st, err := f.Stats(ctx, "nobody"); err != nil || st.Messages != 0 {
			f.Errorf("of a tenant that is not there: %+v, %v", st, err)
		}
	}},
}
