package rawjson

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// lenientDepth is how deep a text that ParseLenient reads may nest, as in encoding/json.
const lenientDepth = 10000

// ParseLenient reads a JSON text of at most limit bytes as programs that keep histories
// write it: also with half a surrogate pair, invalid UTF-8 or a byte order mark, which Parse
// rejects because they cannot be decoded without loss. It reads meaningless bytes as U+FFFD
// and does not change raw.
func ParseLenient(raw []byte, limit int) (Value, error) {
	doc, err := Parse(raw, Limits{Bytes: limit, Depth: lenientDepth})
	if err != nil {
		mended := Mend(raw)
		if bytes.Equal(mended, raw) {
			return Value{}, err
		}
		// A byte of invalid UTF-8 has become three.
		if doc, err = Parse(mended, Limits{Bytes: 3 * limit, Depth: lenientDepth}); err != nil {
			return Value{}, err
		}
	}
	return doc.Root(), nil
}

// Mend returns the text without a byte order mark, and with U+FFFD for
// everything that has no UTF-8 form. If there is nothing to mend it returns
// raw itself.
func Mend(raw []byte) []byte {
	out := bytes.TrimPrefix(raw, []byte("\ufeff"))
	copied := false
	if !utf8.Valid(out) {
		out, copied = bytes.ToValidUTF8(out, []byte("\ufffd")), true
	}
	for i := 0; i < len(out); {
		next := bytes.IndexByte(out[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		code, ok := unicodeEscape(out[i:])
		switch {
		case !ok:
			i += 2
		case code >= 0xd800 && code < 0xdc00:
			if low, ok := unicodeEscape(out[i+6:]); ok && low >= 0xdc00 && low < 0xe000 {
				i += 12
				continue
			}
			fallthrough
		case code >= 0xdc00 && code < 0xe000:
			if !copied {
				out, copied = bytes.Clone(out), true
			}
			copy(out[i:], `\ufffd`)
			i += 6
		default:
			i += 6
		}
	}
	return out
}

// unicodeEscape parses a \u escape at the beginning of s.
func unicodeEscape(s []byte) (code int, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range s[2:6] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		code = code<<4 | digit
	}
	return code, true
}
