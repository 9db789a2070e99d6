package recall

// spread makes a ranking one of messages rather than of passages, for questions
// about the whole of a conversation and for work, which needs something of several
// files: what a message says a second time costs more than the first of another. The
// price does not rise beyond the fourth.
func (s *Scope) spread(price float32, total []float32) {
	for m := range s.messages {
		first, n := s.messages[m].first, s.messages[m].count
		if n < 2 {
			continue
		}
		const dear = 3
		best, found := [dear]int32{}, 0 // the best first, of equals the one said first
		for i := first; i < first+n; i++ {
			at := found
			for at > 0 && total[i] > total[best[at-1]] {
				at--
			}
			if at == dear {
				continue
			}
			found = min(found+1, dear)
			copy(best[at+1:found], best[at:])
			best[at] = i
		}
		kept := [dear]float32{}
		for k, i := range best[:found] {
			kept[k] = total[i] - price*float32(k)
		}
		for i := first; i < first+n; i++ {
			if total[i] > lowest {
				total[i] -= price * dear
			}
		}
		for k, i := range best[:found] {
			if total[i] > lowest {
				total[i] = kept[k]
			}
		}
	}
}
