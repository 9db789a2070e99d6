package vector

import (
	"math"
	"slices"
)

// Refine rescores hits by the vectors before rounding to bytes, and sorts them, the
// best first. exact writes the vector of an id to dst and reports whether it has
// one; other hits keep their scores. Request more hits from [Index.Top] than
// wanted, such as 50 for 10. The errors are those of [Index.Scores].
func (x *Index) Refine(query []float32, hits []Hit, exact func(id int, dst []float32) bool) error {
	s, err := x.begin(query)
	if err != nil {
		return err
	}
	defer x.scratch.Put(s)
	_, length := cosine(query, query)
	for i, h := range hits {
		if !exact(h.ID, s.exact) {
			continue
		}
		product, squares := cosine(query, s.exact)
		if score := product / math.Sqrt(length*squares); !math.IsNaN(score) {
			hits[i].Score = float32(score)
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		switch {
		case worse(b, a):
			return -1
		case worse(a, b):
			return 1
		}
		return 0
	})
	return nil
}

// cosine returns the product of q and v and the sum of squares of v. A product of
// two float32 is exact in float64, so fused additions do not change the result.
func cosine(q, v []float32) (product, squares float64) {
	var p0, p1, p2, p3, s0, s1, s2, s3 float64
	q = q[:len(v)]
	for i := 0; i+4 <= len(v); i += 4 {
		q, v := q[i:i+4:i+4], v[i:i+4:i+4]
		a, b, c, d := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
		p0 += float64(q[0]) * a
		p1 += float64(q[1]) * b
		p2 += float64(q[2]) * c
		p3 += float64(q[3]) * d
		s0 += a * a
		s1 += b * b
		s2 += c * c
		s3 += d * d
	}
	return p0 + p1 + p2 + p3, s0 + s1 + s2 + s3
}
