package rawjson

import (
	"math"
	"strconv"

	"github.com/oriel-context/oriel/internal/rawjson/passes"
)

// Defaults of the zero [Limits].
const (
	DefaultBytes  = 64 << 20
	DefaultDepth  = 1000
	DefaultValues = 8 << 20
)

// Limits bound what Parse accepts. Zero (or negative) fields mean the defaults.
type Limits struct {
	// Bytes is the longest text accepted; default 64 MiB, at most 2 GiB - 1.
	Bytes int
	// Depth is how many arrays and objects may be open at once; default 1,000.
	Depth int
	// Values is how many values a text may have, member names included;
	// default 8 Mi (a tape of 96 MiB).
	Values int
}

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	if l.Values <= 0 {
		l.Values = DefaultValues
	}
	l.Bytes = min(l.Bytes, math.MaxInt32)
	l.Depth = min(l.Depth, math.MaxInt32)
	l.Values = min(l.Values, math.MaxInt32)
	return l
}

// Error is what is wrong with a text, and where.
type Error struct {
	// Offset is the first byte that no valid text could have there: the length
	// of the text if it ends too early, the backslash of a lone surrogate, the
	// first byte of an invalid UTF-8 sequence.
	Offset int
	// Msg is what is wrong, such as "control character 0x00 in a string".
	Msg string
}

func (e *Error) Error() string {
	return "json: byte " + strconv.Itoa(e.Offset) + ": " + e.Msg
}

// entry is the tape's record of one value: its byte range and the index of the
// first entry after it and its children. The entries of a container's children
// follow its own; the children of an object alternate name, value. While a
// container is open, next is the index of the container around it.
type entry struct {
	start, end, next uint32
}

// none is the "container around" of the outermost value.
const none = math.MaxUint32

// Doc is one validated JSON text and the byte range of each of its values.
// The zero Doc is empty and ready for Reset.
type Doc struct {
	data []byte
	tape []entry
	idx  *index // buffers of the kernels; nil until one runs

	pinned bool    // kernel was set by Use
	kernel *kernel // nil is the scalar parser
}

// Parse validates data and indexes it. The error, if any, is an *[Error].
func Parse(data []byte, lim Limits) (*Doc, error) {
	// Requests have a value every 80 bytes or so; more are made room for later.
	d := &Doc{tape: make([]entry, 0, min(len(data)/64, 1<<16)+16)}
	if fastest != nil {
		d.idx = indexes.Get().(*index)
	}
	err := d.Reset(data, lim)
	if d.idx != nil {
		indexes.Put(d.idx)
		d.idx = nil
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Reset is Parse into the buffers of d, which only grow. Values taken from d
// before are void. After an error d is empty.
func (d *Doc) Reset(data []byte, lim Limits) error {
	if err := d.reset(data, lim.withDefaults(), d.pick()); err != nil {
		d.data, d.tape = nil, d.tape[:0]
		return err
	}
	return nil
}

func (d *Doc) reset(data []byte, lim Limits, k *kernel) *Error {
	if len(data) > lim.Bytes {
		return &Error{lim.Bytes, "text of " + strconv.Itoa(len(data)) +
			" bytes is over the limit of " + strconv.Itoa(lim.Bytes)}
	}
	passes.Add(passes.JSON, len(data))
	d.data, d.tape = data, d.tape[:0]
	if k != nil && d.parseIndexed(lim, k) {
		return nil
	}
	return d.parseScalar(lim)
}

// Root returns the text's outermost value; absent if d is empty.
func (d *Doc) Root() Value {
	if d == nil || len(d.tape) == 0 {
		return Value{}
	}
	return Value{doc: d, i: 0, stop: d.tape[0].next}
}

// Data returns the text as it was given to Parse or Reset; nil if d is empty.
func (d *Doc) Data() []byte {
	if d == nil {
		return nil
	}
	return d.data
}
