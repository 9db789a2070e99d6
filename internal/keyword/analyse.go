package keyword

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A Term is the 64-bit hash of a term's bytes. The same bytes give the same
// Term in every process. Two of a million different terms are equal with a
// probability of 3e-8.
type Term uint64

// A Word is a term in readable form.
type Word struct {
	Text string
	// Extra marks a term that finds a document but does not make it longer:
	// a whole identifier, a part of one, a base name.
	Extra bool
}

// An Analyser turns text into terms. The zero value is ready for use, drops
// English stop words, and may be used concurrently.
type Analyser struct {
	// KeepStopWords keeps words such as "the" and "where". Default: dropped.
	KeepStopWords bool
}

// Terms appends the terms of text to dst, in the order of the text, repeated as
// often as they occur. length is the number of those that count towards the
// length of a document. It allocates only to make dst longer.
func (a *Analyser) Terms(dst []Term, text string) (terms []Term, length int) {
	s := scanner{terms: dst, keep: a.KeepStopWords}
	s.scan(text)
	return s.terms, s.length
}

// Words returns what Terms hashes. It is for people and tests.
func (a *Analyser) Words(text string) []Word {
	words := []Word{}
	s := scanner{words: &words, keep: a.KeepStopWords}
	s.scan(text)
	return words
}

const (
	// maxTerm is the number of bytes of a term that are hashed.
	maxTerm = 192
	// blobSize is the length in bytes from which an unbroken run is data and
	// not a word: what PEM and MIME put on one line.
	blobSize = 64
	// maxHex is the longest run of hexadecimal digits that is a name: SHA-512.
	maxHex = 128
)

// Classes of ASCII characters.
const (
	lower = 1 << iota
	upper
	digit
	quote
	joint // may stand between the parts of an identifier
	wide  // first or later byte of a character beyond ASCII
	coded // in the alphabets of base64
	hexa

	alnum = lower | upper | digit
)

var class, lowerOf = func() (class, low [256]uint8) {
	for i := range class {
		c := byte(i)
		low[i] = c
		switch {
		case 'a' <= c && c <= 'z':
			class[i] = lower | coded
		case 'A' <= c && c <= 'Z':
			class[i] = upper | coded
			low[i] = c | 0x20
		case '0' <= c && c <= '9':
			class[i] = digit | coded | hexa
		case c == '\'':
			class[i] = quote
		case c == '-', c == '_', c == '/':
			class[i] = joint | coded
		case c == '.', c == '\\':
			class[i] = joint
		case c == '+', c == '=':
			class[i] = coded
		case c >= 0x80:
			class[i] = wide
		}
		if l := c | 0x20; 'a' <= l && l <= 'f' && c >= 'A' {
			class[i] |= hexa
		}
	}
	return class, low
}()

// A scanner is one pass over a text.
type scanner struct {
	terms  []Term
	words  *[]Word // instead of terms, if not nil
	length int
	keep   bool
	// calm is a position before which no run of blobSize starts.
	calm int
	// buf holds the term at hand; the rest pads the last word of its hash.
	buf [maxTerm + 16]byte
}

func (s *scanner) scan(t string) {
	for i := 0; i < len(t); {
		c := class[t[i]]
		if c&(alnum|quote|wide) == 0 {
			i++
			continue
		}
		if c&wide != 0 {
			r, size := utf8.DecodeRuneInString(t[i:])
			if unspaced(r) {
				i = s.characters(t, i)
				continue
			}
			if r != '’' && !inWord(r) {
				i += size
				continue
			}
		}
		i = s.joined(t, i)
	}
}

// joined reads words joined by single signs, such as paths and identifiers, and
// returns where they end. The text at i starts a word.
func (s *scanner) joined(t string, i int) int {
	start, end, parts, data := i, i, 0, 0
	for {
		if at := unquote(t, i); at >= s.calm {
			if data = s.data(t, at); data > 0 {
				break
			}
		}
		next := s.word(t, i)
		if next == i {
			break
		}
		parts++
		end = next
		if i = next + jointAt(t[next:]); i == next {
			break
		}
	}
	if parts > 1 {
		s.wholes(t[start:end])
	}
	return max(end, data)
}

