package vector

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
)

func filled(t testing.TB, scan scanner, n, dimensions int) (*Index, [][]float32) {
	t.Helper()
	rng := newRand()
	x := newIndex(dimensions, scan)
	var vectors [][]float32
	for i := range n {
		v := randomVector(rng, dimensions)
		vectors = append(vectors, v)
		if id, err := x.Add(v); err != nil || id != i {
			t.Fatalf("vector %d got id %d: %v", i, id, err)
		}
	}
	return x, vectors
}

func naiveCosine(a, b []float32) float64 {
	var p, aa, bb float64
	for i := range a {
		p += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return p / math.Sqrt(aa*bb)
}

// naiveMoments are those of all but minus infinity.
func naiveMoments(scores []float32) (mean, std float64) {
	var live []float64
	for _, s := range scores {
		if s != removedScore {
			live = append(live, float64(s))
		}
	}
	if len(live) == 0 {
		return 0, 0
	}
	for _, s := range live {
		mean += s / float64(len(live))
	}
	for _, s := range live {
		std += (s - mean) * (s - mean) / float64(len(live))
	}
	return mean, math.Sqrt(std)
}

func TestScoresAreTheCosines(t *testing.T) {
	eachKernel(t, func(t *testing.T, scan scanner) {
		const n, d = chunkSize + 77, 384
		x, vectors := filled(t, scan, n, d)
		for _, id := range []int{3, 64, 65, chunkSize, n - 1} {
			x.Remove(id)
		}
		for id := 128; id < 192; id++ {
			x.Remove(id)
		}
		query := randomVector(newRand(), d)
		query[5] = 3
		out := make([]float32, n+2)
		mean, std, err := x.Scores(query, out)
		if err != nil {
			t.Fatal(err)
		}
		for id, v := range vectors {
			want := naiveCosine(query, v)
			switch gone := slices.Contains([]int{3, 64, 65, chunkSize, n - 1}, id) || id >= 128 && id < 192; {
			case gone && out[id] != removedScore:
				t.Errorf("removed %d has score %v", id, out[id])
			case !gone && math.Abs(float64(out[id])-want) > 0.002:
				t.Errorf("%d has score %v, want %v", id, out[id], want)
			}
		}
		if out[n] != removedScore || out[n+1] != removedScore {
			t.Errorf("ids that are not given out have scores %v", out[n:])
		}
		wantMean, wantStd := naiveMoments(out)
		if math.Abs(float64(mean)-wantMean) > 1e-7 || math.Abs(float64(std)-wantStd) > 1e-7 {
			t.Errorf("mean %v and deviation %v, want %v and %v", mean, std, wantMean, wantStd)
		}
	})
}

func TestAVectorIsNearestToItself(t *testing.T) {
	x, vectors := filled(t, best(), 500, 384)
	for id, v := range vectors {
		hits, err := x.Top(v, 1, nil)
		if err != nil || len(hits) != 1 || hits[0].ID != id || hits[0].Score < 0.9999 || hits[0].Score > 1.00001 {
			t.Fatalf("%d: %v, %v", id, hits, err)
		}
	}
}

func TestWhatHasNoDirectionIsRefused(t *testing.T) {
	const d = 64
	x := newIndex(d, plain)
	good := constantVector(d, 1)
	with := func(f float64) []float32 { v := slices.Clone(good); v[d-1] = float32(f); return v }
	for name, c := range map[string]struct {
		vector []float32
		want   error
	}{
		"nothing":    {nil, ErrDimensions},
		"short":      {good[:d-1], ErrDimensions},
		"long":       {append(slices.Clone(good), 1), ErrDimensions},
		"zero":       {make([]float32, d), ErrNoDirection},
		"not number": {with(math.NaN()), ErrNoDirection},
		"infinite":   {with(math.Inf(-1)), ErrNoDirection},
	} {
		_, add := x.Add(c.vector)
		_, _, scores := x.Scores(c.vector, nil)
		_, top := x.Top(c.vector, 3, nil)
		for _, err := range []error{add, scores, top} {
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	ones := slices.Repeat([]int8{1}, d)
	for name, c := range map[string]struct {
		q     []int8
		scale float32
		want  error
	}{
		"short":          {ones[1:], 1, ErrDimensions},
		"zero":           {make([]int8, d), 1, ErrNoDirection},
		"no scale":       {ones, 0, ErrNoDirection},
		"negative scale": {ones, -1, ErrNoDirection},
		"infinite scale": {ones, float32(math.Inf(1)), ErrNoDirection},
		"NaN scale":      {ones, float32(math.NaN()), ErrNoDirection},
	} {
		if _, err := x.AddQuantised(c.q, c.scale); !errors.Is(err, c.want) {
			t.Errorf("quantised, %s: %v", name, err)
		}
	}
	if x.Len() != 0 {
		t.Errorf("%d vectors were added", x.Len())
	}
	for _, d := range []int{-32, 0, 1, 31, 33, MaxDimensions + step} {
		if _, err := New(d); !errors.Is(err, ErrDimensions) {
			t.Errorf("%d dimensions: %v", d, err)
		}
	}
}

// Lengths from the least to the greatest that float32 has do not matter.
func TestLengthDoesNotMatter(t *testing.T) {
	const d = 64
	v := randomVector(newRand(), d)
	for _, by := range []float64{1e-44, 1e-38, 1, 1e37} {
		scaled := make([]float32, d)
		for i := range v {
			scaled[i] = float32(float64(v[i]) * by)
		}
		x := newIndex(d, plain)
		if _, err := x.Add(scaled); err != nil {
			t.Fatal(err)
		}
		hits, err := x.Top(scaled, 1, nil)
		if err != nil || len(hits) != 1 || math.Abs(float64(hits[0].Score)-1) > 0.001 {
			t.Errorf("times %v: %v, %v", by, hits, err)
		}
	}
}

func TestAnEmptyIndexFindsNothing(t *testing.T) {
	x := newIndex(32, best())
	query := constantVector(32, 1)
	check := func(state string) {
		t.Helper()
		mean, std, err := x.Scores(query, make([]float32, x.Len()))
		if mean != 0 || std != 0 || err != nil {
			t.Errorf("%s: %v, %v, %v", state, mean, std, err)
		}
		if hits, err := x.Top(query, 5, nil); len(hits) != 0 || err != nil {
			t.Errorf("%s: %v, %v", state, hits, err)
		}
	}
	check("empty")
	if _, err := x.Add(query); err != nil {
		t.Fatal(err)
	}
	x.Remove(0)
	check("all removed")
	defer func() {
		if recover() == nil {
			t.Error("an id that was never given out has a vector")
		}
	}()
	x.At(1)
}

func TestWhatWasPersistedScoresTheSame(t *testing.T) {
	const n, d = 200, 96
	x, vectors := filled(t, best(), n, d)
	y := newIndex(d, best())
	for id := range n {
		if _, err := y.AddQuantised(x.At(id)); err != nil {
			t.Fatal(err)
		}
	}
	a, b := make([]float32, n), make([]float32, n)
	x.Scores(vectors[7], a)
	y.Scores(vectors[7], b)
	if !slices.Equal(a, b) {
		t.Error("scores differ")
	}
}

func TestAVectorTakesAFewBytesMoreThanItsDimensions(t *testing.T) {
	const d = 384
	x := newIndex(d, plain)
	q := slices.Repeat([]int8{1}, d)
	const n = 20 * chunkSize
	for range n {
		if _, err := x.AddQuantised(q, 0.05); err != nil {
			t.Fatal(err)
		}
	}
	if each := float64(x.Bytes()) / n; each > 400 {
		t.Errorf("%.1f bytes a vector", each)
	}
}

func TestReadersSeeWholeVectorsWhileOthersWrite(t *testing.T) {
	eachKernel(t, func(t *testing.T, scan scanner) {
		const n, d, readers = 2 * chunkSize, 32, 3
		x := newIndex(d, scan)
		query := constantVector(d, 1)
		done := make(chan struct{})
		var wait sync.WaitGroup
		for range readers {
			wait.Go(func() {
				out := make([]float32, n)
				var hits []Hit
				for ended := false; !ended; {
					select {
					case <-done:
						ended = true
					default:
					}
					known := x.Len()
					if _, _, err := x.Scores(query, out[:known]); err != nil {
						t.Error(err)
						return
					}
					for id, s := range out[:known] {
						if s != removedScore && math.Abs(float64(s)-1) > 1e-4 {
							t.Errorf("vector %d scores %v", id, s)
							return
						}
					}
					hits, _ = x.Top(query, 10, hits)
					for _, h := range hits {
						if q, _ := x.At(h.ID); q[0] != q[d-1] {
							t.Errorf("vector %d is %v", h.ID, q)
						}
					}
					x.Bytes()
				}
			})
		}
		for i := range n {
			id, err := x.Add(constantVector(d, float32(i+1)))
			if err != nil {
				t.Fatal(err)
			}
			if id%3 == 0 {
				x.Remove(id / 2)
			}
		}
		close(done)
		wait.Wait()
	})
}

func TestSearchingDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	const n, d = 300, 96
	x, vectors := filled(t, best(), n, d)
	x.Remove(5)
	out, hits := make([]float32, n), make([]Hit, 0, 50)
	for name, f := range map[string]func(){
		"Scores": func() { x.Scores(vectors[0], out) },
		"Top":    func() { hits, _ = x.Top(vectors[0], 50, hits) },
	} {
		if got := testing.AllocsPerRun(50, f); got != 0 {
			t.Errorf("%s allocates %v times", name, got)
		}
	}
}
