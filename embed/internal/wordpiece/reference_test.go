package wordpiece

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// slow is the tokenizer as a definition: whole passes over the text, one
// after the other, then a loop over a map. It shares the facts of single
// code points with the fast one, which TestEveryCodePoint proves, and nothing else.
type slow struct {
	ids   map[string]int32
	table *table
}

func newSlow(t testing.TB) *slow {
	s := &slow{ids: map[string]int32{}, table: tokenizer(t).table}
	for i, line := range bytes.Split(bytes.TrimSpace(vocabulary(t)), []byte("\n")) {
		s.ids[string(line)] = int32(i)
	}
	return s
}

func (s *slow) encode(text string, max int) []int32 {
	var ids []int32
	for text != "" {
		before, special, after := cutSpecial(text)
		for _, word := range s.words(s.normalize(before)) {
			ids = append(ids, s.pieces(word)...)
		}
		if special != "" {
			ids = append(ids, s.ids[special])
		}
		text = after
	}
	if len(ids) > max-2 {
		ids = ids[:max-2]
	}
	return append(append([]int32{s.ids["[CLS]"]}, ids...), s.ids["[SEP]"])
}

// cutSpecial finds the first special piece in text.
func cutSpecial(text string) (before, special, after string) {
	at := len(text)
	for _, x := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		if i := strings.Index(text, x); i >= 0 && i < at {
			at, special = i, x
		}
	}
	return text[:at], special, text[at+len(special):]
}

func (s *slow) normalize(text string) string {
	var clean []rune
	for _, r := range text {
		switch {
		case r == utf8.RuneError || !isHangul(r) && s.table.fact(r).kind() == drop:
		case !isHangul(r) && s.table.fact(r).kind() == space:
			clean = append(clean, ' ')
		default:
			clean = append(clean, r)
		}
	}
	var spaced []rune
	for _, r := range clean {
		if isIdeograph(r) {
			spaced = append(spaced, ' ', r, ' ')
		} else {
			spaced = append(spaced, r)
		}
	}
	var plain []rune
	for _, r := range spaced {
		switch f := s.table.fact(r); {
		case isHangul(r):
			lead, vowel, tail := hangul(r)
			plain = append(plain, lead, vowel)
			if tail != 0 {
				plain = append(plain, tail)
			}
		case f.kind() == many:
			plain = append(plain, s.table.many[f.value()]...)
		case f.value() != 0:
			plain = append(plain, f.value())
		default:
			plain = append(plain, r)
		}
	}
	return string(plain)
}

func (s *slow) words(text string) []string {
	var words []string
	for _, field := range strings.Split(text, " ") {
		word := ""
		for _, r := range field {
			if !isHangul(r) && s.table.fact(r).kind() == alone && !isIdeograph(r) {
				words = append(words, word, string(r))
				word = ""
			} else {
				word += string(r)
			}
		}
		words = append(words, word)
	}
	return words
}

func (s *slow) pieces(word string) []int32 {
	chars := []rune(word)
	if len(chars) > 100 {
		return []int32{s.ids["[UNK]"]}
	}
	var ids []int32
	for start := 0; start < len(chars); {
		end := len(chars)
		for ; end > start; end-- {
			piece := string(chars[start:end])
			if start > 0 {
				piece = "##" + piece
			}
			if id, ok := s.ids[piece]; ok {
				ids = append(ids, id)
				break
			}
		}
		if end == start {
			return []int32{s.ids["[UNK]"]}
		}
		start = end
	}
	return ids
}

func isHangul(r rune) bool { return r >= 0xAC00 && r <= 0xD7A3 }

func isIdeograph(r rune) bool {
	switch {
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3400 && r <= 0x4DBF,
		r >= 0x20000 && r <= 0x2A6DF, r >= 0x2A700 && r <= 0x2B73F,
		r >= 0x2B740 && r <= 0x2B81F, r >= 0x2B920 && r <= 0x2CEAF,
		r >= 0xF900 && r <= 0xFAFF, r >= 0x2F800 && r <= 0x2FA1F:
		return true
	}
	return false
}
