package chat

import (
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// String is a JSON string literal with its quotes and escapes. It is decoded
// only on use, because most text only passes through.
type String []byte

// Quote returns the literal of s. Invalid UTF-8 becomes U+FFFD, as JSON
// requires.
func Quote(s string) String {
	return AppendQuote(make([]byte, 0, len(s)+2), s)
}

// AppendQuote appends the literal of s to dst. It escapes only what JSON
// requires, so that the text stays readable.
func AppendQuote(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= 0x20 && b != '"' && b != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch b {
			case '"', '\\':
				dst = append(dst, '\\', b)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// String returns the decoded literal, or "" if s is not a literal.
func (s String) String() string {
	if len(s) < 2 {
		return ""
	}
	return string(s.Append(make([]byte, 0, len(s)-2)))
}

// Append appends the decoded literal to dst. A lone surrogate becomes U+FFFD.
func (s String) Append(dst []byte) []byte { return rawjson.AppendLiteral(dst, s) }

// Empty reports whether the literal is empty.
func (s String) Empty() bool { return len(s) <= 2 }
