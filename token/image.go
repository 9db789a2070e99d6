package token

import (
	"math"

	"github.com/oriel-context/oriel/chat"
)

// ImageRule is how a vendor computes the tokens of a picture from its size.
type ImageRule struct {
	// Kind is "tiles" (OpenAI's 512-pixel tiles), "patches" (squares of Patch
	// pixels), "area" (pixels a token), "grid" (Gemini's 768-pixel tiles),
	// "flat" (the same for every picture) or "" (no rule known).
	Kind string `json:"kind,omitempty"`
	// Base and Tile are the tokens of a picture and of each of its tiles; Base
	// alone is what detail "low" or a flat rule costs.
	Base int `json:"base,omitempty"`
	Tile int `json:"tile,omitempty"`
	// Patch is the side of a patch in pixels, Multiplier the tokens of one.
	Patch      int     `json:"patch,omitempty"`
	Multiplier float64 `json:"multiplier,omitempty"`
	// Budget is the most patches that a picture is shrunk to, High the same
	// for detail "high" if that differs. 0 means no limit.
	Budget int `json:"budget,omitempty"`
	High   int `json:"high,omitempty"`
	// Fit is how a picture over budget is shrunk: "grid" to whole patches
	// (OpenAI), "edge" to the largest size within Edge and Budget (Anthropic).
	Fit string `json:"fit,omitempty"`
	// Edge is the longest side in pixels.
	Edge int `json:"edge,omitempty"`
	// Pixels is the area of a token.
	Pixels int `json:"pixels,omitempty"`
	// Default is the count of a picture whose data is not available.
	Default int `json:"default,omitempty"`
}

// picture counts an image (SPEC B6): by the published rule if its size can be
// read, otherwise by the length of its data.
func (c *Counter) picture(m *chat.Media) raw {
	rule := &c.model.image
	unseen := raw{fixed: rule.Default, rough: true}
	if unseen.fixed == 0 {
		unseen.fixed = 1_600
	}
	switch {
	case m == nil:
		return unseen
	case rule.Kind == "flat":
		return raw{fixed: rule.Base}
	case rule.Kind == "tiles" && m.Detail == "low":
		return raw{fixed: rule.Base}
	case len(m.Data) == 0:
		return unseen
	}
	if w, h, ok := imageSize(m.Data); ok && rule.Kind != "" {
		return raw{fixed: rule.tokens(w, h, m.Detail)}
	}
	return raw{fixed: blindImage(len(m.Data)), rough: true}
}

// blindImage is SPEC B6's ceil(sqrt(base64 length))·1.5, rounded up.
func blindImage(base64 int) int {
	root := int(math.Sqrt(float64(base64)))
	for root*root < base64 {
		root++
	}
	return (root*3 + 1) / 2
}

// tokens applies the rule to a picture of known size.
func (r *ImageRule) tokens(w, h int, detail string) int {
	if w <= 0 || h <= 0 {
		return 0
	}
	return min(r.apply(w, h, detail), mostImage)
}

func (r *ImageRule) apply(w, h int, detail string) int {
	switch r.Kind {
	case "tiles":
		return r.tiles(w, h)
	case "patches":
		budget := r.Budget
		if detail == "high" && r.High > 0 {
			budget = r.High
		}
		n := 0
		if r.Fit == "edge" {
			n = r.fitEdge(w, h, budget)
		} else {
			n = r.fitGrid(w, h, budget)
		}
		mult := r.Multiplier
		if mult == 0 {
			mult = 1
		}
		// The subtrahend keeps 1000·1.62 from becoming 1621.
		return int(math.Ceil(float64(n)*mult - 1e-9))
	case "area":
		w, h := within(w, h, r.Edge)
		n := int(math.Ceil(float64(w) * float64(h) / float64(max(r.Pixels, 1))))
		if r.Budget > 0 {
			n = min(n, r.Budget)
		}
		return n
	case "grid":
		if w <= 384 && h <= 384 {
			return r.Tile
		}
		return capped(ceilDiv(w, 768), ceilDiv(h, 768)) * r.Tile
	}
	return r.Base
}

// tiles is OpenAI's rule: fit into 2048 by 2048, bring the shorter side down
// to 768, count tiles of 512 pixels.
func (r *ImageRule) tiles(w, h int) int {
	fw, fh := float64(w), float64(h)
	if long := max(fw, fh); long > 2048 {
		fw, fh = fw*2048/long, fh*2048/long
	}
	if short := min(fw, fh); short > 768 {
		fw, fh = fw*768/short, fh*768/short
	}
	// Sizes are whole pixels; rounding keeps 1024.0000001 at two tiles.
	cols := ceilDiv(max(1, int(math.Round(fw))), 512)
	rows := ceilDiv(max(1, int(math.Round(fh))), 512)
	return r.Base + r.Tile*cols*rows
}

// fitGrid is OpenAI's rule for patches: shrink to the budget's area, then a
// little more, so that one side is a whole number of patches.
func (r *ImageRule) fitGrid(w, h, budget int) int {
	p := max(r.Patch, 1)
	cols, rows := ceilDiv(w, p), ceilDiv(h, p)
	if n := capped(cols, rows); budget <= 0 || n <= budget {
		return n
	}
	fw, fh, fp := float64(w), float64(h), float64(p)
	f := math.Sqrt(fp * fp * float64(budget) / (fw * fh))
	part := func(side float64) float64 {
		n := side * f / fp
		return max(math.Floor(n), 1) / n
	}
	f *= min(part(fw), part(fh))
	cols = int(math.Ceil(fw*f/fp - 1e-6))
	rows = int(math.Ceil(fh*f/fp - 1e-6))
	return min(capped(max(cols, 1), max(rows, 1)), budget)
}

// fitEdge is Anthropic's rule: the largest size of the same shape whose long
// side is within the edge and whose patches are within the budget.
func (r *ImageRule) fitEdge(w, h, budget int) int {
	p := max(r.Patch, 1)
	long, short := max(w, h), min(w, h)
	count := func(l int) int {
		s := max(1, int(math.Round(float64(short)*float64(l)/float64(long))))
		return capped(ceilDiv(l, p), ceilDiv(s, p))
	}
	top := long
	if r.Edge > 0 {
		top = min(top, r.Edge)
	}
	if n := count(top); budget <= 0 || n <= budget {
		return n
	}
	lo, hi := 1, top // count(lo) fits, count(hi) does not
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; count(mid) <= budget {
			lo = mid
		} else {
			hi = mid
		}
	}
	return count(lo)
}

func within(w, h, edge int) (int, int) {
	long := max(w, h)
	if edge <= 0 || long <= edge {
		return w, h
	}
	f := float64(edge) / float64(long)
	return max(1, int(math.Round(float64(w)*f))), max(1, int(math.Round(float64(h)*f)))
}

// mostImage limits the size that a forged header can claim.
const mostImage = 1_000_000

// capped multiplies without overflow on any size that a header may claim.
func capped(cols, rows int) int {
	if cols > mostImage || rows > mostImage {
		return mostImage
	}
	return min(cols*rows, mostImage)
}
