package vector

// Hits being collected are a heap with the worst on top.

// worse reports whether a comes after b in a result.
func worse(a, b Hit) bool {
	return a.Score < b.Score || a.Score == b.Score && a.ID > b.ID
}

// up moves the last hit to its place.
func up(h []Hit) {
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !worse(h[i], h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// down moves the first hit to its place.
func down(h []Hit) {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && worse(h[child+1], h[child]) {
			child++
		}
		if !worse(h[child], h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// sortHeap sorts a heap, the best first.
func sortHeap(h []Hit) {
	for n := len(h) - 1; n > 0; n-- {
		h[0], h[n] = h[n], h[0]
		down(h[:n])
	}
}
