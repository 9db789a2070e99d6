package token

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
)

// provider reports slope·x + offset with noise of one percent.
type provider struct {
	slope, offset float64
	rnd           *rand.Rand
}

func (p provider) truth(x int) float64 { return p.slope*float64(x) + p.offset }

func (p provider) report(x int) int {
	return int(math.Round(p.truth(x) * (1 + 0.01*p.rnd.NormFloat64())))
}

func relative(got int, want float64) float64 { return math.Abs(float64(got)-want) / want }

// SPEC B6: after a few calls an estimate is within 3%. A conversation grows, as
// agents' do; the next request is judged before it is learnt from.
func TestCalibrationFollowsAGrowingConversation(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	for _, slope := range []float64{1, 1.1, 1.25, 1.45, 1.6} {
		for _, offset := range []float64{-5000, -2000, -500, 0, 500, 2000, 5000} {
			var off []float64
			for seed := range uint64(30) {
				p := provider{slope, offset, rand.New(rand.NewPCG(seed, 1))}
				var c Calibration
				x := 8_000 + p.rnd.IntN(20_000)
				for call := range 40 {
					if call >= 5 {
						off = append(off, relative(c.Scale("m").Apply(x), p.truth(x)))
					}
					c.Observe("m", x, p.report(x))
					x += 500 + p.rnd.IntN(3_000)
				}
			}
			// 95 of 100 predictions are within 3%, and half within 1%.
			m := median(off)
			slices.Sort(off)
			if p95 := off[len(off)*95/100]; p95 > 0.03 || m > 0.01 {
				t.Errorf("slope %v, offset %v: median error %.3f, 95th percentile %.3f", slope, offset, m, p95)
			}
		}
	}
}

// Sizes at random, as many conversations at once give them.
func TestCalibrationFindsSlopeAndOffset(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		p := provider{1 + 0.6*rnd.Float64(), 10_000*rnd.Float64() - 5_000, rnd}
		var c Calibration
		lo, hi := 200_000, 0
		for range 20 {
			// No provider counts a request at next to nothing.
			x := 3_000 + 4*int(max(0, -p.offset)) + rnd.IntN(150_000)
			lo, hi = min(lo, x), max(hi, x)
			c.Observe("m", x, p.report(x))
		}
		s := c.Scale("m")
		for _, x := range []int{lo, (lo + hi) / 2, hi, 2 * hi} {
			if e := relative(s.Apply(x), p.truth(x)); e > 0.03 {
				t.Errorf("seed %d, slope %.2f, offset %.0f: %+v is off by %.3f at %d", seed, p.slope, p.offset, s, e, x)
			}
		}
		if s.Error < calibrateFloor || s.Error > 0.05 {
			t.Errorf("seed %d: error bar %.3f for noise of 0.01", seed, s.Error)
		}
	}
}

func TestCalibrationBearsWildValues(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	p := provider{1.3, 1000, rnd}
	var c Calibration
	for i := range 60 {
		x := 5_000 + rnd.IntN(100_000)
		y := p.report(x)
		switch {
		case i%6 == 3: // another request's number
			y = int(float64(y) * (0.5 + 2*rnd.Float64()))
		case i%10 == 7: // nonsense
			y = []int{0, -5, 1, x * 100}[rnd.IntN(4)]
		}
		c.Observe("m", x, y)
		if i < 20 {
			continue
		}
		if e := relative(c.Scale("m").Apply(60_000), p.truth(60_000)); e > 0.05 {
			t.Fatalf("call %d: off by %.3f, %+v", i, e, c.Scale("m"))
		}
	}
}

func TestCalibrationNoticesAChange(t *testing.T) {
	for _, change := range []struct{ from, to float64 }{{1.0, 1.35}, {1.35, 1.0}} {
		rnd := rand.New(rand.NewPCG(4, 4))
		var c Calibration
		old, now := provider{change.from, 0, rnd}, provider{change.to, 0, rnd}
		x := func() int { return 20_000 + rnd.IntN(50_000) }
		for range 60 {
			n := x()
			c.Observe("m", n, old.report(n))
		}
		for range calibrateRun + 2 {
			n := x()
			c.Observe("m", n, now.report(n))
		}
		s := c.Scale("m")
		if e := relative(s.Apply(40_000), now.truth(40_000)); e > 0.03 {
			t.Errorf("%v: off by %.3f, %+v", change, e, s)
		}
		// What was learnt before the change is dropped.
		if s.N > calibrateRun+2 {
			t.Errorf("%v: %d observations, want those since the change", change, s.N)
		}
	}
}

