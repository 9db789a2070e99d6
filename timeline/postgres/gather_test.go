package postgres_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
)

// grow makes a history of several conversations that branch from one another, with records.
func grow(t *testing.T, s timeline.Store, random *rand.Rand) (names []string, paths [][]string) {
	t.Helper()
	names = []string{"talk", "talk~2", "talk~3", "talking", "talk.", "other"}
	paths = make([][]string, len(names))
	for step := range 40 {
		i := random.IntN(len(names))
		from := paths[random.IntN(len(paths))]
		if random.IntN(4) > 0 {
			from = paths[i]
		}
		path := slices.Clone(from[:len(from)-random.IntN(min(len(from), 3)+1)])
		for range 1 + random.IntN(3) {
			path = append(path, fmt.Sprint("says ", random.IntN(6)))
		}
		c := timeline.Change{Conversation: names[i], Stay: len(paths[i]) > 0 && random.IntN(4) == 0,
			Now: time.Unix(int64(1000+step), 0)}
		for _, text := range path {
			raw := text
			if random.IntN(8) == 0 {
				raw += " in another form"
			}
			c.Messages = append(c.Messages, timeline.Message{Identity: timeline.HashOf([]byte(text)), Raw: []byte(raw),
				Format: "item", Role: "user", Ref: "r"})
		}
		if !c.Stay {
			paths[i] = path
		}
		for n := range random.IntN(3) {
			content := fmt.Appendf(nil, "content %d", random.IntN(20))
			c.Contents = append(c.Contents, content)
			kind := []string{timeline.KindPin, timeline.KindPlan, timeline.KindHold, timeline.KindDecision, "thread",
				"summary", "call"}[random.IntN(7)]
			key := fmt.Sprint(step*3 + n)
			if kind == timeline.KindPlan || kind == timeline.KindDecision {
				key = fmt.Sprintf("p-c%d-%d", step, n)
				if random.IntN(2) == 0 { // as earlier programs write it
					key = fmt.Sprintf("p%d%s", step*3+n+1, key[1:])
				}
			}
			r := timeline.Record{Kind: kind, Key: key, Data: fmt.Appendf(nil, "data %d", step),
				Contents: []timeline.Hash{timeline.HashOf(content)}}
			if random.IntN(2) == 0 {
				r.At = timeline.AtDepth(int64(len(path)))
			}
			c.Put = append(c.Put, r)
		}
		if _, err := s.Apply(ctx, timeline.Local, c); err != nil {
			t.Fatal(err)
		}
	}
	return names, paths
}

// visited returns what a store visits.
func visited(s timeline.Store, to timeline.Place, first, last int64) (all []timeline.Entry, err error) {
	err = s.Messages(ctx, timeline.Local, to, first, last, true, func(e *timeline.Entry) error {
		own := *e
		own.Variants = slices.Clone(e.Variants)
		all = append(all, own)
		return nil
	})
	return all, err
}

// What a snapshot answers from one reading is what the store answers question by question.
func TestSnapshotAnswersAsItsStore(t *testing.T) {
	url := pgtest.URL(t)
	s := open(t, url)
	for seed := range uint64(3) {
		empty(t, url)
		random := rand.New(rand.NewPCG(seed, 1))
		names, _ := grow(t, s, random)
		for _, name := range append(names, "none") {
			for _, w := range []timeline.Wanted{{Messages: true}, {},
				{Known: []string{"p-c3-0", "p-c12-0", "p-c30-0"}, Plans: 3}} {
				compare(t, s, timeline.NewSnapshot(s, timeline.Local, name, w), name, &w)
			}
		}
	}
}

func compare(t *testing.T, s timeline.Store, snapshot *timeline.Snapshot, name string, w *timeline.Wanted) {
	t.Helper()
	check := func(what string, want, got any, err1, err2 error) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" || !errors.Is(err2, errors.Unwrap(err1)) && err2 != err1 {
			t.Fatalf("%s of %q, %+v: %v, %v: %s", what, name, *w, err1, err2, d)
		}
	}
	wantC, err1 := s.Conversation(ctx, timeline.Local, name)
	gotC, err2 := snapshot.Conversation(ctx, timeline.Local, name)
	check("the conversation", wantC, gotC, err1, err2)
	wantHeads, err1 := s.Heads(ctx, timeline.Local, name)
	gotHeads, err2 := snapshot.Heads(ctx, timeline.Local, name)
	check("the heads", wantHeads, gotHeads, err1, err2)
	for _, head := range wantHeads {
		for range 3 {
			first := rand.Int64N(head.Depth + 2)
			last := first + rand.Int64N(head.Depth+2)
			want, err1 := visited(s, head, first, last)
			got, err2 := visited(snapshot, head, first, last)
			check("the messages", want, got, err1, err2)
		}
	}
	for _, kind := range append(slices.Clone(timeline.GatheredKinds), "call") {
		wantKeys, err1 := s.RecordKeys(ctx, timeline.Local, name, kind)
		gotKeys, err2 := snapshot.RecordKeys(ctx, timeline.Local, name, kind)
		check("the keys of kind "+kind, wantKeys, gotKeys, err1, err2)
		want, err1 := s.Records(ctx, timeline.Local, name, kind, "")
		got, err2 := snapshot.Records(ctx, timeline.Local, name, kind, "")
		for i := range got {
			if got[i].Data == nil { // it was left out
				_, call, _ := strings.Cut(got[i].Key, "-")
				old := w.Plans > 0 && i < len(got)-w.Plans
				if kind != timeline.KindPlan || !old && !slices.Contains(w.Known, "p-"+call) {
					t.Fatalf("record %s %s of %q is left out", kind, got[i].Key, name)
				}
				got[i].Data, got[i].Contents = want[i].Data, want[i].Contents
			}
		}
		check("the records of kind "+kind, want, got, err1, err2)
		for _, r := range want {
			if one, err := snapshot.Records(ctx, timeline.Local, name, kind, r.Key); err != nil ||
				!cmp.Equal(one, []timeline.Record{r}) {
				t.Fatalf("record %s %s of %q: %v, %v", kind, r.Key, name, one, err)
			}
			if kind == timeline.KindPin && r.At.Depth > 0 {
				all, err := visited(s, r.At, r.At.Depth, math.MaxInt64)
				if identity, ok := snapshot.Identity(r.At); err != nil || !ok || identity != all[0].Identity {
					t.Fatalf("the message of pin %s of %q: %v, %v", r.Key, name, identity, ok)
				}
			}
			for _, h := range r.Contents {
				want, err1 := s.Content(ctx, timeline.Local, h)
				got, err2 := snapshot.Content(ctx, timeline.Local, h)
				check("a content", want, got, err1, err2)
			}
		}
	}
}

