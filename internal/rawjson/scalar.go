package rawjson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// parseScalar validates d.data and writes the tape. It is the definition of
// what a text means: every other way to fill the tape must agree with it.
func (d *Doc) parseScalar(lim Limits) (err *Error) {
	d.tape, err = appendTape(d.tape[:0], d.data, lim)
	return err
}

// appendTape is parseScalar on its parts.
func appendTape(tape []entry, data []byte, lim Limits) ([]entry, *Error) {
	if len(data) == 0 {
		return tape, &Error{0, "empty text"}
	}
	if len(data) >= 3 && data[0] == 0xef && data[1] == 0xbb && data[2] == 0xbf {
		return tape, &Error{0, "byte order mark"}
	}
	var (
		cur    uint32 = none // the innermost open container
		closer byte          // and the bracket that closes it
		depth  = 0
		i      = skipSpace(data, 0)
	)

value:
	if i >= len(data) {
		return tape, truncated(data)
	}
	if len(tape) >= lim.Values {
		return tape, &Error{i, "more than " + strconv.Itoa(lim.Values) + " values"}
	}
	switch c := data[i]; c {
	case '{', '[':
		if depth++; depth > lim.Depth {
			return tape, &Error{i, "nested more than " + strconv.Itoa(lim.Depth) + " deep"}
		}
		tape = append(tape, entry{uint32(i), 0, cur})
		cur, closer = uint32(len(tape)-1), c+2 // in ASCII, '[' + 2 is ']' and '{' + 2 is '}'
		i = skipSpace(data, i+1)
		if i < len(data) && data[i] == closer {
			goto closed
		}
		if c == '{' {
			goto name
		}
		goto value
	case '"':
		end, err := scanString(data, i)
		if err != nil {
			return tape, err
		}
		tape = append(tape, entry{uint32(i), uint32(end), uint32(len(tape) + 1)})
		i = end
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		end, ok := scanNumber(data, i)
		if !ok {
			return tape, unexpected(data, end, "in a number")
		}
		tape = append(tape, entry{uint32(i), uint32(end), uint32(len(tape) + 1)})
		i = end
	case 't', 'f', 'n':
		end, ok := scanLiteral(data, i)
		if !ok {
			return tape, unexpected(data, end, "in a literal")
		}
		tape = append(tape, entry{uint32(i), uint32(end), uint32(len(tape) + 1)})
		i = end
	default:
		return tape, unexpected(data, i, "instead of a value")
	}

after: // a value
	i = skipSpace(data, i)
	if cur == none {
		if i < len(data) {
			return tape, unexpected(data, i, "after the text's value")
		}
		return tape, nil
	}
	if i >= len(data) {
		return tape, truncated(data)
	}
	if data[i] == ',' {
		i = skipSpace(data, i+1)
		if closer == '}' {
			goto name
		}
		goto value
	}
	if data[i] != closer {
		return tape, unexpected(data, i, "instead of , or "+string(closer))
	}

closed: // the bracket at i closes cur
	i++
	depth--
	{
		up := tape[cur].next
		tape[cur].end, tape[cur].next = uint32(i), uint32(len(tape))
		if cur = up; cur != none {
			closer = data[tape[cur].start] + 2
		}
	}
	goto after

name: // of a member
	if i >= len(data) {
		return tape, truncated(data)
	}
	if data[i] != '"' {
		return tape, unexpected(data, i, "instead of a member's name")
	}
	if len(tape) >= lim.Values {
		return tape, &Error{i, "more than " + strconv.Itoa(lim.Values) + " values"}
	}
	{
		end, err := scanString(data, i)
		if err != nil {
			return tape, err
		}
		tape = append(tape, entry{uint32(i), uint32(end), uint32(len(tape) + 1)})
		i = skipSpace(data, end)
	}
	if i >= len(data) || data[i] != ':' {
		return tape, unexpected(data, i, "instead of a colon")
	}
	i = skipSpace(data, i+1)
	goto value
}

// skipSpace returns the first byte from i on that is not white space.
func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// scanLiteral returns the end of the null, true or false that starts at data[i]; on
// failure the end is the first byte that is wrong.
func scanLiteral(data []byte, i int) (end int, ok bool) {
	want := "null"
	switch data[i] {
	case 't':
		want = "true"
	case 'f':
		want = "false"
	}
	for j := 1; j < len(want); j++ {
		if i+j >= len(data) || data[i+j] != want[j] {
			return i + j, false
		}
	}
	return i + len(want), true
}

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// scanString returns the end of the string whose opening quote is data[i].
func scanString(data []byte, i int) (end int, err *Error) {
	i++
	for {
		// Eight bytes at a time: the high bit of each byte of m marks a quote,
		// a backslash, a control character or a byte that is not ASCII. A
		// borrow can only spoil bytes above the first one marked.
		for i+8 <= len(data) {
			x := binary.LittleEndian.Uint64(data[i:])
			m := (x | (x - 0x20*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			return 0, truncated(data)
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			if i+1 < len(data) && unescape[data[i+1]] != 0 {
				i += 2
				continue
			}
			if i, err = scanEscape(data, i); err != nil {
				return 0, err
			}
		case c < 0x20:
			return 0, &Error{i, fmt.Sprintf("control character 0x%02x in a string", c)}
		case c < utf8.RuneSelf:
			i++
		default:
			for i < len(data) && data[i] >= utf8.RuneSelf {
				r, n := utf8.DecodeRune(data[i:])
				if r == utf8.RuneError && n == 1 {
					return 0, &Error{i, "invalid UTF-8"}
				}
				i += n
			}
		}
	}
}

// scanEscape returns the end of the escape whose backslash is data[i]; a surrogate
// pair is one escape.
func scanEscape(data []byte, i int) (end int, err *Error) {
	if i+1 >= len(data) {
		return 0, truncated(data)
	}
	if data[i+1] != 'u' {
		if unescape[data[i+1]] == 0 {
			return 0, unexpected(data, i+1, "after a backslash")
		}
		return i + 2, nil
	}
	r, err := scanHex(data, i)
	if err != nil {
		return 0, err
	}
	if !utf16.IsSurrogate(r) {
		return i + 6, nil
	}
	if r < 0xdc00 && i+7 < len(data) && data[i+6] == '\\' && data[i+7] == 'u' {
		low, err := scanHex(data, i+6)
		if err != nil {
			return 0, err
		}
		if low&^0x3ff == 0xdc00 {
			return i + 12, nil
		}
	}
	if r < 0xdc00 && (i+6 >= len(data) || i+7 >= len(data) && data[i+6] == '\\') {
		return 0, truncated(data)
	}
	return 0, &Error{i, fmt.Sprintf("lone surrogate \\u%s", data[i+2:i+6])}
}

// scanHex reads the \uXXXX at data[i].
func scanHex(data []byte, i int) (rune, *Error) {
	if r := hex4(data[i+2:]); r >= 0 {
		return r, nil
	}
	for i += 2; i < len(data) && hexValue[data[i]] >= 0; {
		i++
	}
	return 0, unexpected(data, i, "in a \\u escape")
}

func truncated(data []byte) *Error {
	return &Error{len(data), "unexpected end of the text"}
}

// unexpected returns the error for the byte at i, or for the end if there is none.
func unexpected(data []byte, i int, where string) *Error {
	if i >= len(data) {
		return truncated(data)
	}
	c := data[i]
	if c > 0x20 && c < 0x7f {
		return &Error{i, fmt.Sprintf("unexpected %c %s", c, where)}
	}
	return &Error{i, fmt.Sprintf("unexpected byte 0x%02x %s", c, where)}
}
