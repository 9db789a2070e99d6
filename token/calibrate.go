package token

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Calibration learns how a model's real counts follow from local ones. The
// zero value is ready. It is safe for concurrent use, and its JSON form keeps
// what it has learnt.
//
// For each model it keeps the newest pairs (local x, reported y) and tries two
// laws. The ratio law y = a·x uses the median of the newest few ratios. The
// line y = a·x + b, for a provider that adds a fixed prompt of its own, is
// fitted as y/x = a + b/x, because errors grow with size: b is the median
// slope between pairs that are far enough apart (Theil and Sen), a the median
// of the remainders. The line is tried only if the sizes differ enough to
// separate b from a. The law with the smaller error is used. Medians tolerate
// up to about a quarter of wild values, and absurd or tiny pairs are never
// kept. If the newest few pairs all miss on the same side, the provider has
// changed, and the older pairs are dropped. The error bar is the 90th
// percentile of the relative errors of the law on its own pairs, so it says
// nothing about requests that are smaller than all of them.
type Calibration struct {
	mu     sync.Mutex // guards all below
	models map[string]*track
	clock  uint64 // counts observations, to find the track idle for longest
	pairs  int    // of all models

	journal bool // observations are kept for Learnt
	held    bool // they count only when Learnt has kept them
	added   []observed
	next    map[string]*track // models with what was added; see Next
}

// observed is an observation that Learnt has not kept yet.
type observed struct {
	model string
	pair  pair
}

const (
	calibrateMinTokens = 500  // smaller requests are all structure
	calibrateMinRatio  = 0.3  // outside of these a pair is a mistake:
	calibrateMaxRatio  = 4.0  // a truncated request, another model
	calibratePairs     = 64   // kept for each model
	calibrateFew       = 3    // needed to call a count calibrated
	calibrateRecent    = 7    // ratios that the ratio law looks at
	calibrateRun       = 5    // misses on one side that mean a change
	calibrateMiss      = 0.10 // relative error of such a miss
	calibrateSpread    = 1.3  // largest size over smallest, for the line
	calibrateGap       = 0.15 // of the largest 1/size, between two pairs
	calibrateModels    = 1024 // kept in all
	calibrateAllPairs  = 8192 // kept of all models, about 120 kB when stored
	calibrateName      = 512  // bytes of a model's key; longer ones are not calibrated
	calibrateBetter    = 0.9  // error of the line over that of the ratio
	calibrateFloor     = 0.005
)

type pair struct{ x, y float64 }

type track struct {
	pairs []pair // oldest first
	used  uint64
	scale Scale
	stale bool
}

