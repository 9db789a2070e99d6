package wire

import (
	"bytes"
	"errors"

	"github.com/oriel-context/oriel/internal/rawjson"
)

// Frame returns the bytes of the body with 0 in place of each value: the names in their
// order, punctuation and white space. Of the list of messages, and of a system prompt that is
// a list, it has the brackets and the first two elements; see [Fill]. It is nil if that does
// not say how the body was written: if a name is given twice, or the elements of a list are
// not separated alike.
func (b *Body) Frame() []byte {
	f := framer{in: b.data, out: make([]byte, 0, 256)}
	f.mark('{')
	seen := make(map[string]bool, len(b.members))
	p := b.Format.Protocol()
	for i, m := range b.members {
		if i > 0 {
			f.mark(',')
		}
		f.name()
		f.mark(':')
		f.bad = f.bad || seen[m.Name]
		seen[m.Name] = true
		switch {
		case m.Name == p.List && m.Raw[0] == '[':
			f.list(len(b.at), func(i int) int { return b.at[i].end - b.at[i].start })
		case m.Name == p.System && len(b.System) > 0 && m.Raw[0] == '[':
			f.list(len(b.System), func(i int) int { return len(b.System[i].Raw) })
		default:
			f.value(len(m.Raw))
		}
	}
	f.mark('}')
	if f.bad || f.at != len(f.in) {
		return nil
	}
	return f.out
}

// framer copies a JSON text without its values.
type framer struct {
	in, out []byte
	at      int // the next byte of in
	bad     bool
}

// skip passes over white space.
func (f *framer) skip() {
	for f.at < len(f.in) && isSpace(f.in[f.at]) {
		f.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// pass passes over white space, a character, and the white space behind it.
func (f *framer) pass(c byte) {
	f.skip()
	if f.at >= len(f.in) || f.in[f.at] != c {
		f.bad = true
		return
	}
	f.at++
	f.skip()
}

// mark copies what pass passes over.
func (f *framer) mark(c byte) {
	start := f.at
	f.pass(c)
	f.out = append(f.out, f.in[start:f.at]...)
}

// name copies the name of a member.
func (f *framer) name() {
	start := f.at
	f.at += nameLen(f.in[f.at:])
	f.out = append(f.out, f.in[start:f.at]...)
}

// nameLen returns the length of the quoted name with which a text begins.
func nameLen(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// value passes over a value of n bytes.
func (f *framer) value(n int) {
	f.at = min(f.at+n, len(f.in))
	f.out = append(f.out, '0')
}

// list copies an array of n elements up to the second: the others must be separated alike.
func (f *framer) list(n int, size func(i int) int) {
	f.mark('[')
	var between []byte // the first two
	for i := range n {
		start := f.at
		if i > 0 {
			f.pass(',')
		}
		switch comma := f.in[start:f.at]; {
		case i == 1:
			between = comma
			fallthrough
		case i == 0:
			f.out = append(f.out, comma...)
			f.value(size(i))
		default:
			f.bad = f.bad || !bytes.Equal(comma, between)
			f.at = min(f.at+size(i), len(f.in))
		}
	}
	f.mark(']')
}

// errFrame: the values do not belong to the frame.
var errFrame = errors.New("the frame is of another body")

// Fill writes a body: a frame of [Body.Frame] with the values of its members. lists has the
// elements of the members that are lists in the frame.
func Fill(frame []byte, members map[string][]byte, lists map[string][][]byte) ([]byte, error) {
	doc, err := rawjson.Parse(frame, rawjson.Limits{})
	if err != nil {
		return nil, err
	}
	var out []byte
	at, filled := 0, 0 // the next byte of the frame; members so far
	fill := func(place rawjson.Value, raw []byte) {
		start, end := place.Span()
		out = append(append(out, frame[at:start]...), raw...)
		at = end
	}
	for name, place := range doc.Root().Members() {
		filled++
		if place.Kind() != rawjson.Array {
			raw, ok := members[name.Str()]
			if !ok {
				return nil, errFrame
			}
			fill(place, raw)
			continue
		}
		elements, ok := lists[name.Str()]
		if n := place.Len(); !ok || min(len(elements), 2) != n {
			return nil, errFrame
		}
		var between []byte
		for i, raw := range elements {
			switch i {
			case 0:
				fill(place.First(), raw)
			case 1:
				second := place.First().Next()
				start, _ := second.Span()
				between = frame[at:start]
				fill(second, raw)
			default:
				out = append(append(out, between...), raw...)
			}
		}
	}
	if filled != len(members)+len(lists) {
		return nil, errFrame
	}
	return append(out, frame[at:]...), nil
}
