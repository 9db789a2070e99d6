package forward

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/wire"
)

// Reasons why a call passes through unseen.
const (
	PassedBypass   = "bypass asked for"
	PassedSize     = "body over the limit"
	PassedMemory   = "no memory for it"
	PassedEncoding = "unreadable content encoding"
)

// take reads the body of a request into memory and has out send it. raw is nil if the body
// cannot be looked at; passed is then the reason, and out sends what was read and then
// the rest.
func (x *Exchange) take(out *http.Request) (raw []byte, passed string, err error) {
	in := x.In
	if in.Body == nil {
		return []byte{}, "", nil
	}
	raw, whole, passed, err := x.buffer(in)
	if err != nil {
		in.Body.Close()
		return nil, "", err
	}
	if !whole {
		if len(raw) > 0 {
			out.Body = continued(raw, in.Body, in.Body)
		}
		return nil, passed, nil
	}
	if err := in.Body.Close(); err != nil {
		return nil, "", err
	}
	// The body is here, so nobody waits for leave to send it.
	out.Header.Del("Expect")
	out.Trailer = in.Trailer
	if out.Body != nil {
		// The transport may ask for the body again, but does so only if nothing of the
		// request was sent; the caller's headers have to ensure that.
		length := out.ContentLength
		SetBody(out, raw)
		out.ContentLength = length // -1 for chunks, which trailers need
	}
	return raw, "", nil
}

// buffer reads a whole body. If that exceeds the limits, whole is false, passed is the reason,
// raw is what was read, and the rest is still unread.
func (x *Exchange) buffer(in *http.Request) (raw []byte, whole bool, passed string, err error) {
	length := in.ContentLength
	if length == 0 {
		length = -1 // so clients write that they do not know it
	}
	if length > x.f.bodyLimit {
		return nil, false, PassedSize, nil
	}
	x.Memory.Arriving(true)
	raw, passed, err = x.Memory.read(in.Body, length, x.f.bodyLimit)
	x.Memory.Arriving(false)
	if err != nil || passed != "" {
		return raw, false, passed, err
	}
	if int64(len(raw)) == length {
		// Read the end itself: trailers come with it, and a server then starts to
		// notice when the client leaves.
		var end [1]byte
		if n, err := in.Body.Read(end[:]); n > 0 || err != io.EOF {
			return raw, false, "", fmt.Errorf("the body does not end where its length says: %w",
				errors.Join(err, io.ErrUnexpectedEOF))
		}
	}
	return raw, true, "", nil
}

// firstRead is the number of bytes reserved before a body arrives, growth the factor by
// which a full buffer grows.
const (
	firstRead = 16 << 10
	growth    = 4
)

// stages are pools of buffers for bodies that grow: of firstRead bytes, growth times
// that, and so on.
var stages [4]sync.Pool

// stage returns an empty buffer of n bytes.
func stage(n int64) []byte {
	size := int64(firstRead)
	for i := range stages {
		if size == n {
			if p, ok := stages[i].Get().(*[]byte); ok {
				return (*p)[:0]
			}
		}
		size *= growth
	}
	return make([]byte, 0, n)
}

// leaveStage returns a buffer to its pool.
func leaveStage(p []byte) {
	size := firstRead
	for i := range stages {
		if size == cap(p) {
			p = p[:0]
			stages[i].Put(&p)
		}
		size *= growth
	}
}

// read reads to the end, or up to length if that is not negative. It reserves at most
// four times what arrived, and at most the length. If it stops early, passed is the
// reason and p is what was read.
func (m *Memory) read(r io.Reader, length, limit int64) (p []byte, passed string, err error) {
	most := limit + 1 // one byte more shows that it is too much
	if length >= 0 {
		most = min(most, length)
	}
	size := min(firstRead, most)
	if !m.Take(size) {
		return nil, PassedMemory, nil
	}
	p = stage(size)
	for int64(len(p)) != length {
		if len(p) == cap(p) {
			size = min(growth*int64(cap(p)), most)
			if !m.Take(size - int64(cap(p))) {
				return p, PassedMemory, nil
			}
			grown := append(stage(size), p...)
			leaveStage(p)
			p = grown
		}
		n, err := r.Read(p[len(p):cap(p)])
		p = p[:len(p)+n]
		switch {
		case int64(len(p)) > limit:
			return p, PassedSize, nil
		case err == io.EOF:
			return p, "", nil
		case err != nil:
			return p, "", err
		}
	}
	return p, "", nil
}

// prepare decodes a call's body and reserves memory for the engine's work; passed is
// the reason if it cannot.
func (m *Memory) prepare(c *call.Request, limit int64) (passed string) {
	if passed = m.decode(c, limit); passed != "" {
		return passed
	}
	// A view or the parsed body takes about as much again, and more with many small
	// parts; each part has a brace.
	n := int64(len(c.Body))
	parts := wire.PartBytes * int64(min(bytes.Count(c.Body, []byte("{")), wire.MaxParts))
	if (n > smallCall || parts > n) && !m.Take(max(n, parts)) {
		return PassedMemory
	}
	return ""
}

// decode removes the Content-Encoding of a call's body for inspection; passed is the
// reason if it cannot.
func (m *Memory) decode(c *call.Request, limit int64) (passed string) {
	encoding := strings.Join(c.Header["Content-Encoding"], ",")
	if encoding == "" {
		return ""
	}
	r, err := wire.Decode(encoding, bytes.NewReader(c.Body))
	if err != nil {
		return PassedEncoding
	}
	body, passed, err := m.read(r, -1, limit)
	if err != nil {
		passed = PassedEncoding
	}
	if passed != "" {
		m.Give(int64(cap(body)))
		return passed
	}
	c.Body = body
	return ""
}
