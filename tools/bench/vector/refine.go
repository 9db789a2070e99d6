package main

import (
	"math"
	"slices"

	"github.com/oriel-context/oriel/internal/vector"
)

// refine rescores hits by the vectors before rounding to bytes, and sorts them, the
// best first.
func refine(query []float32, hits []vector.Hit, exact func(id int) []float32) {
	_, length := cosine(query, query)
	for i, h := range hits {
		product, squares := cosine(query, exact(h.ID))
		hits[i].Score = float32(product / math.Sqrt(length*squares))
	}
	slices.SortFunc(hits, func(a, b vector.Hit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return a.ID - b.ID
	})
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
