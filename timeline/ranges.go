package timeline

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Ranges is a set of message ids, as rising ranges whose ends are included. Its text form
// is "1-3,7".
type Ranges [][2]int

// RangesOf returns the set of ids, which must rise.
func RangesOf[T ~int | ~int64](ids []T) (r Ranges) {
	for _, id := range ids {
		r.Add(int(id))
	}
	return r
}

// Has reports whether the set contains an id.
func (r Ranges) Has(id int) bool {
	_, ok := slices.BinarySearchFunc(r, id, func(s [2]int, id int) int {
		switch {
		case s[1] < id:
			return -1
		case s[0] > id:
			return 1
		}
		return 0
	})
	return ok
}

// Add adds an id that is larger than all others.
func (r *Ranges) Add(id int) {
	if l := len(*r); l > 0 && (*r)[l-1][1] == id-1 {
		(*r)[l-1][1] = id
		return
	}
	*r = append(*r, [2]int{id, id})
}

// Len returns the number of ids.
func (r Ranges) Len() int {
	n := 0
	for _, s := range r {
		n += s[1] - s[0] + 1
	}
	return n
}

// All iterates over the ids in rising order.
func (r Ranges) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, s := range r {
			for id := s[0]; id <= s[1]; id++ {
				if !yield(id) {
					return
				}
			}
		}
	}
}

func (r Ranges) String() string {
	var b []byte
	for i, s := range r {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(s[0]), 10)
		if s[1] > s[0] {
			b = append(b, '-')
			b = strconv.AppendInt(b, int64(s[1]), 10)
		}
	}
	return string(b)
}

// maxRanges bounds the ids of a parsed text: callers iterate over them.
const maxRanges = 1 << 24

// ParseRanges reads the text form. It rejects ids that do not rise, and texts with more
// ids than any history has.
func ParseRanges(text string) (Ranges, error) {
	if text == "" {
		return nil, nil
	}
	var r Ranges
	last, left := 0, maxRanges
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a <= last || b < a || b-a >= left {
			return nil, fmt.Errorf("%q is not a list of rising ids", part)
		}
		r = append(r, [2]int{a, b})
		last, left = b, left-(b-a+1)
	}
	return r, nil
}

// Union returns the ids of both sets. Its cost follows the number of ranges, not of ids.
func (r Ranges) Union(o Ranges) Ranges {
	all := slices.Concat(r, o)
	slices.SortFunc(all, func(a, b [2]int) int { return a[0] - b[0] })
	var out Ranges
	for _, s := range all {
		if n := len(out); n > 0 && s[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], s[1])
			continue
		}
		out = append(out, s)
	}
	return out
}

// Minus returns the ids that o does not have. Its cost follows the number of ranges.
func (r Ranges) Minus(o Ranges) Ranges {
	var out Ranges
	for _, s := range r {
		for len(o) > 0 && o[0][1] < s[0] {
			o = o[1:]
		}
		for _, cut := range o {
			if cut[0] > s[1] {
				break
			}
			if cut[0] > s[0] {
				out = append(out, [2]int{s[0], cut[0] - 1})
			}
			s[0] = cut[1] + 1
		}
		if s[0] <= s[1] {
			out = append(out, s)
		}
	}
	return out
}
