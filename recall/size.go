package recall

import "math"

// size is what the length of a passage means for its score.
type size struct {
	price float32 // Weights.Length times the logarithm of the cost in knees; 0 up to one
	short float32 // knees by cost; 1 up to one
}

func sizeOf(w *Weights, cost int32) size {
	knees := max(1, float64(cost)/float64(w.Knee))
	return size{w.Length * float32(math.Log(knees)), float32(1 / knees)}
}

// tabled is how many costs have a place in the table: all those of the passages that
// texts are cut into, unless names are very long.
const tabled = 1 << 12

// notice makes the table long enough for a cost.
func (s *Scope) notice(cost int32) {
	for n := int32(len(s.sizes)); n <= min(cost, tabled-1); n++ {
		s.sizes = append(s.sizes, sizeOf(&s.weights, n))
	}
}

// size is that of a passage of this cost.
func (s *Scope) size(cost int32) size {
	if uint(cost) < uint(len(s.sizes)) {
		return s.sizes[cost]
	}
	return sizeOf(&s.weights, cost)
}
