package recall

// A scope of several conversations is about several things, and much of what is near a query
// is near by chance: "my project" is said in all of them. A conversation in which several
// messages are near the query is more likely the one that is meant.

// topMessages is how many of the best messages of a conversation say how near it is.
const topMessages = 3

// nearness is the scores of the best messages of a conversation, the best first.
type nearness struct {
	best  [topMessages]float32
	count int
}

// takes reports whether a score is among the best.
func (n *nearness) takes(x float32) bool { return n.count < topMessages || x > n.best[n.count-1] }

func (n *nearness) add(x float32) {
	n.count = min(n.count+1, topMessages)
	at := n.count - 1
	for ; at > 0 && x > n.best[at-1]; at-- {
		n.best[at] = n.best[at-1]
	}
	n.best[at] = x
}

// mean returns the mean of the best. Messages that a short conversation lacks count as 0, as
// much as an average one.
func (n *nearness) mean() (sum float32) {
	for _, x := range n.best[:n.count] {
		sum += x
	}
	return sum / topMessages
}

// preferNear subtracts from the passages of each conversation, weighed, by how much its best
// messages are less near than those of the nearest conversation, by words and meaning alone.
// Messages that must not be shown do not count: the query itself may be one of them.
func (s *Scope) preferNear(sc *scores, f *factors, weight float32, o *RecallOptions) {
	if s.conversations < 2 || weight == 0 {
		return
	}
	near := make([]nearness, s.conversations)
	for m := range s.messages {
		msg := &s.messages[m]
		n := &near[s.sessions[msg.session].number]
		x := f.weight*sc.heights[m].words + sc.heights[m].meaning
		if msg.count > 0 && n.takes(x) && s.flags[msg.first]&flagRemoved == 0 && !o.excludes(&s.origins[m]) {
			n.add(x)
		}
	}
	top := float32(lowest)
	less := make([]float32, len(near))
	for c := range near {
		if less[c] = near[c].mean(); near[c].count > 0 {
			top = max(top, less[c])
		}
	}
	if top == lowest {
		return
	}
	for c := range less {
		less[c] = weight * max(0, top-less[c])
	}
	for m := range s.messages {
		msg := &s.messages[m]
		price := less[s.sessions[msg.session].number]
		for i := msg.first; i < msg.first+msg.count; i++ {
			if sc.total[i] > lowest {
				sc.total[i] -= price
			}
		}
	}
	sc.bounds()
}