// Follow finds the places that Under finds one by one, and the conversations that end on the
// last trunk; Family finds those of a session.
func TestFollowAndFamily(t *testing.T) {
	url := pgtest.URL(t)
	s := open(t, url)
	random := rand.New(rand.NewPCG(7, 1))
	names, paths := grow(t, s, random)
	all, err := s.Conversations(ctx, timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		path := slices.Clone(paths[i%len(paths)])
		if i%3 > 0 {
			path = append(path[:random.IntN(len(path)+1)], "says 1", "unknown", "says 2")
		}
		var identities []timeline.Hash
		for _, text := range path {
			identities = append(identities, timeline.HashOf([]byte(text)))
		}
		var want []timeline.Place
		at := timeline.Place{}
		for _, h := range identities {
			next, ok, err := s.Under(ctx, timeline.Local, at, h)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			want, at = append(want, next), next
		}
		var ends []string
		for _, c := range all {
			if at.Trunk != 0 && c.Head.Trunk == at.Trunk {
				ends = append(ends, c.Name)
			}
		}
		way, ending, err := s.Follow(ctx, timeline.Local, identities)
		if err != nil || !slices.Equal(way, want) {
			t.Fatalf("%q leads to %v, not %v (%v)", path, way, want, err)
		}
		var got []string
		for k, c := range ending {
			got = append(got, c.Name)
			if !slices.Contains(all, c) || k > 0 && c.Updated.After(ending[k-1].Updated) {
				t.Fatalf("conversation %d: %+v", k, c)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, ends) {
			t.Fatalf("%q: %q end on the trunk of %v, not %q", path, got, at, ends)
		}
	}
	for _, name := range append(names, "no") {
		var want []timeline.Conversation
		for _, c := range all {
			if c.Name == name || strings.HasPrefix(c.Name, name+"~") {
				want = append(want, c)
			}
		}
		got, err := s.Family(ctx, timeline.Local, name)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatalf("the family of %q: %v: %s", name, err, d)
		}
	}
}

// Holding finds the conversations that have a record and have used or passed a trunk, whichever
// trunk they end on.
func TestHolding(t *testing.T) {
	s := open(t, pgtest.URL(t))
	random := rand.New(rand.NewPCG(7, 2))
	names, _ := grow(t, s, random)
	record := timeline.Key{Kind: "call", Key: "held"}
	trunks := map[int64][]string{} // the conversations with the record, by trunk
	elsewhere := 0
	for _, name := range slices.Sorted(slices.Values(names)) {
		c, err := s.Conversation(ctx, timeline.Local, name)
		if err != nil {
			t.Fatal(err)
		}
		heads, err := s.Heads(ctx, timeline.Local, name)
		if err != nil {
			t.Fatal(err)
		}
		holds := random.IntN(3) > 0
		if holds {
			_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Stay: true,
				Now: time.Unix(2000, 0),
				Put: []timeline.Record{{Kind: record.Kind, Key: record.Key, Data: []byte("{}")}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, head := range heads {
			way, err := visited(s, head, 1, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range way {
				list := trunks[e.Place.Trunk]
				if holds && !slices.Contains(list, name) {
					list = append(list, name)
				}
				trunks[e.Place.Trunk] = list
				if holds && e.Place.Trunk != c.Head.Trunk {
					elsewhere++
				}
			}
		}
	}
	for trunk, want := range trunks {
		got, err := s.Holding(ctx, timeline.Local, timeline.Place{Trunk: trunk, Depth: 1}, record)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("trunk %d: %q hold the record, not %q (%v)", trunk, want, got, err)
		}
	}
	if none, err := s.Holding(ctx, timeline.Local, timeline.Place{Trunk: 1, Depth: 1},
		timeline.Key{Kind: "call", Key: "no"}); err != nil || len(none) > 0 || elsewhere == 0 {
		t.Errorf("%q, %v; %d places elsewhere", none, err, elsewhere)
	}
}
