package recall

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/oriel-context/oriel/timeline"
)

// An extract has the words of a run of messages, as a Reader returns them. Reading it takes
// a third of the time of reading the messages, most of which are results of tools and their
// wrapping.

const (
	// extractKind names what extracts contain. Its number rises whenever a Reader returns
	// other words, or another format is written (docs/reference/format/timeline.md).
	extractKind = "words/1"
	// maxExtract is the most bytes that the words of one extract may have.
	maxExtract = 16 << 20
	// leastMessage is the fewest bytes that a message has in an extract: its hash, and one
	// for each other field.
	leastMessage = len(timeline.Hash{}) + 8
)

var errExtract = errors.New("recall: an extract is damaged")

// makeExtract returns the extract of messages from a depth on, whose places their blocks
// have. It returns nil if it would be too large.
func makeExtract(first int64, messages []Message) []byte {
	var b []byte
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(messages)))
	for i := range messages {
		m := &messages[i]
		b = binary.AppendUvarint(b, uint64(placeOf(m.Block).Depth-first))
		b = append(b, m.Content[:]...)
		if m.Time.IsZero() {
			b = append(b, 0)
		} else {
			b = binary.AppendVarint(append(b, 1), m.Time.UnixMicro())
		}
		text(m.Ref)
		text(m.Role)
		text(m.Name)
		text(m.Text)
		for _, all := range [][]string{m.Tools, m.Given} {
			b = binary.AppendUvarint(b, uint64(len(all)))
			for _, s := range all {
				text(s)
			}
		}
	}
	if len(b) > maxExtract {
		return nil
	}
	return slices.Clone(s2.Encode(nil, b))
}

// readExtract returns the messages of an extract of a trunk that begins at a depth. Their
// texts share memory.
func readExtract(data []byte, trunk, first int64) ([]Message, error) {
	if n, err := s2.DecodedLen(data); err != nil || n > maxExtract {
		return nil, errExtract
	}
	raw, err := s2.Decode(nil, data)
	if err != nil {
		return nil, errExtract
	}
	r := extractReader{text: string(raw)}
	messages := make([]Message, r.count(leastMessage))
	for i := range messages {
		m := &messages[i]
		m.Block = blockAt(trunk, first+int64(r.number()))
		copy(m.Content[:], r.bytes(len(m.Content)))
		if r.bytes(1) == "\x01" {
			m.Time = time.UnixMicro(r.signed()).UTC()
		}
		m.Ref, m.Role, m.Name, m.Text = r.string(), r.string(), r.string(), r.string()
		m.Tools, m.Given = r.strings(), r.strings()
	}
	if r.failed || r.text != "" {
		return nil, errExtract
	}
	return messages, nil
}

// extractReader reads the rest of an extract. After a failure it returns zero values.
type extractReader struct {
	text   string
	failed bool
}

func (r *extractReader) bytes(n int) string {
	if n < 0 || n > len(r.text) {
		r.text, r.failed = "", true
		return ""
	}
	s := r.text[:n]
	r.text = r.text[n:]
	return s
}

func (r *extractReader) number() uint64 {
	var head [binary.MaxVarintLen64]byte
	x, n := binary.Uvarint(head[:copy(head[:], r.text)])
	if n == 0 {
		n = -1 // it is cut off
	}
	r.bytes(n)
	return x
}

func (r *extractReader) signed() int64 {
	x := r.number()
	return int64(x>>1) ^ -int64(x&1)
}

// count reads how many elements follow, each of which has at least the given number of bytes.
func (r *extractReader) count(least int) int {
	n := r.number()
	if n > uint64(len(r.text)/least) {
		r.text, r.failed = "", true
		return 0
	}
	return int(n)
}

func (r *extractReader) string() string { return r.bytes(r.count(1)) }

func (r *extractReader) strings() []string {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	all := make([]string, n)
	for i := range all {
		all[i] = r.string()
	}
	return all
}
