package wordpiece

import (
	"math"
	"strings"
	"unicode/utf8"
)

const (
	// maxChars is the most characters of a normalized word; a longer one is
	// [UNK].
	maxChars = 100
	maxWord  = maxChars * utf8.UTFMax
)

// ascii maps each byte of text to one of these classes or, above isOther, to
// the byte of the word that replaces it.
const (
	isDrop byte = iota
	isSpace
	isPunct
	isOther // not ASCII
)

var ascii = func() (class [256]byte) {
	for c := range class {
		switch c := byte(c); {
		case c >= utf8.RuneSelf:
			class[c] = isOther
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			class[c] = isSpace
		case c < ' ' || c == 0x7F:
			class[c] = isDrop
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
			class[c] = c
		case c >= 'A' && c <= 'Z':
			class[c] = c - 'A' + 'a'
		default:
			class[c] = isPunct
		}
	}
	return class
}()

// Encode appends the ids of text to dst: [CLS], the pieces, [SEP], at most max
// ids in all. Excess pieces before [SEP] are dropped. If max is below 2, nothing
// is appended. Encode keeps no reference to text and is safe for concurrent use.
func (t *Tokenizer) Encode(dst []int32, text string, max int) []int32 {
	if max < 2 {
		return dst
	}
	limit := len(dst) + min(max, math.MaxInt-len(dst)) - 1
	w := walk{t: t, dst: append(dst, t.cls), limit: limit}
	w.text(text)
	w.flush()
	return append(w.dst, t.sep)
}

// A walk is the state of one Encode.
type walk struct {
	t     *Tokenizer
	dst   []int32
	limit int // dst grows up to this length

	word  [maxWord]byte // the word so far, normalized
	n     int           // its length in bytes
	chars int           // and in characters; if above maxChars, its [UNK] is in dst already
}

func (w *walk) full() bool { return len(w.dst) >= w.limit }

// text reads until dst is full or the text ends. It leaves the last word to
// flush.
func (w *walk) text(text string) {
	for i := 0; i < len(text) && !w.full(); {
		switch c := ascii[text[i]]; c {
		case isDrop:
			i++
		case isSpace:
			w.flush()
			i++
		case isPunct:
			w.flush()
			i += w.punct(text[i:])
		case isOther:
			r, size := utf8.DecodeRuneInString(text[i:])
			w.other(r)
			i += size
		default:
			i += w.letters(text[i:])
		}
	}
}

// letters reads a run of ASCII letters and digits and returns its length.
func (w *walk) letters(text string) int {
	room := min(len(text), maxChars-w.chars)
	if room <= 0 {
		return w.excess(text)
	}
	word := w.word[w.n : w.n+room]
	i := 0
	for ; i < len(word); i++ {
		c := ascii[text[i]]
		if c <= isOther {
			break
		}
		word[i] = c
	}
	w.n += i
	w.chars += i
	return i
}

// excess skips the letters after the first maxChars of a word that is too
// long, and returns their number.
func (w *walk) excess(text string) int {
	w.letter(rune(text[0]))
	if w.full() {
		return len(text)
	}
	for i := range len(text) {
		if ascii[text[i]] <= isOther {
			return i
		}
	}
	return len(text)
}

// punct reads a punctuation character or a special piece and returns its
// length. The word before it has been flushed.
func (w *walk) punct(text string) int {
	if w.full() {
		return 1
	}
	if text[0] == '[' {
		for _, s := range w.t.specials {
			if strings.HasPrefix(text, s.text) {
				w.dst = append(w.dst, s.id)
				return len(s.text)
			}
		}
	}
	w.dst = append(w.dst, w.t.punct[text[0]])
	return 1
}

// other reads a character that is not ASCII. Invalid UTF-8 arrives as U+FFFD,
// which is dropped.
func (w *walk) other(r rune) {
	if r >= hangulFirst && r <= hangulLast {
		lead, vowel, tail := hangul(r)
		w.letter(lead)
		w.letter(vowel)
		if tail != 0 {
			w.letter(tail)
		}
		return
	}
	f := w.t.table.fact(r)
	if to := f.value(); to != 0 {
		r = to
	}
	switch f.kind() {
	case letter:
		w.letter(r)
	case alone:
		w.flush()
		if !w.full() {
			w.letter(r)
			w.flush()
		}
	case space:
		w.flush()
	case many:
		for _, r := range w.t.table.many[f.value()] {
			w.letter(r)
		}
	}
}

func (w *walk) letter(r rune) {
	switch w.chars++; {
	case w.chars <= maxChars:
		w.n += utf8.EncodeRune(w.word[w.n:], r)
	case w.chars == maxChars+1:
		w.dst = append(w.dst, w.t.unk)
	}
}

// flush ends the word: it appends its pieces, as many as fit, or [UNK]. It
// splits the word to its end in any case, because only then it is known which
// of the two applies.
func (w *walk) flush() {
	if w.chars == 0 {
		return
	}
	word, before, base := w.word[:w.n], len(w.dst), w.t.trie.start
	if w.chars > maxChars {
		word = nil
	}
	for len(word) > 0 {
		id, n := w.t.trie.longest(base, word)
		if n == 0 {
			w.dst = append(w.dst[:before], w.t.unk)
			break
		}
		if !w.full() {
			w.dst = append(w.dst, id)
		}
		word, base = word[n:], w.t.trie.rest
	}
	w.n, w.chars = 0, 0
}
