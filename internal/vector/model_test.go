package vector

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// reference is a slow index of what an index has.
type reference struct {
	values  [][]int8
	scales  []float32
	removed []bool
}

// top sorts everything. A score in float32 is what it must be, bit by bit, and
// close to what float64 says.
func (r *reference) top(t *rapid.T, q *query, k int) []Hit {
	hits := []Hit{}
	for id, v := range r.values {
		if r.removed[id] {
			continue
		}
		var product int64
		for i := range v {
			product += int64(v[i]) * int64(q.values[i])
		}
		score := float32(float32(product)*r.scales[id]) * q.factor
		if exact := float64(product) * float64(r.scales[id]) * float64(q.factor); math.Abs(
			exact-float64(score)) > 1e-6*math.Abs(exact) {
			t.Fatalf("score %v, exactly %v", score, exact)
		}
		hits = append(hits, Hit{id, score})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		if a.Score != b.Score {
			return map[bool]int{true: -1, false: 1}[a.Score > b.Score]
		}
		return a.ID - b.ID
	})
	return hits[:min(max(k, 0), len(hits))]
}

// Few values and dimensions make many ties.
func TestAnyHistoryFindsWhatSortingFinds(t *testing.T) {
	eachKernel(t, func(t *testing.T, scan scanner) {
		rapid.Check(t, func(t *rapid.T) {
			const d = step
			x := newIndex(d, scan)
			var r reference
			small := rapid.SliceOfN(rapid.Int8Range(-2, 2), d, d)
			vector := func(label string) []float32 {
				v := make([]float32, d)
				for i, n := range small.Draw(t, label) {
					v[i] = float32(n)
				}
				v[0] += 5 // never zero
				return v
			}
			var dst []Hit
			t.Repeat(map[string]func(*rapid.T){
				"add": func(t *rapid.T) {
					v := vector("vector")
					for range rapid.IntRange(1, 90).Draw(t, "times") {
						id, err := x.Add(v)
						if err != nil || id != len(r.values) {
							t.Fatalf("id %d, want %d: %v", id, len(r.values), err)
						}
						q, scale := x.At(id)
						r.values, r.scales, r.removed = append(r.values, slices.Clone(q)), append(r.scales, scale),
							append(r.removed, false)
					}
				},
				"addQuantised": func(t *rapid.T) {
					q, scale := small.Draw(t, "values"), rapid.Float32Range(0.01, 1).Draw(t, "scale")
					q[0] = 100
					if id, err := x.AddQuantised(q, scale); err != nil || id != len(r.values) {
						t.Fatalf("id %d, want %d: %v", id, len(r.values), err)
					}
					r.values, r.scales, r.removed = append(r.values, q), append(r.scales, scale),
						append(r.removed, false)
				},
				"remove": func(t *rapid.T) {
					first := rapid.IntRange(-1, len(r.values)).Draw(t, "id")
					for id := first; id < first+rapid.IntRange(1, 70).Draw(t, "times"); id++ {
						want := id >= 0 && id < len(r.values) && !r.removed[id]
						if got := x.Remove(id); got != want {
							t.Fatalf("Remove(%d) = %v", id, got)
						}
						if want {
							r.removed[id] = true
						}
					}
				},
				"top": func(t *rapid.T) {
					v, k := vector("query"), rapid.IntRange(-1, 120).Draw(t, "k")
					got, err := x.Top(v, k, dst)
					if err != nil {
						t.Fatal(err)
					}
					dst = got
					q := newScratch(d).query
					greatest, _ := greatestOf(v)
					q.set(v, greatest)
					if diff := cmp.Diff(r.top(t, &q, k), got, cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("-want +got\n%s", diff)
					}
				},
				"": func(t *rapid.T) {
					if x.Len() != len(r.values) {
						t.Fatalf("length %d, want %d", x.Len(), len(r.values))
					}
					for id, want := range r.values {
						if q, scale := x.At(id); !slices.Equal(q, want) || scale != r.scales[id] {
							t.Fatalf("vector %d has changed", id)
						}
					}
				},
			})
		})
	})
}
