package wordpiece

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// unicodeText is the reference's treatment of every code point: a line for
// each run of code points with the same fact, hexadecimal as in "00C8-00CB
// 0065". The facts are
//
//	drop         the character is removed, and its neighbours join
//	space        it ends a word
//	punct        it is a word of its own
//	+32, -131    it becomes the character at that distance (decimal)
//	0061         it becomes this character
//	09C7 09BE    it becomes these characters
//	mark         it stays, but its order among other marks is undefined;
//	             such a code point has no other fact
//
// A replacement is never mapped again; it is a word of its own if its own fact
// says so. A code point without a line stays as it is, as part of a word. The
// code below handles ideographs, which are words of their own, and Hangul
// syllables, which are not in the file. Ideographs in the file become other
// ideographs.
//
//go:embed unicode.txt
var unicodeText string

// A kind is the effect of a character on the word before it.
type kind uint32

const (
	letter kind = iota // is part of the word
	alone              // is a word of its own
	space              // ends the word
	drop               // nothing
	many               // turns into several letters
)

// A fact is a kind in its lowest 3 bits and, above it, the replacement of the
// code point: 0 for itself, or for the kind many an index of table.many.
type fact uint32

func (f fact) kind() kind  { return kind(f & 7) }
func (f fact) value() rune { return rune(f >> 3) }

func newFact(k kind, value rune) fact { return fact(value)<<3 | fact(k) }

const (
	pageSize = 256
	pages    = (utf8.MaxRune + 1) / pageSize
)

type page [pageSize]fact

// A table maps every code point to its fact, by page. Most pages are uniform
// and shared.
type table struct {
	page  [pages]*page
	many  [][]rune
	marks []span
}

type span struct{ lo, hi rune }

var sharedTable = sync.OnceValues(func() (*table, error) { return parseTable(unicodeText) })

// ideographs are the ranges that the reference treats as ideographs, fewer than
// Unicode has.
var ideographs = []span{
	{0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0x20000, 0x2A6DF},
	{0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F},
}

// Hangul syllables are decomposed by arithmetic, Unicode 3.12.
const (
	hangulFirst, hangulLast             = 0xAC00, 0xD7A3
	leadBase, vowelBase, tailBase       = 0x1100, 0x1161, 0x11A7
	vowelCount, tailCount, syllablesOne = 21, 28, vowelCount * tailCount
)

// hangul returns the letters of a syllable; tail is 0 when it has none.
func hangul(r rune) (lead, vowel, tail rune) {
	s := r - hangulFirst
	lead, vowel = leadBase+s/syllablesOne, vowelBase+s%syllablesOne/tailCount
	if t := s % tailCount; t != 0 {
		tail = tailBase + t
	}
	return lead, vowel, tail
}

// fact returns the fact of any r up to utf8.MaxRune except Hangul syllables.
func (t *table) fact(r rune) fact { return t.page[r/pageSize][r%pageSize] }

// holdsMark reports whether a piece contains a mark whose order is undefined.
func (t *table) holdsMark(piece []byte) bool {
	for len(piece) > 0 {
		if piece[0] < utf8.RuneSelf {
			piece = piece[1:]
			continue
		}
		r, size := utf8.DecodeRune(piece)
		for _, m := range t.marks {
			if m.lo <= r && r <= m.hi {
				return true
			}
		}
		piece = piece[size:]
	}
	return false
}

func parseTable(text string) (*table, error) {
	t := &table{}
	plain := new(page)
	for i := range t.page {
		t.page[i] = plain
	}
	set := newSetter(t, plain)
	for _, s := range ideographs {
		set.run(s, newFact(alone, 0))
	}
	type mapping struct {
		span
		to, by rune
	}
	var mapped []mapping // after the rest, because their kind is that of the replacement
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		where, what, _ := strings.Cut(line, " ")
		s, err := parseSpan(where)
		if err != nil {
			return nil, fmt.Errorf("wordpiece: unicode.txt: line %q: %w", line, err)
		}
		switch {
		case what == "drop":
			set.run(s, newFact(drop, 0))
		case what == "space":
			set.run(s, newFact(space, 0))
		case what == "punct":
			set.run(s, newFact(alone, 0))
		case what == "mark":
			t.marks = append(t.marks, s)
		case strings.HasPrefix(what, "+"), strings.HasPrefix(what, "-"):
			by, err := strconv.Atoi(what)
			if err != nil {
				return nil, fmt.Errorf("wordpiece: unicode.txt: line %q: %w", line, err)
			}
			mapped = append(mapped, mapping{span: s, by: rune(by)})
		default:
			var to []rune
			for x := range strings.SplitSeq(what, " ") {
				r, err := strconv.ParseUint(x, 16, 21)
				if err != nil {
					return nil, fmt.Errorf("wordpiece: unicode.txt: line %q: %w", line, err)
				}
				to = append(to, rune(r))
			}
			if len(to) == 1 {
				mapped = append(mapped, mapping{span: s, to: to[0]})
			} else {
				set.run(s, newFact(many, rune(len(t.many))))
				t.many = append(t.many, to)
			}
		}
	}
	for _, m := range mapped {
		for r := m.lo; r <= m.hi; r++ {
			to := m.to
			if m.by != 0 {
				to = r + m.by
			}
			set.one(r, newFact(t.fact(to).kind(), to))
		}
	}
	return t, nil
}

func parseSpan(s string) (span, error) {
	lo, hi, two := strings.Cut(s, "-")
	a, err := strconv.ParseUint(lo, 16, 21)
	if err != nil {
		return span{}, err
	}
	b := a
	if two {
		if b, err = strconv.ParseUint(hi, 16, 21); err != nil {
			return span{}, err
		}
	}
	if a > b || b > utf8.MaxRune {
		return span{}, fmt.Errorf("%s is not a range of code points", s)
	}
	return span{rune(a), rune(b)}, nil
}

// A setter writes facts to a table, and splits shared pages if it must.
type setter struct {
	t      *table
	whole  map[fact]*page // pages of one fact
	shared map[*page]bool
}

func newSetter(t *table, plain *page) *setter {
	return &setter{t, map[fact]*page{0: plain}, map[*page]bool{plain: true}}
}

func (s *setter) run(at span, f fact) {
	for r := at.lo; r <= at.hi; {
		if r%pageSize == 0 && r+pageSize-1 <= at.hi {
			s.t.page[r/pageSize] = s.all(f)
			r += pageSize
			continue
		}
		s.one(r, f)
		r++
	}
}

func (s *setter) one(r rune, f fact) {
	p := s.t.page[r/pageSize]
	if s.shared[p] {
		own := *p
		p = &own
		s.t.page[r/pageSize] = p
	}
	p[r%pageSize] = f
}

func (s *setter) all(f fact) *page {
	p := s.whole[f]
	if p == nil {
		p = new(page)
		for i := range p {
			p[i] = f
		}
		s.whole[f], s.shared[p] = p, true
	}
	return p
}