// The error bar is what nine of ten calls keep to.
func TestTheErrorBarFollowsTheNoise(t *testing.T) {
	for _, noise := range []float64{0.02, 0.05, 0.08} {
		var c Calibration
		for i := range 21 {
			off := []float64{-noise, 0, noise}[i%3]
			c.Observe("m", 10_000, int(13_000*(1+off)))
		}
		if e := c.Scale("m").Error; e < 0.9*noise || e > 1.2*noise {
			t.Errorf("noise of %.2f: error bar %.3f", noise, e)
		}
	}
}

func TestCalibrationRefusesWhatTeachesNothing(t *testing.T) {
	var c Calibration
	for _, p := range [][2]int{{0, 0}, {100, 120}, {499, 600}, {1000, 0}, {1000, -1}, {1000, 100}, {1000, 5000},
		{-5, 9}} {
		if c.Observe("m", p[0], p[1]) {
			t.Errorf("%v was taken", p)
		}
	}
	if s := c.Scale("m"); s != (Scale{}) || s.Calibrated() || s.Apply(123) != 123 {
		t.Errorf("%+v", s)
	}
	if !c.Observe("m", 1000, 1200) || c.Scale("m").Calibrated() {
		t.Error("one observation is not a calibration")
	}
}

func TestCalibrationHasABoundedMemory(t *testing.T) {
	var c Calibration
	for i := range 3 * calibrateModels {
		for range 2 * calibratePairs {
			c.Observe("busy", 1000, 1100)
			if i > 0 {
				break
			}
		}
		c.Observe(fmt.Sprint("m", i), 1000, 1100)
	}
	if n := len(c.models); n != calibrateModels {
		t.Errorf("%d models", n)
	}
	if s := c.Scale("busy"); s.N != calibratePairs {
		t.Errorf("the busy model has %d observations", s.N)
	}
}

// A model without a name counts like any other when the oldest pairs leave.
func TestCalibrationBearsAModelWithoutAName(t *testing.T) {
	var c Calibration
	c.Observe("", 1000, 1100)
	for i := range 2 * calibrateAllPairs {
		c.Observe(fmt.Sprint(i/calibratePairs), 1000, 1100)
	}
	if c.pairs > calibrateAllPairs || len(c.models[""].pairs) != 1 {
		t.Errorf("%d pairs, of them %d without a name", c.pairs, len(c.models[""].pairs))
	}
}

// Processes that read the same learnt.json forget the same models: those that were idle for
// longest, also before it was stored. What clients name does not make it large.
func TestStoredCalibrationsForgetTheOldest(t *testing.T) {
	var first Calibration
	name := func(i int) string { return fmt.Sprintf("%04d%s", i*577%calibrateModels, strings.Repeat("m", 40)) }
	for i := range calibrateModels {
		for range 12 { // more than are kept of all
			first.Observe(name(i), 100_000, 110_000)
		}
	}
	first.Observe(name(0), 100_000, 110_000) // so that name(1) is idle for longest
	first.Observe(strings.Repeat("m", 1<<20), 100_000, 110_000)
	data, err := json.Marshal(&first)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 250_000 {
		t.Errorf("it has %d bytes", len(data))
	}
	for range 3 {
		var c Calibration
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		c.Observe("new", 1000, 1100)
		c.Observe("newer", 1000, 1100)
		for i := range 5 {
			if gone := c.Scale(name(i)).N == 0; gone != (i == 1 || i == 2) {
				t.Errorf("model %d is gone: %v", i, gone)
			}
		}
		if n := c.Scale(name(calibrateModels - 1)).N; n != 12 {
			t.Errorf("the newest model has %d observations", n)
		}
	}
}

func TestCalibrationSurvivesStorage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b Calibration
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			x := rapid.IntRange(500, 200_000).Draw(t, "x")
			a.Observe(rapid.SampledFrom([]string{"m", "n"}).Draw(t, "model"), x,
				x+rapid.IntRange(0, 2*x).Draw(t, "more"))
		}
		data, err := json.Marshal(&a)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &b); err != nil {
			t.Fatal(err)
		}
		for _, m := range []string{"m", "n"} {
			if d := cmp.Diff(a.Scale(m), b.Scale(m)); d != "" {
				t.Fatal(d)
			}
			if s := a.Scale(m); math.IsNaN(s.Slope) || math.IsInf(s.Offset, 0) {
				t.Fatalf("%+v", s)
			}
		}
	})
	if err := new(Calibration).UnmarshalJSON([]byte(`[`)); err == nil {
		t.Error("broken JSON was taken")
	}
}

