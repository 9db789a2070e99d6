package bpe

import (
	"strings"
	"unicode/utf8"
)

// A naive is a slow encoder that can be checked by reading it beside the
// reference's patterns: it lists the ways each alternative may match, longest
// first where the pattern is greedy, and merges by looking up byte strings.
// It shares with the package the classes and the bytes of the tokens only.
type naive struct {
	rank  map[string]uint32
	match func(rs []char) int // length in characters of the first match
}

// A char is a character: its bytes and its class.
type char struct {
	s string
	c class
}

func newNaive(e *Encoding) *naive {
	n := &naive{rank: map[string]uint32{}, match: matchR50K}
	for id := range e.size() {
		if tok := e.bytes(uint32(id)); len(tok) > 0 {
			n.rank[string(tok)] = uint32(id)
		}
	}
	switch {
	case strings.HasPrefix(e.name, "cl100k"):
		n.match = matchCL100K
	case strings.HasPrefix(e.name, "o200k"):
		n.match = matchO200K
	}
	return n
}

func (n *naive) encode(s string) []uint32 {
	var rs []char
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		c := classPages[classPage[r>>8]][r&0xFF]
		rs = append(rs, char{s[:size], c})
		s = s[size:]
	}
	var ids []uint32
	for len(rs) > 0 {
		k := n.match(rs)
		piece := ""
		for _, r := range rs[:k] {
			piece += r.s
		}
		ids = append(ids, n.merge(piece)...)
		rs = rs[k:]
	}
	return ids
}

func (n *naive) merge(piece string) []uint32 {
	if id, ok := n.rank[piece]; ok {
		return []uint32{id}
	}
	var parts []string
	for i := range len(piece) {
		parts = append(parts, piece[i:i+1])
	}
	for {
		best, at := none, -1
		for i := 0; i+1 < len(parts); i++ {
			if id, ok := n.rank[parts[i]+parts[i+1]]; ok && id < best {
				best, at = id, i
			}
		}
		if at < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
	var ids []uint32
	for _, p := range parts {
		ids = append(ids, n.rank[p])
	}
	return ids
}

// run is the length of the longest run of characters in set from i on.
func run(rs []char, i int, set uint16) int {
	k := 0
	for i+k < len(rs) && in(rs[i+k].c, set) {
		k++
	}
	return k
}

func is(rs []char, i int, any string) bool {
	return i < len(rs) && strings.Contains(any, rs[i].s)
}

// suffix is the contraction at i: with fold in any case, else in lower case.
func suffix(rs []char, i int, fold bool) int {
	if !is(rs, i, "'") {
		return 0
	}
	rest := ""
	for k := i + 1; k < len(rs) && k < i+3; k++ {
		rest += rs[k].s
	}
	if fold {
		rest = strings.ToLower(strings.ReplaceAll(rest, "ſ", "s"))
	}
	for _, c := range []string{"s", "d", "m", "t", "ll", "ve", "re"} {
		if strings.HasPrefix(rest, c) {
			return 1 + len(c)
		}
	}
	return 0
}

// white tries the alternatives for white space from the left to the right:
// `\s++$` if whole, `\s*[\r\n]+` if lines, `\s+(?!\S)`, `\s+`.
func white(rs []char, order string) int {
	n := run(rs, 0, whites)
	for _, alternative := range order {
		switch alternative {
		case '$':
			if n == len(rs) {
				return n
			}
		case 'n':
			for k := n; k > 0; k-- {
				if rs[k-1].c == newline {
					return k
				}
			}
		case '!':
			for k := n; k > 0; k-- {
				if k == len(rs) || in(rs[k].c, whites) {
					return k
				}
			}
		}
	}
	return n
}

func matchCL100K(rs []char) int {
	if k := suffix(rs, 0, true); k > 0 {
		return k
	}
	if !in(rs[0].c, notPrefix) && run(rs, 1, letters) > 0 {
		return 1 + run(rs, 1, letters)
	}
	if k := run(rs, 0, letters); k > 0 {
		return k
	}
	if k := run(rs, 0, 1<<number); k > 0 {
		return min(k, 3)
	}
	for _, sp := range []int{1, 0} {
		if sp == 1 && rs[0].s != " " {
			continue
		}
		if k := run(rs, sp, punctuation); k > 0 {
			return sp + k + run(rs, sp+k, 1<<newline)
		}
	}
	return white(rs, "$n!")
}

func matchO200K(rs []char) int {
	for _, alternative := range []int{1, 2} {
		for _, prefix := range []int{1, 0} {
			if prefix == 1 && in(rs[0].c, notPrefix) {
				continue
			}
			for up := run(rs, prefix, upperish); up >= 0; up-- {
				low := run(rs, prefix+up, lowerish)
				if alternative == 1 && low > 0 || alternative == 2 && up > 0 {
					k := prefix + up + low
					return k + suffix(rs, k, true)
				}
			}
		}
	}
	if k := run(rs, 0, 1<<number); k > 0 {
		return min(k, 3)
	}
	for _, sp := range []int{1, 0} {
		if sp == 1 && rs[0].s != " " {
			continue
		}
		if k := run(rs, sp, punctuation); k > 0 {
			k += sp
			for is(rs, k, "\r\n/") {
				k++
			}
			return k
		}
	}
	return white(rs, "n!")
}

func matchR50K(rs []char) int {
	if k := suffix(rs, 0, false); k > 0 {
		return k
	}
	for _, set := range []uint16{letters, 1 << number, punctuation} {
		for _, sp := range []int{1, 0} {
			if sp == 1 && rs[0].s != " " {
				continue
			}
			if k := run(rs, sp, set); k > 0 {
				return sp + k
			}
		}
	}
	return min(white(rs, "$!"), len(rs))
}
