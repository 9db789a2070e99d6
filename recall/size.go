package recall

import "math"

// size holds the effect of a passage's length on its score.
type size struct {
	price float32 // Weights.Length times the logarithm of the cost in knees; 0 for costs up to one knee
	short float32 // knees divided by cost; 1 for costs up to one knee
}

func sizeOf(w *Weights, cost int32) size {
	knees := max(1, float64(cost)/float64(w.Knee))
	return size{w.Length * float32(math.Log(knees)), float32(1 / knees)}
}

// tabled is how many costs the table covers: those of all passages that split
// makes, unless names are very long.
const tabled = 1 << 12

// notice extends the table of sizes up to a cost.
func (s *Scope) notice(cost int32) {
	for n := int32(len(s.sizes)); n <= min(cost, tabled-1); n++ {
		s.sizes = append(s.sizes, sizeOf(&s.weights, n))
	}
}

// size returns the size of a passage with this cost.
func (s *Scope) size(cost int32) size {
	if uint(cost) < uint(len(s.sizes)) {
		return s.sizes[cost]
	}
	return sizeOf(&s.weights, cost)
}
