package rawjson

import (
	"strconv"
	"unicode/utf8"
)

// span is what the reference parser knows of a value.
type span struct {
	start, end int
	kind       Kind
	children   int // elements, or members
}

// reference is a slow recursive parser, written from the grammar of RFC 8259
// and nothing else. It knows no limits.
type reference struct {
	data  []byte
	spans []span
}

// fault is the offset of the first wrong byte.
type fault int

// parseReference lists the spans in the order of the tape, or says where the
// text is wrong.
func parseReference(data []byte) (spans []span, offset int, ok bool) {
	r := &reference{data: data}
	defer func() {
		if f := recover(); f != nil {
			spans, offset, ok = nil, int(f.(fault)), false
		}
	}()
	i := r.space(0)
	i = r.space(r.value(i))
	if i != len(data) {
		panic(fault(i))
	}
	return r.spans, 0, true
}

// at is the byte at i, or 0, which no place but the end can accept.
func (r *reference) at(i int) byte {
	if i < len(r.data) {
		return r.data[i]
	}
	return 0
}

func (r *reference) space(i int) int {
	for r.at(i) == ' ' || r.at(i) == '\t' || r.at(i) == '\n' || r.at(i) == '\r' {
		i++
	}
	return i
}

func (r *reference) word(i int, w string) int {
	for j := range len(w) {
		if r.at(i+j) != w[j] {
			panic(fault(i + j))
		}
	}
	return i + len(w)
}

func (r *reference) value(start int) int {
	self := len(r.spans)
	r.spans = append(r.spans, span{start: start})
	end, kind, children := 0, Invalid, 0
	switch c := r.at(start); {
	case c == 'n':
		end, kind = r.word(start, "null"), Null
	case c == 't':
		end, kind = r.word(start, "true"), Bool
	case c == 'f':
		end, kind = r.word(start, "false"), Bool
	case c == '"':
		end, kind = r.str(start), String
	case c == '-' || c >= '0' && c <= '9':
		end, kind = r.number(start), Number
	case c == '[':
		end, children = r.list(start, ']', r.value)
		kind = Array
	case c == '{':
		end, children = r.list(start, '}', r.member)
		kind = Object
	default:
		panic(fault(start))
	}
	r.spans[self] = span{start, end, kind, children}
	return end
}

func (r *reference) list(i int, closer byte, item func(int) int) (end, n int) {
	i = r.space(i + 1)
	if r.at(i) == closer {
		return i + 1, 0
	}
	for {
		i = r.space(item(i))
		n++
		switch r.at(i) {
		case closer:
			return i + 1, n
		case ',':
			i = r.space(i + 1)
		default:
			panic(fault(i))
		}
	}
}

func (r *reference) member(i int) int {
	if r.at(i) != '"' {
		panic(fault(i))
	}
	end := r.str(i)
	r.spans = append(r.spans, span{i, end, String, 0})
	i = r.word(r.space(end), ":")
	return r.value(r.space(i))
}

func (r *reference) number(i int) int {
	if r.at(i) == '-' {
		i++
	}
	if r.at(i) == '0' {
		i++
	} else {
		i = r.digits(i)
	}
	if r.at(i) == '.' {
		i = r.digits(i + 1)
	}
	if r.at(i) == 'e' || r.at(i) == 'E' {
		i++
		if r.at(i) == '+' || r.at(i) == '-' {
			i++
		}
		i = r.digits(i)
	}
	return i
}

func (r *reference) digits(i int) int {
	if r.at(i) < '0' || r.at(i) > '9' {
		panic(fault(i))
	}
	for r.at(i) >= '0' && r.at(i) <= '9' {
		i++
	}
	return i
}

func (r *reference) str(i int) int {
	i++
	for r.at(i) != '"' {
		switch c := r.at(i); {
		case c == '\\':
			i = r.escape(i)
		case c < 0x20: // or the end
			panic(fault(i))
		default:
			ch, n := utf8.DecodeRune(r.data[i:])
			if ch == utf8.RuneError && n == 1 {
				panic(fault(i))
			}
			i += n
		}
	}
	return i + 1
}

func (r *reference) escape(i int) int {
	switch r.at(i + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		switch u := r.hex(i + 2); {
		case u >= 0xdc00 && u < 0xe000:
			panic(fault(i))
		case u >= 0xd800 && u < 0xdc00:
			if i+6 >= len(r.data) || i+7 >= len(r.data) && r.at(i+6) == '\\' {
				panic(fault(len(r.data)))
			}
			if r.at(i+6) != '\\' || r.at(i+7) != 'u' {
				panic(fault(i))
			}
			if low := r.hex(i + 8); low < 0xdc00 || low >= 0xe000 {
				panic(fault(i))
			}
			return i + 12
		}
		return i + 6
	}
	panic(fault(i + 1))
}

func (r *reference) hex(i int) uint64 {
	for j := range 4 {
		if _, err := strconv.ParseUint(string(r.at(i+j)), 16, 8); err != nil {
			panic(fault(i + j))
		}
	}
	u, _ := strconv.ParseUint(string(r.data[i:i+4]), 16, 32)
	return u
}

// spansOf walks a document through its public methods.
func spansOf(v Value) []span {
	start, end := v.Span()
	spans := []span{{start, end, v.Kind(), v.Len()}}
	for e := range v.Elems() {
		spans = append(spans, spansOf(e)...)
	}
	for k, m := range v.Members() {
		spans = append(append(spans, spansOf(k)...), spansOf(m)...)
	}
	return spans
}
