package keyword

import (
	"strings"
	"unicode/utf8"
)

// wholes emits joined words as whole terms: a path, its elements that are
// themselves joined, and their parts. "a/foo_bar.go" emits itself,
// "foo_bar.go" and "foo_bar".
func (s *scanner) wholes(t string) {
	if cut := strings.IndexAny(t, `/\`); cut >= 0 {
		s.whole(t)
		for ; cut >= 0; cut = strings.IndexAny(t, `/\`) {
			s.dotted(t[:cut])
			t = t[cut+1:]
		}
	}
	s.dotted(t)
}

func (s *scanner) dotted(t string) {
	t = trimJoints(t)
	if cut := strings.IndexByte(t, '.'); cut >= 0 {
		s.whole(t)
		for ; cut >= 0; cut = strings.IndexByte(t, '.') {
			s.dashed(t[:cut])
			t = t[cut+1:]
		}
	}
	s.dashed(t)
}

func (s *scanner) dashed(t string) {
	if t = trimJoints(t); strings.ContainsAny(t, "-_") {
		s.whole(t)
	}
}

// trimJoints removes the joints at both ends of t.
func trimJoints(t string) string {
	for t != "" && class[t[0]]&joint != 0 {
		t = t[1:]
	}
	for t != "" && class[t[len(t)-1]]&joint != 0 {
		t = t[:len(t)-1]
	}
	return t
}

// whole emits t folded, but not stemmed, unless it is too long to be a name.
func (s *scanner) whole(t string) {
	n := 0
	for i, r := range t {
		if n > maxTerm-utf8.UTFMax {
			return
		}
		switch {
		case r == '\'' || r == '’':
			if i+utf8.RuneLen(r)+1 != len(t) || lowerOf[t[len(t)-1]] != 's' {
				continue
			}
			s.emit(n, false, true) // without the possessive at its end
			return
		case r == '\\':
			r = '/'
		case invisible(r):
			continue
		}
		n = len(fold(s.buf[:n], r))
	}
	if n > 0 {
		s.emit(n, false, true)
	}
}

// maxHumps is the number of parts from which on a name in camel case is treated as data.
const maxHumps = 8

// humps emits the parts of a name in camel case that have two letters or more:
// "parseHTTPRequest" gives "parse", "http" and "request". A plural such as
// "URLs" and a hexadecimal number have no parts.
func (s *scanner) humps(t string) {
	if isHex(t) {
		return
	}
	var cuts [maxHumps + 1]int
	n := 0
	at := func(i int) uint8 {
		if i < 0 || i >= len(t) {
			return 0
		}
		if c := class[t[i]]; c&wide == 0 {
			return c
		}
		return lower
	}
	for i := 1; i <= len(t); i++ {
		var cut bool
		switch {
		case i == len(t):
			cut = true
		case at(i)&upper != 0:
			cut = at(i-1)&upper == 0 || at(i+1)&lower != 0 && (i+2 < len(t) || t[i+1] != 's')
		case at(i)&quote != 0:
			cut = true
		}
		if !cut {
			continue
		}
		if n++; n > maxHumps {
			return
		}
		cuts[n] = i
	}
	if n < 2 {
		return
	}
	for i := range n {
		if part := strings.Trim(t[cuts[i]:cuts[i+1]], "'’"); len(part) > 1 && len(part) < len(t) {
			s.part(part)
		}
	}
}

// unquoted emits a word with apostrophes once more without them: without
// quotes around it, a possessive at its end or an article elided at its start.
// It emits nothing that word has emitted already.
func (s *scanner) unquoted(t string) {
	w := strings.Trim(t, "'’")
	possessive := false
	for _, end := range [...]string{"'s", "’s", "'S", "’S"} {
		if cut, ok := strings.CutSuffix(w, end); ok {
			w, possessive = strings.TrimRight(cut, "'’"), true
			break
		}
	}
	inner := strings.LastIndexAny(w, "'’")
	if inner >= 0 {
		_, size := utf8.DecodeRuneInString(w[inner:])
		if w = w[inner+size:]; len(w) < 3 {
			return
		}
	} else if possessive && len(t)-len(w) <= len("’s") && strings.HasPrefix(t, w) {
		return // word has removed just that
	}
	s.part(w)
}

// minHex is the length of the short names that version control gives commits.
const minHex = 7

// hex emits the first seven digits of a hexadecimal name, so that its short and
// its long form find each other.
func (s *scanner) hex(t string) {
	if isHex(t) {
		s.part(t[:minHex])
	}
}

// isHex reports whether t is a hexadecimal number that looks like a name: at least
// seven digits, of both kinds.
func isHex(t string) bool {
	var seen uint8
	for i := range len(t) {
		c := class[t[i]]
		if c&hexa == 0 {
			return false
		}
		seen |= c
	}
	return len(t) >= minHex && seen&digit != 0 && seen&(lower|upper) != 0
}

// part emits t as a word that does not count towards the length of the text.
func (s *scanner) part(t string) {
	n := 0
	var seen uint8
	for _, r := range t {
		if n > maxTerm-utf8.UTFMax {
			return
		}
		if invisible(r) {
			continue
		}
		if n = len(fold(s.buf[:n], r)); n > 0 {
			seen |= class[s.buf[n-1]]
		}
	}
	if n > 0 {
		s.emit(n, seen&wide == 0, true)
	}
}

// data returns the end of the run at i, including a closing quote, if it is
// encoded data that nobody searches for, else 0. It advances calm.
func (s *scanner) data(t string, i int) int {
	if i+blobSize > len(t) {
		s.calm = len(t)
		return 0
	}
	for j := i + blobSize - 1; j >= i; j-- {
		if class[t[j]]&coded == 0 {
			s.calm = j + 1
			return 0
		}
	}
	end, changes, stretch, longest := i, 0, 0, 0
	for last := uint8(0); end < len(t) && class[t[end]]&coded != 0; end++ {
		c := class[t[end]] & alnum
		if c == 0 {
			stretch = 0
		} else if stretch++; last != 0 && c != last {
			changes++
		}
		longest, last = max(longest, stretch), c
	}
	s.calm = end
	if end-i <= maxHex && isHex(t[i:end]) {
		return 0
	}
	// Random base64 changes between small letters, capitals and digits at 64 %
	// of its characters, a path of names in camel case at 33 %.
	if longest >= blobSize || changes*5 >= (end-i)*2 {
		return unquote(t, end)
	}
	return 0
}
