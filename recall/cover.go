package recall

// spread ranks messages rather than passages, for work and for questions about
// a whole conversation, which need something of several files or messages.
// Each further passage of a message costs more than the one before; the price
// does not rise beyond the fourth.
func (s *Scope) spread(price float32, total []float32) {
	for m := range s.messages {
		first, n := s.messages[m].first, s.messages[m].count
		if n < 2 {
			continue
		}
		const dear = 3
		best, found := [dear]int32{}, 0 // best first; ties in the order of the text
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