// jointAt returns the length of a joint that starts t and that a word follows:
// one sign, with any number of underscores around it, or the /. of a hidden
// file. Two dots, dashes or slashes are punctuation.
func jointAt(t string) int {
	signs := 0
	for i := range len(t) {
		c := class[t[i]]
		switch {
		case c&(alnum|wide) != 0:
			return i
		case c&joint == 0:
			return 0
		case t[i] == '_':
		case t[i] == '.' && signs == 1 && i > 0 && (t[i-1] == '/' || t[i-1] == '\\'):
		default:
			if signs++; signs > 1 {
				return 0
			}
		}
	}
	return 0
}

// unquote returns the place of the first character from i on that is not an
// apostrophe.
func unquote(t string, i int) int {
	for i < len(t) && t[i] == '\'' {
		i++
	}
	return i
}

// word emits the word at i, with what else it should be found by, and returns
// where it ends: at i if there is none.
func (s *scanner) word(t string, i int) int {
	start, n, uppers := i, 0, 0
	var seen uint8
	for i < len(t) {
		b := t[i]
		c := class[b]
		if c&alnum != 0 {
			s.buf[n] = lowerOf[b]
			if n < maxTerm {
				n++
			}
			seen |= c
			uppers += int(c >> 1 & 1)
			i++
			continue
		}
		if c&(quote|wide) == 0 {
			break
		}
		r, size := rune('\''), 1
		if c&wide != 0 {
			if r, size = utf8.DecodeRuneInString(t[i:]); r == '’' {
				r = '\''
			} else if !inWord(r) || unspaced(r) {
				break
			}
		}
		i += size
		if r != '\'' {
			seen |= lower
			if !invisible(r) && n <= maxTerm-utf8.UTFMax {
				if n = len(fold(s.buf[:n], r)); n > 0 {
					seen |= class[s.buf[n-1]] & wide
				}
			}
			continue
		}
		seen |= quote
		if i < len(t) && t[i]|0x20 == 's' {
			i++ // the possessive, and by the same rule every 's
			continue
		}
		s.buf[n] = '\''
		if n < maxTerm {
			n++
		}
	}
	if n > 0 {
		s.emit(n, seen&wide == 0, false)
	}
	if uppers > 0 && seen&lower != 0 && (uppers > 1 || class[t[unquote(t, start)]]&upper == 0) {
		s.humps(t[start:i])
	}
	if seen&quote != 0 {
		s.unquoted(t[start:i])
	}
	if seen&(digit|lower|upper) > digit && i-start > 7 {
		s.hex(t[start:i])
	}
	return i
}

// characters emits the pairs of neighbours of a run without spaces, and each
// Chinese character alone; it returns where the run ends.
func (s *scanner) characters(t string, i int) int {
	last, n := 0, 0 // the bytes of the character before, and how many came
	for i < len(t) {
		r, size := utf8.DecodeRuneInString(t[i:])
		if !unspaced(r) {
			break
		}
		if n > 0 {
			s.put(t[i-last:i+size], false, false)
		}
		if han(r) {
			alone := n == 0 && !s.goesOn(t[i+size:])
			s.put(t[i:i+size], false, !alone)
		} else if n == 0 && !s.goesOn(t[i+size:]) {
			s.put(t[i:i+size], false, false)
		}
		last, i = size, i+size
		n++
	}
	return i
}

func (s *scanner) goesOn(t string) bool {
	r, _ := utf8.DecodeRuneInString(t)
	return unspaced(r)
}

// put emits w as it is.
func (s *scanner) put(w string, english, extra bool) {
	s.emit(copy(s.buf[:maxTerm], w), english, extra)
}

// emit emits the first n bytes of the buffer: if they are an English word, its
// stem, or nothing for a stop word.
func (s *scanner) emit(n int, english, extra bool) {
	if english {
		if n <= 5 && !s.keep {
			s.pad(n)
			if isStop(binary.LittleEndian.Uint64(s.buf[:])) {
				return
			}
		}
		n = len(stem(s.buf[:n]))
	}
	if !extra {
		s.length++
	}
	if s.words != nil {
		*s.words = append(*s.words, Word{string(s.buf[:n]), extra})
		return
	}
	s.pad(n)
	h := uint64(n) * 0x9e3779b97f4a7c15
	for i := 0; i < n; i += 8 {
		hi, lo := bits.Mul64(binary.LittleEndian.Uint64(s.buf[i:])^h, 0xd6e8feb86659fd93)
		h = hi ^ lo
	}
	hi, lo := bits.Mul64(h^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	s.terms = append(s.terms, Term(hi^lo))
}

func (s *scanner) pad(n int) { binary.LittleEndian.PutUint64(s.buf[n:], 0) }
