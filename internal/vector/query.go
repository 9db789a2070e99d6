package vector

import (
	"fmt"
	"math"
)

// query is a query in the form of the kernels.
type query struct {
	dimensions int
	values     []int16 // the query times 1/factor
	// planes has the same values as 128·high + low, low from -64 to 63, for
	// products of bytes: 64 high and 64 low ones by turns, zeros after the last.
	planes []int8
	sum    int32   // of values
	factor float32 // one over the length of values
}

// plane is how many values of a plane are adjacent.
const plane = 64

// scratch is the working memory of a search.
type scratch struct {
	query
	totals  totals
	discard totals // of a block with removed vectors
	live    int
	scores  [block]float32
}

func newScratch(dimensions int) *scratch {
	whole := (dimensions + plane - 1) / plane * plane
	return &scratch{
		query: query{
			dimensions: dimensions,
			values:     make([]int16, dimensions),
			planes:     make([]int8, 2*whole),
		},
	}
}

// begin returns a scratch for a query. The caller puts it back.
func (x *Index) begin(v []float32) (*scratch, error) {
	if err := x.fits(len(v)); err != nil {
		return nil, fmt.Errorf("query vectors: %w", err)
	}
	greatest, err := greatestOf(v)
	if err != nil {
		return nil, fmt.Errorf("query vectors: %w", err)
	}
	s := x.scratch.Get().(*scratch)
	s.totals, s.live = totals{}, 0
	s.set(v, greatest)
	return s, nil
}

// widest returns the greatest value of a query: both planes can hold it, and no
// product with a vector overflows.
func widest(dimensions int) int { return min(127*128, math.MaxInt32/(128*dimensions)) }

func (q *query) set(v []float32, greatest float32) {
	by := float64(widest(q.dimensions)) / float64(greatest)
	var sum, squares int64
	for i := 0; i < len(v); i += plane {
		part := v[i:min(i+plane, len(v))]
		values := q.values[i:][:len(part)]
		high, low := q.planes[2*i:][:len(part)], q.planes[2*i+plane:][:len(part)]
		for j, f := range part {
			value := int32(math.RoundToEven(float64(f) * by))
			values[j] = int16(value)
			sum += int64(value)
			squares += int64(value) * int64(value)
			upper := (value + 64) >> 7
			high[j] = int8(upper)
			low[j] = int8(value - upper<<7)
		}
	}
	q.sum = int32(sum)
	q.factor = float32(1 / math.Sqrt(float64(squares)))
}