func TestCalibrationServesManyAtOnce(t *testing.T) {
	var c Calibration
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				x := 1000 + 17*i
				c.Observe(fmt.Sprint(g%3), x, x*5/4)
				c.Scale(fmt.Sprint(i % 3))
				if i%50 == 0 {
					if _, err := json.Marshal(&c); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if s := c.Scale("0"); math.Abs(s.Slope-1.25) > 0.01 {
		t.Errorf("%+v", s)
	}
}

func TestASystemPromptCostsItsFrame(t *testing.T) {
	m := Builtin().Lookup("gpt-4o")
	if m.structure.System == 0 {
		t.Fatal("the table has no cost for having a system prompt")
	}
	part := chat.Part{Kind: chat.Text, Text: chat.Quote("Be brief.")}
	r := &chat.Request{Messages: transcript(2, 100)}
	c := NewCounter(m, Options{})
	plain := c.Request(r)
	r.System = []chat.Part{part, part}
	with := c.Request(r)
	if got, want := with.Total-plain.Total, 2*c.Part(&part).Tokens+m.structure.System; got != want {
		t.Errorf("a system prompt of two parts costs %d, want %d", got, want)
	}
}

func TestACounterUsesItsScale(t *testing.T) {
	m := Builtin().Lookup("claude-opus-5")
	r := &chat.Request{Messages: transcript(20, 2000)}
	plain := NewCounter(m, Options{}).Request(r)
	s := Scale{Slope: 0.9, Offset: 1500, Error: 0.01, N: 5}
	b := NewCounter(m, Options{Scale: s}).Request(r)
	if plain.Accuracy != Estimate || b.Accuracy != Calibrated || b.Error != 0.01 || b.Local != plain.Local {
		t.Errorf("%+v", b)
	}
	if e := relative(b.Total, float64(s.Apply(plain.Local))); e > 0.001 {
		t.Errorf("%d, want %d", b.Total, s.Apply(plain.Local))
	}
	// An offset below 0 is larger than the overhead of a few messages, which does not vanish.
	s.Offset = -1500
	if b := NewCounter(m, Options{Scale: s}).Request(r); b.Total != s.Apply(b.Local) || b.Overhead <= 0 {
		t.Errorf("%d, want %d; overhead %d", b.Total, s.Apply(b.Local), b.Overhead)
	}
	// What is exact stays so.
	exact := NewCounter(Builtin().Lookup("gpt-4o"), Options{Scale: s}).Request(r)
	if exact.Accuracy != Exact || exact.Total != exact.Local {
		t.Errorf("%s, %d of %d", exact.Accuracy, exact.Total, exact.Local)
	}
}

func TestMedianIsThatOfSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.IntRange(1, 100_000).Draw(t, "different values")
		v := make([]float64, rapid.IntRange(1, 300).Draw(t, "n"))
		for i := range v {
			v[i] = float64(rapid.IntRange(-few, few).Draw(t, "value"))
		}
		sorted := slices.Sorted(slices.Values(v))
		n := len(v)
		want := (sorted[(n-1)/2] + sorted[n/2]) / 2
		if got := median(v); got != want {
			t.Fatalf("%v, want %v, of %v", got, want, sorted)
		}
		if slices.Sort(v); !slices.Equal(v, sorted) {
			t.Fatal("it has changed the values")
		}
	})
}

// Values whose middle is always the largest need every division that is allowed.
func TestMedianBearsUnfavourableValues(t *testing.T) {
	for _, n := range []int{17, 64, 2015, 2016} {
		for name, value := range map[string]func(i int) float64{
			"falling": func(i int) float64 { return float64(-i) }, "equal": func(int) float64 { return 1 },
			"organ pipe": func(i int) float64 { return float64(min(i, n-i)) },
			"two":        func(i int) float64 { return float64(i % 2) },
		} {
			v := make([]float64, n)
			for i := range v {
				v[i] = value(i)
			}
			sorted := slices.Sorted(slices.Values(v))
			if got, want := median(v), (sorted[(n-1)/2]+sorted[n/2])/2; got != want {
				t.Errorf("%d %s values: %v, want %v", n, name, got, want)
			}
		}
	}
}

func BenchmarkObserveAndScale(b *testing.B) {
	var c Calibration
	rnd := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		x := 1000 + rnd.IntN(100_000)
		c.Observe("m", x, x*5/4)
		c.Scale("m")
	}
}
