package vector

import (
	"fmt"
	"math"
)

// Add appends a vector of any length and returns its id. It does not keep v. The
// error is [ErrDimensions] or [ErrNoDirection].
func (x *Index) Add(v []float32) (id int, err error) {
	if err := x.fits(len(v)); err != nil {
		return 0, fmt.Errorf("add vector: %w", err)
	}
	greatest, err := greatestOf(v)
	if err != nil {
		return 0, fmt.Errorf("add vector: %w", err)
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	q, scale := x.next()
	*scale = quantise(q, v, greatest)
	return x.publish(), nil
}

// AddQuantised appends a vector that [Index.At] returned. The errors are those of
// [Index.Add]; a scale must be positive and finite.
func (x *Index) AddQuantised(q []int8, scale float32) (id int, err error) {
	if err := x.fits(len(q)); err != nil {
		return 0, fmt.Errorf("add quantised vector: %w", err)
	}
	if !(scale > 0) || scale > math.MaxFloat32 {
		return 0, fmt.Errorf("add quantised vector: %w: its scale is %v", ErrNoDirection, scale)
	}
	if squares(q) == 0 {
		return 0, fmt.Errorf("add quantised vector: %w: it is zero", ErrNoDirection)
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	values, place := x.next()
	copy(values, q)
	*place = scale
	return x.publish(), nil
}

// At returns a vector as stored, for [Index.AddQuantised]: q times scale has length
// 1. It also returns removed vectors. q must not be modified. An id that was never
// assigned panics as an index out of range.
func (x *Index) At(id int) (q []int8, scale float32) {
	if n := x.Len(); id < 0 || id >= n {
		panic(fmt.Sprintf("vector: id %d out of range with length %d", id, n))
	}
	c, i := (*x.chunks.Load())[id/chunkSize], id%chunkSize
	d := x.dimensions
	return c.values[i*d : (i+1)*d : (i+1)*d], c.scales[i]
}

// Remove removes a vector and reports whether it existed. An id that was never
// assigned or is already removed changes nothing.
func (x *Index) Remove(id int) bool {
	if id < 0 || id >= x.Len() {
		return false
	}
	c, i := (*x.chunks.Load())[id/chunkSize], id%chunkSize
	bit := uint64(1) << (i % block)
	return c.removed[i/block].Or(bit)&bit == 0
}

func (x *Index) fits(dimensions int) error {
	if dimensions != x.dimensions {
		return fmt.Errorf("%w: %d, and the index has %d", ErrDimensions, dimensions, x.dimensions)
	}
	return nil
}

// next returns the place of the next vector. Readers do not look there before it is
// published. The caller holds writing.
func (x *Index) next() (q []int8, scale *float32) {
	n := x.Len()
	chunks := *x.chunks.Load()
	if n == len(chunks)*chunkSize {
		// Readers hold shorter slices of the same memory, so appending in
		// place does not disturb them.
		c := &chunk{values: make([]int8, chunkSize*x.dimensions)}
		hugePages(c.values)
		chunks = append(chunks, c)
		x.chunks.Store(&chunks)
	}
	c, i := chunks[n/chunkSize], n%chunkSize
	return c.values[i*x.dimensions : (i+1)*x.dimensions], &c.scales[i]
}

func (x *Index) publish() (id int) { return int(x.length.Add(1)) - 1 }

// greatestOf returns the greatest absolute value of v.
func greatestOf(v []float32) (float32, error) {
	var greatest float32
	for i, f := range v {
		f = float32(math.Abs(float64(f)))
		if !(f <= math.MaxFloat32) {
			return 0, fmt.Errorf("%w: value %d is %v", ErrNoDirection, i, v[i])
		}
		greatest = max(greatest, f)
	}
	if greatest == 0 {
		return 0, fmt.Errorf("%w: it is zero", ErrNoDirection)
	}
	return greatest, nil
}

// quantise maps v to 127 steps in both directions. The scale is the inverse of
// the length of the result, not of v: this leaves no error along the vector
// itself and finds a third of a percent more of the nearest.
func quantise(q []int8, v []float32, greatest float32) (scale float32) {
	by := 127 / float64(greatest)
	for i, f := range v {
		q[i] = int8(math.RoundToEven(float64(f) * by))
	}
	return float32(1 / math.Sqrt(float64(squares(q))))
}

func squares(q []int8) (sum int64) {
	for _, v := range q {
		sum += int64(v) * int64(v)
	}
	return sum
}
