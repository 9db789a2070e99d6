package storetest

import (
	"fmt"

	"github.com/oriel-context/oriel/timeline"
)

var branchCases = []testCase{
	// SPEC D1: what parts costs what is new.
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
			// Rewind the present branch by some messages, and go on otherwise.
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
		f.equal("deleted messages", f.delete("one").Messages, 30)
		f.reads(b.Head, two...)
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
