package histories

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf16"
)

// The values that a body is built of, besides string, bool, int and nil.
type (
	// object keeps its members in the order they were added.
	object struct{ members []member }
	member struct {
		key   string
		value any
	}
	// list can be changed after it was put into an object.
	list struct{ items []any }
	// id can be renamed after it was used.
	id struct{ text string }
	// raw is JSON text that is written as it is.
	raw string
)

// obj makes an object of keys and values in turn.
func obj(pairs ...any) *object {
	o := &object{}
	for i := 0; i < len(pairs); i += 2 {
		o.add(pairs[i].(string), pairs[i+1])
	}
	return o
}

func (o *object) add(key string, value any) *object {
	o.members = append(o.members, member{key, value})
	return o
}

// writer writes values as JSON text. The habits of a client, such as to shuffle
// keys or to escape everything beyond ASCII, hold for a whole body.
type writer struct {
	bytes.Buffer
	rand    *rand.Rand
	spaces  []string
	shuffle bool
	twice   bool // some keys come twice
	escapes int  // how many of ten characters are escaped without need
	forms   bool // numbers as 1.0 and 1e2
}

// newWriter returns the writer of a seed; seed 0 writes plain compact JSON.
func newWriter(seed uint64) *writer {
	w := &writer{rand: rand.New(rand.NewPCG(seed, 1)), spaces: []string{""}}
	if seed == 0 {
		return w
	}
	w.spaces = [][]string{
		{""},
		{"", " "},
		{"", "", " ", "\n", "\t", "\r\n", "  ", "\r\n\t ", "\n\n"},
		{"\r\n"},
	}[w.rand.IntN(4)]
	w.shuffle = w.rand.IntN(2) == 1
	w.twice = w.rand.IntN(4) == 3
	w.escapes = []int{0, 0, 2, 10}[w.rand.IntN(4)]
	w.forms = w.rand.IntN(2) == 1
	return w
}

// body writes a whole body, with white space around it.
func (w *writer) body(o *object) []byte {
	w.space()
	w.value(o)
	w.space()
	return w.Bytes()
}

func (w *writer) space() { w.WriteString(w.spaces[w.rand.IntN(len(w.spaces))]) }

func (w *writer) value(v any) {
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int:
		w.number(v)
	case string:
		w.text(v)
	case raw:
		w.WriteString(string(v))
	case *id:
		w.text(v.text)
	case *list:
		w.sequence('[', ']', len(v.items), func(i int) { w.value(v.items[i]) })
	case *object:
		w.object(v)
	default:
		panic(fmt.Sprintf("histories: no JSON for %T", v))
	}
}

// sequence writes brackets, commas and the white space between all tokens.
func (w *writer) sequence(open, shut byte, n int, item func(i int)) {
	w.WriteByte(open)
	w.space()
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
			w.space()
		}
		item(i)
		w.space()
	}
	w.WriteByte(shut)
}

func (w *writer) object(o *object) {
	members := append([]member(nil), o.members...)
	if w.shuffle {
		w.rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	// A key that comes twice has the same value both times, so that it does not
	// matter which one a reader takes. Long values are not repeated.
	if w.twice && len(members) > 0 && w.rand.IntN(4) == 0 {
		switch m := members[w.rand.IntN(len(members))]; m.value.(type) {
		case *list, *object:
		default:
			members = append(members, m)
		}
	}
	w.sequence('{', '}', len(members), func(i int) {
		w.key(members[i].key)
		w.space()
		w.WriteByte(':')
		w.space()
		w.value(members[i].value)
	})
}

// key writes a key without needless escapes: no client escapes keys.
func (w *writer) key(key string) {
	w.WriteString(strconv.Quote(key))
}

func (w *writer) number(n int) {
	s := strconv.Itoa(n)
	if w.forms && n >= 0 {
		switch w.rand.IntN(3) {
		case 1:
			s += ".0"
		case 2:
			if trimmed := strings.TrimRight(s, "0"); trimmed != "" {
				s = fmt.Sprintf("%se%d", trimmed, len(s)-len(trimmed))
			}
		}
	}
	w.WriteString(s)
}

// text writes a string in one of the many ways JSON has for it.
func (w *writer) text(s string) {
	w.WriteByte('"')
	for _, r := range s {
		needless := w.rand.IntN(10) < w.escapes
		switch {
		case r == '"' || r == '\\':
			w.WriteByte('\\')
			w.WriteRune(r)
		case r == '\n' && !needless:
			w.WriteString(`\n`)
		case r == '\t' && !needless:
			w.WriteString(`\t`)
		case r == '/' && needless:
			w.WriteString(`\/`)
		case r < 0x20 || needless && r != '/':
			w.unicode(r)
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}

func (w *writer) unicode(r rune) {
	form := `\u%04x`
	if w.rand.IntN(2) == 1 {
		form = `\u%04X`
	}
	if r < 0x10000 {
		fmt.Fprintf(w, form, r)
		return
	}
	high, low := utf16.EncodeRune(r)
	fmt.Fprintf(w, form+form, high, low)
}
