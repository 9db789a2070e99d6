package token

import (
	"bytes"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/bpe"
)

// encoder counts text. *bpe.Encoding is the one that matters.
type encoder interface {
	Count(string) int
	CountBytes([]byte) int
}

var _ encoder = (*bpe.Encoding)(nil)

// encoderFor returns the encoder with a name. It never fails: a handmade model
// may name an encoding that does not exist, and counting must not break a
// request. ok reports whether the encoding exists.
func encoderFor(name string) (e encoder, ok bool) {
	enc, err := bpe.Get(name)
	if err != nil {
		return byteEncoder{}, false
	}
	return enc, true
}

// byteEncoder counts three bytes as one token, which is more tokens than any
// common encoding makes of prose or code.
type byteEncoder struct{}

func (byteEncoder) Count(s string) int      { return (len(s) + 2) / 3 }
func (byteEncoder) CountBytes(b []byte) int { return (len(b) + 2) / 3 }

// buffers hold decoded text while it is counted. Oversized ones are not kept.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const keptBuffer = 1 << 20

// countString counts the text of a literal without allocating: text without
// escapes in place, other text in a pooled buffer.
func countString(e encoder, s chat.String) int {
	if s.Empty() {
		return 0
	}
	in := s[1 : len(s)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return e.CountBytes(in)
	}
	p := buffers.Get().(*[]byte)
	b := s.Append((*p)[:0])
	n := e.CountBytes(b)
	if cap(b) <= keptBuffer {
		*p = b
		buffers.Put(p)
	}
	return n
}