// Observe learns from one call: local is [Breakdown.Local] of the sent request, reported
// the provider's count of its whole input with cache reads and writes ([Usage.Prompt]).
// model is any key, usually Model.ID. It reports whether the pair was accepted.
func (c *Calibration) Observe(model string, local, reported int) bool {
	p, ok := readPair(local, reported)
	if !ok || len(model) > calibrateName {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(observed{model, p})
	if !c.held {
		c.observe(model, p)
	} else if t := c.next[model]; t != nil {
		t.add(p)
	}
	return true
}

// readPair returns the pair of one call, if it teaches anything.
func readPair(local, reported int) (pair, bool) {
	p := pair{float64(local), float64(reported)}
	if local < calibrateMinTokens || reported <= 0 {
		return p, false
	}
	r := p.y / p.x
	return p, r >= calibrateMinRatio && r <= calibrateMaxRatio
}

// Scale returns the scale learnt for a model; the zero Scale if there is none.
func (c *Calibration) Scale(model string) Scale {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.models[model].fitted()
}

// fitted returns the scale of a model; the zero Scale if t is nil.
func (t *track) fitted() Scale {
	if t == nil {
		return Scale{}
	}
	if t.stale {
		t.scale, t.stale = fit(t.pairs), false
	}
	return t.scale
}

// observe adds a pair. Clients choose the names of models, so their number and what is kept
// of all of them are bounded: models that were idle for longest lose all but their newest
// pairs, and then leave. The caller holds the lock.
func (c *Calibration) observe(model string, p pair) {
	c.clock++
	t := c.models[model]
	if t == nil {
		if c.models == nil {
			c.models = map[string]*track{}
		}
		if len(c.models) >= calibrateModels {
			idle := c.idle(0)
			c.pairs -= len(c.models[idle].pairs)
			delete(c.models, idle)
		}
		t = &track{}
		c.models[model] = t
	}
	t.used = c.clock
	was := len(t.pairs)
	t.add(p)
	for c.pairs += len(t.pairs) - was; c.pairs > calibrateAllPairs; {
		o := c.models[c.idle(calibrateRecent)]
		over := len(o.pairs) - calibrateRecent
		o.pairs, o.stale = slices.Delete(o.pairs, 0, over), true
		c.pairs -= over
	}
}

// idle returns the model that was idle for longest of those with more than so many pairs. It
// is the same in every process that has stored the same.
func (c *Calibration) idle(pairs int) (name string) {
	var idle *track
	for is, t := range c.models {
		if len(t.pairs) > pairs && (idle == nil || cmp.Or(cmp.Compare(t.used, idle.used), cmp.Compare(is, name)) < 0) {
			name, idle = is, t
		}
	}
	return name
}

func (t *track) add(p pair) {
	t.pairs = append(t.pairs, p)
	if over := len(t.pairs) - calibratePairs; over > 0 {
		t.pairs = slices.Delete(t.pairs, 0, over)
	}
	t.stale = true
	if len(t.pairs) < 2*calibrateRun {
		return
	}
	cut := len(t.pairs) - calibrateRun
	before := fit(t.pairs[:cut])
	side := 0
	for _, p := range t.pairs[cut:] {
		switch e := (p.y - before.at(p.x)) / p.y; {
		case e > calibrateMiss:
			side++
		case e < -calibrateMiss:
			side--
		}
	}
	if side == calibrateRun || side == -calibrateRun {
		t.pairs = slices.Delete(t.pairs, 0, cut)
	}
}

// fit returns the better of the two laws.
func fit(pairs []pair) Scale {
	n := len(pairs)
	if n == 0 {
		return Scale{}
	}
	recent := pairs[max(0, n-calibrateRecent):]
	ratios := make([]float64, len(recent))
	for i, p := range recent {
		ratios[i] = p.y / p.x
	}
	best := Scale{Slope: median(ratios), N: n}
	best.Least = best.least(pairs)
	errs := best.errors(recent)
	if line, ok := fitLine(pairs); ok {
		// Over all pairs, because a line must explain small and large
		// requests. It has one more parameter, so it must be clearly better.
		if e := line.errors(pairs); bounded(e) < calibrateBetter*bounded(best.errors(pairs)) {
			best, errs = line, e
		}
	}
	slices.Sort(errs)
	best.Error = max(errs[(len(errs)*9-1)/10], calibrateFloor)
	return best
}

// bounded returns the mean of the errors, each limited to that of a miss, so
// that wild values do not choose the law.
func bounded(errs []float64) float64 {
	sum := 0.0
	for _, e := range errs {
		sum += min(e, calibrateMiss)
	}
	return sum / float64(len(errs))
}

func fitLine(pairs []pair) (Scale, bool) {
	if len(pairs) < calibrateFew+1 {
		return Scale{}, false
	}
	lo, hi := math.Inf(1), 0.0
	for _, p := range pairs {
		lo, hi = min(lo, p.x), max(hi, p.x)
	}
	if hi < calibrateSpread*lo {
		return Scale{}, false
	}
	buffer := slopeBuffers.Get().(*[]float64)
	defer slopeBuffers.Put(buffer)
	*buffer = appendSlopes((*buffer)[:0], pairs, calibrateGap/lo) // 1/x is largest at lo
	if len(*buffer) < calibrateFew {
		return Scale{}, false
	}
	s := Scale{Offset: median(*buffer), N: len(pairs)}
	rest := make([]float64, len(pairs))
	for i, p := range pairs {
		rest[i] = (p.y - s.Offset) / p.x
	}
	s.Slope = median(rest)
	s.Least = s.least(pairs)
	return s, s.Slope >= calibrateMinRatio && s.Slope <= calibrateMaxRatio
}

// slopeBuffers holds the buffers of fitLine, which is called twice for each call.
var slopeBuffers = sync.Pool{New: func() any { return new([]float64) }}

// appendSlopes appends the slopes of y/x over 1/x between all pairs that are at least gap
// apart.
func appendSlopes(slopes []float64, pairs []pair, gap float64) []float64 {
	points := make([]pair, len(pairs))
	for i, p := range pairs {
		points[i] = pair{1 / p.x, p.y / p.x}
	}
	for i, p := range points {
		for _, q := range points[i+1:] {
			if du := q.x - p.x; math.Abs(du) >= gap {
				slopes = append(slopes, (q.y-p.y)/du)
			}
		}
	}
	return slopes
}

// median reorders v.
func median(v []float64) float64 {
	n := len(v)
	upper := selectNth(v, n/2)
	if n%2 == 1 {
		return upper
	}
	return (slices.Max(v[:n/2]) + upper) / 2
}

// selectNth moves to v[n] the value that sorting would put there, with no larger one before
// it, and returns it. It divides v at a value in between and goes on with the side that has
// the n-th. With sorting, a calibration takes three times as long.
func selectNth(v []float64, n int) float64 {
	from, to := 0, len(v)
	for rounds := 0; to-from > selectFew && rounds < selectRounds; rounds++ {
		a, b, c := v[from], v[from+(to-from)/2], v[to-1]
		between := max(min(a, b), min(max(a, b), c))
		i, j := from, to-1
		for i <= j {
			for v[i] < between {
				i++
			}
			for v[j] > between {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			to = j + 1
		case n >= i:
			from = i
		default:
			return v[n] // all between j and i are equal
		}
	}
	slices.Sort(v[from:to])
	return v[n]
}

const (
	selectFew    = 16 // values that are sorted
	selectRounds = 32 // after as many divisions, which chance needs no more of, the rest is sorted
)

// MarshalJSON writes the pairs of every model, oldest first:
// {"model":[[local,reported],…]}. The newest pair has a third number, which is larger the
// later it was observed.
func (c *Calibration) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string][][]uint64, len(c.models))
	for name, t := range c.models {
		out[name] = t.list()
	}
	return json.Marshal(out)
}

