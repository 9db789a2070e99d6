package vector

import "math"

var removedScore = float32(math.Inf(-1))

// Scores sets out[id] to the cosine of the query and every vector with an id
// below len(out), and returns their mean and standard deviation. Removed vectors
// and unassigned ids get minus infinity and do not count; if nothing counts,
// mean and deviation are 0. The error is [ErrDimensions] or [ErrNoDirection];
// out is then unchanged.
func (x *Index) Scores(query []float32, out []float32) (mean, std float32, err error) {
	s, err := x.begin(query)
	if err != nil {
		return 0, 0, err
	}
	defer x.scratch.Put(s)
	n := min(x.Len(), len(out))
	chunks := *x.chunks.Load()
	for at := 0; at < n; at += block {
		x.block(chunks[at/chunkSize], at%chunkSize, out[at:min(at+block, n)], s)
	}
	for i := range out[n:] {
		out[n+i] = removedScore
	}
	mean, std = s.moments()
	return mean, std, nil
}

// Top returns the k nearest vectors, or fewer if there are fewer, the best first
// and equal ones in the order of addition. It reuses the memory of dst if it
// suffices. The errors are those of [Index.Scores].
func (x *Index) Top(query []float32, k int, dst []Hit) ([]Hit, error) {
	s, err := x.begin(query)
	if err != nil {
		return dst[:0], err
	}
	defer x.scratch.Put(s)
	n := x.Len()
	chunks := *x.chunks.Load()
	k = max(0, min(k, n))
	best := dst[:0]
	if k == 0 {
		return best, nil
	}
	if cap(best) < k {
		best = make([]Hit, 0, k)
	}
	for at := 0; at < n; at += block {
		scores := s.scores[:min(block, n-at)]
		x.block(chunks[at/chunkSize], at%chunkSize, scores, s)
		// Ids ascend, so a score equal to the worst comes too late.
		if len(best) == k && s.top() <= best[0].Score {
			continue
		}
		for i, score := range scores {
			switch {
			case score == removedScore:
			case len(best) < k:
				best = append(best, Hit{at + i, score})
				up(best)
			case score > best[0].Score:
				best[0] = Hit{at + i, score}
				down(best)
			}
		}
	}
	sortHeap(best)
	return best, nil
}

// block scores the vectors of a chunk from i on, at most to the end of a block.
func (x *Index) block(c *chunk, i int, out []float32, s *scratch) {
	all := uint64(1)<<len(out) - 1 // all bits where 1 is shifted out
	removed := c.removed[i/block].Load() & all
	values, scales := c.values[i*x.dimensions:], c.scales[i:]
	switch removed {
	case 0:
		x.scan(out, values, scales, &s.query, &s.totals)
		s.live += len(out)
	case all:
		s.totals.clearTop()
		for j := range out {
			out[j] = removedScore
		}
	default:
		x.scan(out, values, scales, &s.query, &s.discard)
		s.totals.clearTop()
		for j, score := range out {
			if removed>>j&1 != 0 {
				out[j] = removedScore
				continue
			}
			s.totals.add(j%lanes, score)
			s.live++
		}
	}
}

// top returns the best score of the last block.
func (s *scratch) top() float32 {
	t := &s.totals.top
	return max(t[0], t[1], t[2], t[3])
}

func (s *scratch) moments() (mean, std float32) {
	if s.live == 0 {
		return 0, 0
	}
	t, n := &s.totals, float64(s.live)
	m := (t.sum[0] + t.sum[1] + t.sum[2] + t.sum[3]) / n
	variance := (t.squares[0]+t.squares[1]+t.squares[2]+t.squares[3])/n - float64(
		m*m) // not fused, to have the same bits everywhere
	return float32(m), float32(math.Sqrt(max(0, variance)))
}
