package recall

import "unsafe"

// Bytes returns the approximate memory that the scope holds: texts, words,
// vectors and tables, with spare capacity, but without the memory that a
// search borrows. It takes a few microseconds.
func (s *Scope) Bytes() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := int64(unsafe.Sizeof(*s)) + s.texts.bytes() + int64(s.words.Bytes()) + s.ids
	if s.vectors != nil {
		n += int64(s.vectors.Bytes())
	}
	if s.whole != nil {
		n += int64(s.whole.Bytes())
	}
	return n + held(s.messages) + held(s.origins) + held(s.sessions) + held(s.messageOf) + held(s.saying) + held(
		s.cost) + held(s.flags) + held(s.vectorOf) +
		held(s.sizes) + held(s.instructions) + held(s.said) + inMap[string, int32](len(s.byBlock)) + inMap[string,
		int32](len(s.open)) +
		inMap[[2]string, int32](len(s.named)) + inMap[string, []int32](len(s.speakers))*4/3 + inMap[int32,
		awaited](len(s.awaiting))
}

// held returns the memory of a slice.
func held[T any](s []T) int64 {
	var one T
	return int64(cap(s)) * int64(unsafe.Sizeof(one))
}

// inMap estimates the memory of a map with the given number of entries. Maps
// are between seven sixteenths and seven eighths full, and have one byte
// beside each entry.
func inMap[K comparable, V any](entries int) int64 {
	var pair struct {
		key   K
		value V
	}
	return int64(entries) * int64(unsafe.Sizeof(pair)+1) * 3 / 2
}

// allocated estimates the memory of a short string that is allocated on its
// own.
func allocated(s string) int64 { return int64(len(s)+15) &^ 15 }
