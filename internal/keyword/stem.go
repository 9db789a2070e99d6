package keyword

import "encoding/binary"

// stopWords are dropped before stemming.
const stopWords = "a an the of to in on at for and or is are was were be been has have had do does did " +
	"i you he she it we they my your his her its our their this that these those with as by from " +
	"what when where who which how why s t"

// stopTable holds the stop words, packed eight bytes to a word, at the place
// that stopSlot gives or the next free one.
var stopTable = func() (t [256]uint64) {
	add := func(w string) {
		var b [8]byte
		copy(b[:], w)
		key := binary.LittleEndian.Uint64(b[:])
		i := stopSlot(key)
		for t[i] != 0 {
			i++
		}
		t[i] = key
	}
	start := 0
	for i := 0; i <= len(stopWords); i++ {
		if i == len(stopWords) || stopWords[i] == ' ' {
			add(stopWords[start:i])
			start = i + 1
		}
	}
	return t
}()

func stopSlot(key uint64) uint8 { return uint8(key * 0x9e3779b97f4a7c15 >> 56) }

// isStop reports whether the word whose eight bytes key holds is a stop word. The
// word has at most eight bytes, padded with zeros.
func isStop(key uint64) bool {
	for i := stopSlot(key); stopTable[i] != 0; i++ {
		if stopTable[i] == key {
			return true
		}
	}
	return false
}

// stem strips an English ending from a lower-case word, in place: the first of
// ingly edly ings ing ies ied ed ly es s that leaves three letters, then a
// doubled letter, a final e, and i for a final y.
func stem(w []byte) []byte {
	n := len(w)
	if n <= 3 {
		return w
	}
	r, y := n, false
	switch w[n-1] {
	case 'y':
		switch {
		case n >= 8 && string(w[n-5:]) == "ingly":
			r = n - 5
		case n >= 7 && string(w[n-4:]) == "edly":
			r = n - 4
		case n >= 5 && w[n-2] == 'l':
			r = n - 2
		}
	case 's':
		switch {
		case n >= 7 && string(w[n-4:]) == "ings":
			r = n - 4
		case n >= 6 && string(w[n-3:]) == "ies":
			r, y = n-3, true
		case n >= 5 && w[n-2] == 'e':
			r = n - 2
		default:
			r = n - 1
		}
	case 'g':
		if n >= 6 && string(w[n-3:]) == "ing" {
			r = n - 3
		}
	case 'd':
		switch {
		case n >= 6 && string(w[n-3:]) == "ied":
			r, y = n-3, true
		case n >= 5 && w[n-2] == 'e':
			r = n - 2
		}
	}
	cut := r < n
	if y {
		w[r] = 'y'
		r++
	}
	if cut && r > 3 && w[r-1] == w[r-2] && w[r-1] != 's' && w[r-1] != 'l' {
		r--
	}
	if r > 3 && w[r-1] == 'e' {
		r--
	}
	if r > 3 && w[r-1] == 'y' {
		w[r-1] = 'i'
	}
	return w[:r]
}
