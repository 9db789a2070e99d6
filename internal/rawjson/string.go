package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Str returns a string's text, escapes decoded; "" for other kinds.
func (v Value) Str() string {
	s, ok := v.inner()
	if !ok {
		return ""
	}
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s)
	}
	// The decoded text is never longer than the raw one.
	return string(appendDecoded(make([]byte, 0, len(s)), s))
}

// AppendStr appends what Str returns to dst.
func (v Value) AppendStr(dst []byte) []byte {
	s, _ := v.inner()
	return appendDecoded(dst, s)
}

// EqualStr reports whether the value is a string whose decoded text is s. It
// does not allocate.
func (v Value) EqualStr(s string) bool {
	raw, ok := v.inner()
	return ok && equalString(raw, s)
}

// inner returns a string's bytes between the quotes.
func (v Value) inner() (s []byte, ok bool) {
	e, ok := v.container('"')
	if !ok {
		return nil, false
	}
	return v.doc.data[e.start+1 : e.end-1], true
}

// AppendLiteral appends the decoded text of a string literal, given with its
// quotes, to dst: for literals that were cut out of a text and are decoded
// later. It appends nothing if literal is not one.
func AppendLiteral(dst, literal []byte) []byte {
	if len(literal) < 2 || literal[0] != '"' {
		return dst
	}
	return appendDecoded(dst, literal[1:len(literal)-1])
}

// appendDecoded decodes the inside of a string.
func appendDecoded(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		r, n := decodeEscape(s[i:])
		dst = utf8.AppendRune(dst, r)
		s = s[i+n:]
	}
}

// equalString compares the inside of a valid string, decoded, with want.
func equalString(s []byte, want string) bool {
	// An escape is always longer than what it stands for (at most six times),
	// so equal lengths mean that there is none.
	if len(s) <= len(want) {
		return string(s) == want && bytes.IndexByte(s, '\\') < 0
	}
	if len(s) > 6*len(want) || s[0] != want[0] && s[0] != '\\' {
		return false
	}
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return string(s) == want
		}
		if i > len(want) || string(s[:i]) != want[:i] {
			return false
		}
		r, n := decodeEscape(s[i:])
		var buf [utf8.UTFMax]byte
		dec := buf[:utf8.EncodeRune(buf[:], r)]
		want = want[i:]
		if len(want) < len(dec) || want[:len(dec)] != string(dec) {
			return false
		}
		s, want = s[i+n:], want[len(dec):]
	}
}

// unescape maps the letter of a short escape to its character; 0 for others.
var unescape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// decodeEscape decodes the escape at the start of s and returns its length. The two escapes of a
// surrogate pair count as one. An escape that is not valid decodes to U+FFFD.
func decodeEscape(s []byte) (r rune, n int) {
	if len(s) < 2 {
		return utf8.RuneError, len(s)
	}
	if s[1] != 'u' {
		if c := unescape[s[1]]; c != 0 {
			return rune(c), 2
		}
		return utf8.RuneError, 2
	}
	r = hex4(s[2:])
	switch {
	case r < 0:
		return utf8.RuneError, 2
	case !utf16.IsSurrogate(r):
		return r, 6
	case len(s) >= 12 && s[6] == '\\' && s[7] == 'u':
		if pair := utf16.DecodeRune(r, hex4(s[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hexValue maps a hex digit to its value; -1 for other bytes.
var hexValue = func() (t [256]rune) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range "0123456789abcdef" {
		t[c] = rune(i)
	}
	for i, c := range "ABCDEF" {
		t[c] = rune(10 + i)
	}
	return t
}()

// hex4 returns the value of the four hex digits at the start of s; negative if they
// are not all there.
func hex4(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	// A byte that is not a digit makes the sum negative.
	return hexValue[s[0]]<<12 | hexValue[s[1]]<<8 | hexValue[s[2]]<<4 | hexValue[s[3]]
}
