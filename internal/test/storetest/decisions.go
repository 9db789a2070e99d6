package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// decide writes a decision and returns the keys of those that stood in its way.
func (f *fixture) decide(key, data string, now time.Time, known ...string) (others []string) {
	f.Helper()
	found, err := timeline.Decide(ctx, f.Store, timeline.Local, timeline.Decision{Conversation: "c", Key: key,
		Data: []byte(data), Known: known, Plans: 4, Now: now})
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range found {
		others = append(others, r.Key)
	}
	slices.Sort(others)
	return others
}

// made are the decisions that a store has, in no order.
func (f *fixture) made() []string {
	all := keys(f.records("c", timeline.KindDecision, ""))
	slices.Sort(all)
	return all
}

var decisionCases = []testCase{
	{"need a conversation", func(f *fixture) {
		_, err := timeline.Decide(ctx, f.Store, timeline.Local, timeline.Decision{Conversation: "c", Key: "p-A-0",
			Now: noon})
		f.equal("error", errors.Is(err, timeline.ErrNoConversation), true)
	}},
	{"are written by who knows all others", func(f *fixture) {
		f.say("c", timeline.Place{}, "1")
		f.equal("the first", f.decide("p-A-0", "a", noon), []string(nil))
		f.equal("beside an unknown one", f.decide("p-B-0", "b", noon), []string{"p-A-0"})
		f.equal("nothing is written", f.made(), []string{"p-A-0=a"})
		f.equal("beside a known one", f.decide("p-B-0", "b", noon, "p-A-0"), []string(nil))
		f.equal("both", f.made(), []string{"p-A-0=a", "p-B-0=b"})
	}},
	{"replace their own", func(f *fixture) {
		f.say("c", timeline.Place{}, "1")
		f.decide("p-A-0", "first", noon)
		f.equal("again", f.decide("p-A-0", "second", noon), []string(nil))
		f.equal("the second", f.made(), []string{"p-A-0=second"})
	}},
	{"yield to plans of calls in keys of all versions, as far as they count", func(f *fixture) {
		f.say("c", timeline.Place{}, "1")
		var put []timeline.Record
		for _, key := range []string{"p-old-0", "p-A-0", "p2-B-0", "p3", "p-C-0"} { // p3 is of items
			put = append(put, rec(timeline.KindPlan, key, ""))
		}
		f.apply(timeline.Change{Conversation: "c", Stay: true, Put: put})
		f.equal("unknown", f.decide("p-D-0", "d", noon, "p-A-0"), []string{"p-C-0", "p2-B-0"})
		f.equal("known", f.decide("p-D-0", "d", noon, "p-A-0", "p-B-0", "p-C-0"), []string(nil))
		f.equal("written", f.made(), []string{"p-D-0=d"})
	}},
	{"stand in the way of no change, and are dropped by changes", func(f *fixture) {
		f.say("c", timeline.Place{}, "1")
		f.decide("p-A-0", "a", noon)
		f.apply(timeline.Change{Conversation: "c", Stay: true, Put: []timeline.Record{rec("call", "1", "")}})
		f.decide("p-B-0", "b", noon, "p-A-0")
		f.apply(timeline.Change{Conversation: "c", Stay: true, Put: []timeline.Record{rec("call", "2", "")},
			Drop: []timeline.Key{{Kind: timeline.KindDecision, Key: "p-A-0"}}})
		f.equal("calls", len(f.records("c", "call", "")), 2)
		f.equal("left", f.made(), []string{"p-B-0=b"})
	}},
	{"of processes that died are forgotten", func(f *fixture) {
		f.say("c", timeline.Place{}, "1")
		f.decide("p-A-0", "a", noon)
		late := noon.Add(timeline.DecisionAge + time.Second)
		f.equal("late", f.decide("p-B-0", "b", late), []string(nil))
		f.equal("left", f.made(), []string{"p-B-0=b"})
	}},
	{"count once of many at the same moment", func(f *fixture) {
		f.say("c", timeline.Place{}, "1")
		var group sync.WaitGroup
		won := make([]bool, 8)
		for i := range won {
			group.Go(func() {
				key := fmt.Sprintf("p-%d-0", i)
				others, err := timeline.Decide(ctx, f.Store, timeline.Local, timeline.Decision{Conversation: "c",
					Key: key, Plans: 4, Now: noon})
				won[i] = err == nil && len(others) == 0
				if err != nil || !won[i] && len(others) != 1 {
					f.Errorf("%s meets %v, %v", key, others, err)
				}
			})
		}
		group.Wait()
		n := 0
		for _, w := range won {
			if w {
				n++
			}
		}
		f.equal("first", n, 1)
		f.equal("written", len(f.made()), 1)
	}},
}
