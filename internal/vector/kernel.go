package vector

import "math"

// scanner scores len(out) vectors that lie one after the other in values.
//
// A score is the product of a vector's values with the query's as an exact
// integer, made a float32, times the vector's scale, times the query's factor,
// rounded after each step. So it has the same bits in every kernel, and so have
// the sums, which are added lane by lane.
type scanner func(out []float32, values []int8, scales []float32, q *query, t *totals)

// lanes is the number of separate sums: the i-th vector of a block adds to lane
// i%lanes.
const lanes = 4

// totals accumulates statistics of scores. The kernels know its layout.
type totals struct {
	sum     [lanes]float64 // grows
	squares [lanes]float64 // grows
	top     [lanes]float32 // the greatest scores of the last block alone
}

func (t *totals) add(lane int, score float32) {
	s := float64(score)
	t.sum[lane] += s
	t.squares[lane] += float64(s * s)
	t.top[lane] = max(t.top[lane], score)
}

// clearTop resets top at the start of a block.
func (t *totals) clearTop() {
	for i := range t.top {
		t.top[i] = float32(math.Inf(-1))
	}
}

// plain is the definition of a scanner.
func plain(out []float32, values []int8, scales []float32, q *query, t *totals) {
	t.clearTop()
	plainFrom(0, out, values, scales, q, t)
}

// plainFrom scans the vectors from the first on.
func plainFrom(first int, out []float32, values []int8, scales []float32, q *query, t *totals) {
	d := q.dimensions
	for i := first; i < len(out); i++ {
		out[i] = q.score(dot(values[i*d:(i+1)*d], q.values), scales[i])
		t.add(i%lanes, out[i])
	}
}

func (q *query) score(product int32, scale float32) float32 {
	return float32(float32(product)*scale) * q.factor
}

// dot needs a length that is a multiple of 4.
func dot(v []int8, q []int16) int32 {
	var a, b, c, d int32
	q = q[:len(v)]
	for i := 0; i+4 <= len(v); i += 4 {
		v, q := v[i:i+4:i+4], q[i:i+4:i+4]
		a += int32(v[0]) * int32(q[0])
		b += int32(v[1]) * int32(q[1])
		c += int32(v[2]) * int32(q[2])
		d += int32(v[3]) * int32(q[3])
	}
	return a + b + c + d
}

// check panics if a slice is too short, because the assembly does not check.
func check(out []float32, values []int8, scales []float32, q *query) {
	n := len(out)
	_, _ = values[:n*q.dimensions], scales[:n]
	_, _ = q.values[:q.dimensions], q.planes[:2*q.dimensions]
}
