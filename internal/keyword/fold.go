package keyword

import "unicode"

// Letters without their diacritics, one byte a code point: U+00C0 to U+024F and
// U+1E00 to U+1EFF. A dot stands for what has no single such letter.
const (
	latin = "" +
		"aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
		"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkklllllll" +
		"lllnnnnnnnnnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs" +
		"................................oo.............uu..............." +
		".............aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa..oo" +
		"aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy............" +
		"................"
	latinMore = "" +
		"aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwy.s....aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
)

// fold appends r in the form in which terms are compared: lower case, Latin,
// Greek and Cyrillic letters without diacritics, full-width forms as ASCII. It
// appends nothing for a combining diacritic, so that composed and decomposed
// text give the same terms without a table of compositions.
func fold(dst []byte, r rune) []byte {
	switch {
	case r < 0x80:
		return append(dst, lowerOf[r])
	case r < 0xc0:
	case r < 0x250:
		switch r {
		case 'ß':
			return append(dst, "ss"...)
		case 'æ', 'Æ':
			return append(dst, "ae"...)
		case 'œ', 'Œ':
			return append(dst, "oe"...)
		case 'þ', 'Þ':
			return append(dst, "th"...)
		}
		if c := latin[r-0xc0]; c != '.' {
			return append(dst, c)
		}
	case 0x300 <= r && r < 0x370:
		return dst
	case 0x1e00 <= r && r < 0x1f00:
		if r == 'ẞ' {
			return append(dst, "ss"...)
		}
		if c := latinMore[r-0x1e00]; c != '.' {
			return append(dst, c)
		}
	case 0xff01 <= r && r < 0xff5f:
		return append(dst, lowerOf[r-0xfee0])
	}
	r = unicode.ToLower(r)
	switch r {
	case 'ά':
		r = 'α'
	case 'έ':
		r = 'ε'
	case 'ή':
		r = 'η'
	case 'ί', 'ϊ', 'ΐ':
		r = 'ι'
	case 'ό':
		r = 'ο'
	case 'ύ', 'ϋ', 'ΰ':
		r = 'υ'
	case 'ώ':
		r = 'ω'
	case 'ς':
		r = 'σ'
	case 'й', 'ѝ':
		r = 'и'
	case 'ё', 'ѐ':
		r = 'е'
	case 'ї':
		r = 'і'
	case 'ў':
		r = 'у'
	}
	return append(dst, string(r)...)
}

// inWord reports whether a character beyond ASCII belongs to a word: letters,
// digits and marks of any script, and the joiners that are invisible in one.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || invisible(r)
}

// invisible reports whether r is the soft hyphen or a joiner, which belong to a
// word but not to a term.
func invisible(r rune) bool { return r == 0xad || r == 0x200c || r == 0x200d }

// unspaced reports whether r belongs to a script that is written without spaces
// between words, or, for Hangul, with particles glued to them.
func unspaced(r rune) bool {
	switch {
	case r < 0xe00:
		return false
	case r < 0xf00: // Thai, Lao
		return true
	case 0x1000 <= r && r < 0x10a0, 0x1780 <= r && r < 0x1800: // Myanmar, Khmer
		return true
	case 0x1100 <= r && r < 0x1200, 0xac00 <= r && r < 0xd7b0: // Hangul
		return true
	case 0x3041 <= r && r < 0x3100, r == 0x3005, r == 0x3007: // kana, iteration mark, zero
		return r != 0x30fb && r != 0x30a0 && !(0x3097 <= r && r < 0x309d)
	case 0xff66 <= r && r < 0xffa0: // half-width kana
		return true
	}
	return han(r)
}

func han(r rune) bool {
	return 0x3400 <= r && r < 0x4dc0 || 0x4e00 <= r && r < 0xa000 || 0xf900 <= r && r < 0xfb00 ||
		0x20000 <= r && r < 0x32000
}