// list returns the pairs as they are stored.
func (t *track) list() [][]uint64 {
	out := make([][]uint64, len(t.pairs))
	for i, p := range t.pairs {
		out[i] = []uint64{uint64(p.x), uint64(p.y)}
	}
	if n := len(out); n > 0 && t.used > 0 {
		out[n-1] = append(out[n-1], t.used)
	}
	return out
}

// UnmarshalJSON replaces what was learnt. Pairs that Observe would refuse are
// left out.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	var in map[string][][3]int
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read calibration: %w", err)
	}
	models, clock, count := map[string]*track{}, uint64(0), 0
	for name, pairs := range in {
		t := &track{stale: true}
		for _, p := range pairs[max(0, len(pairs)-calibratePairs):] {
			if pair, ok := readPair(p[0], p[1]); ok {
				t.pairs, t.used = append(t.pairs, pair), uint64(max(0, p[2]))
			}
		}
		if len(t.pairs) > 0 && len(name) <= calibrateName {
			models[name] = t
			clock, count = max(clock, t.used), count+len(t.pairs)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.models, c.clock, c.pairs = models, clock, count
	for len(c.models) > calibrateModels {
		idle := c.idle(0)
		c.pairs -= len(c.models[idle].pairs)
		delete(c.models, idle)
	}
	return nil
}
