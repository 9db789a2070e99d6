package items

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// SPEC D5, D6: a tracker and a sizer that were stored and resumed go on as if
// nothing had happened.
func TestResumedTrackersAndSizersGoOn(t *testing.T) {
	texts := []string{"fine", "why?", "an error in the database", "```\ncode\n```", "find the api",
		"fix this bug, it failed", "implement the function"}
	rapid.Check(t, func(t *rapid.T) {
		var a, b Tracker
		x, y := Sizer{Base: 1000}, Sizer{Base: 1000}
		for _, text := range rapid.SliceOfN(rapid.SampledFrom(texts), 1, 40).Draw(t, "texts") {
			if rapid.Bool().Draw(t, "restart") {
				raw, err := json.Marshal(b.Save())
				if err != nil {
					t.Fatal(err)
				}
				var saved Tracked
				if err := json.Unmarshal(raw, &saved); err != nil {
					t.Fatal(err)
				}
				b = Tracker{}
				b.Resume(saved)
				size := y.Size()
				y = Sizer{Base: 1000}
				y.Resume(size)
			}
			if s, again := a.Observe(text), b.Observe(text); s != again || a.Complexity() != b.Complexity() {
				t.Fatalf("%s %g, resumed %s %g", s, a.Complexity(), again, b.Complexity())
			}
			if n, again := x.Next(a.Complexity(), a.State(), 0, 0),
				y.Next(b.Complexity(), b.State(), 0, 0); n != again {
				t.Fatalf("size %d, resumed %d", n, again)
			}
		}
	})
}

func TestAllVisitsWhatItemsGives(t *testing.T) {
	w := newTestItems(Options{MaxItems: 4})
	for i := range 9 {
		add(t, w, Item{Content: "x"})
		if i == 2 {
			if err := w.Pin(2); err != nil {
				t.Fatal(err)
			}
		}
		var all []int64
		for it := range w.All() {
			all = append(all, it.ID)
		}
		if !slices.Equal(all, ids(w.Items(0))) {
			t.Fatalf("%v, want %v", all, ids(w.Items(0)))
		}
		for range w.All() {
			break
		}
	}
}
