package storetest

import (
	"fmt"

	"github.com/oriel-context/oriel/timeline"
)

var branchCases = []testCase{
	// SPEC D1: a branch costs only its new messages.
	{"by ten rewinds cost what is new", func(f *fixture) {
		const trunk, back, on = 200, 20, 5
		base := numbered("base", trunk)
		a := f.say("c", timeline.Place{}, base...)
		before := f.stats()
		type branch struct {
			head  timeline.Place
			texts []string
		}
		all := []branch{{a.Head, base}}
		way, places := base, a.Places
		for i := range 10 {
			// Rewind the current branch by some messages, and continue
			// differently.
			keep := len(way) - back
			texts := numbered(fmt.Sprintf("rewind %d ", i), on)
			f.apply(timeline.Change{Conversation: "c", At: places[keep-1]})
			b := f.say("c", places[keep-1], texts...)
			way = append(way[:keep:keep], texts...)
			places = append(places[:keep:keep], b.Places...)
			all = append(all, branch{b.Head, way})
		}
		after := f.stats()
		f.equal("messages", after.Messages-before.Messages, int64(10*on))
		f.equal("contents", after.Contents-before.Contents, int64(10*on))
		f.equal("branches", after.Branches, int64(10))
		for _, b := range all {
			f.reads(b.head, b.texts...)
		}
		heads, err := f.Heads(ctx, timeline.Local, "c")
		f.equal("error", err, nil)
		f.equal("ends", len(heads), 11)
		f.equal("present head", heads[0], all[10].head)
	}},
	{"of two conversations share a prefix of 500 messages", func(f *fixture) {
		prefix := numbered("shared", 500)
		one := append(prefix[:500:500], numbered("one", 30)...)
		two := append(prefix[:500:500], numbered("two", 40)...)
		a := f.say("one", timeline.Place{}, one...)
		b := f.say("two", timeline.Place{}, two...)
		f.equal("new", b.New, struct{ Messages, Variants, Contents int }{40, 0, 40})
		st := f.stats()
		f.equal("messages", st.Messages, int64(570))
		f.equal("contents", st.Contents, int64(570))
		f.equal("branches", st.Branches, int64(1))
		f.reads(a.Head, one...)
		f.reads(b.Head, two...)
		f.equal("deleted messages", f.remove("one").Messages, 30)
		f.reads(b.Head, two...)
	}},
	{"that are written while the head stays are the conversation's", func(f *fixture) {
		a := f.say("c", timeline.Place{}, "1", "2", "3")
		on := f.apply(timeline.Change{Conversation: "c", At: a.Head, Stay: true, Messages: saidAll("4", "5")})
		f.equal("head", on.Head, a.Head)
		f.equal("revision", on.Revision, int64(2))
		off := f.apply(timeline.Change{Conversation: "c", At: a.Places[0], Stay: true, Messages: saidAll("2b"),
			Put: []timeline.Record{{Kind: "k", Key: "head", At: timeline.AtHead()},
				{Kind: "k", Key: "on", At: on.Places[1]}}})
		f.equal("head", off.Head, a.Head)
		f.apply(timeline.Change{Conversation: "c", Stay: true,
			Put: []timeline.Record{{Kind: "k", Key: "off", At: off.Places[0]}}})
		records, err := f.Records(ctx, timeline.Local, "c", "k", "")
		f.equal("error", err, nil)
		f.equal("places", []timeline.Place{records[0].At, records[1].At, records[2].At},
			[]timeline.Place{a.Head, on.Places[1], off.Places[0]})
		heads, err := f.Heads(ctx, timeline.Local, "c")
		f.equal("error", err, nil)
		f.equal("heads", heads, []timeline.Place{a.Head, on.Places[1], off.Places[0]})
		f.reads(a.Head, "1", "2", "3")
		f.reads(on.Places[1], "1", "2", "3", "4", "5")

		first := f.apply(timeline.Change{Conversation: "d", Stay: true, Messages: saidAll("1", "2")})
		f.equal("head of a conversation that begins so", first.Head, timeline.Place{})
		f.equal("deleted messages", f.remove("c").Messages, 4) // "d" has used the others
		f.reads(first.Places[1], "1", "2")
		f.equal("deleted messages", f.remove("d").Messages, 2)
	}},
	{"by an edit of the first message keep the contents", func(f *fixture) {
		texts := numbered("m", 100)
		a := f.say("c", timeline.Place{}, texts...)
		edited := append([]string{"edited"}, texts[1:]...)
		b := f.say("c", timeline.Place{}, edited...)
		f.equal("new", b.New, struct{ Messages, Variants, Contents int }{100, 0, 1})
		f.equal("branches", f.stats().Branches, int64(0)) // it is another beginning
		f.reads(a.Head, texts...)
		f.reads(b.Head, edited...)
		heads, err := f.Heads(ctx, timeline.Local, "c")
		f.equal("error", err, nil)
		f.equal("heads", heads, []timeline.Place{b.Head, a.Head})
	}},
	{"of a long history resent whole cost nothing", func(f *fixture) {
		texts := numbered("m", 1000)
		a := f.say("c", timeline.Place{}, texts...)
		before := f.stats()
		for range 3 {
			b := f.say("c", timeline.Place{}, texts...)
			f.equal("head", b.Head, a.Head)
			f.equal("new", b.New, struct{ Messages, Variants, Contents int }{})
		}
		f.equal("stats", f.stats(), before)
	}},
}
