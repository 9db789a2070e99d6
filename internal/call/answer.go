package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/wire"
)

// answer is a copy of the provider's answer. Its memory counts as the call's.
type answer struct {
	format   wire.Format
	encoding string // "" for none
	events   bool
	framing  wire.Framing // of events
	memory   Memory
	turns    *turns
	tenant   string
	stream   *wire.StreamReader // of an event stream that is not compressed
	parts    [][]byte           // of anything else
	size     int                // of the parts
	taken    int64              // for the parts
	lost     error              // why the copy was given up
	large    func()             // ends its turn of large answers; nil without one
	read     *wire.Reply
}

const (
	// maxAnswer is the size of the largest answer that is kept, decoded.
	maxAnswer = wire.DefaultStreamLimit
	// largeAnswer is the size from which answers of a tenant are read and stored one at a
	// time.
	largeAnswer = 1 << 20
	// largeWork is the memory for reading and storing a large answer, in addition to its
	// copy, as a multiple of its size.
	largeWork = 3
)

var (
	errAnswerSize   = fmt.Errorf("the answer was not kept: it is over %d MiB", maxAnswer>>20)
	errAnswerParts  = fmt.Errorf("the answer was not kept: it has more than %d parts", wire.MaxParts)
	errAnswerMemory = errors.New("the answer was not kept: there was no memory for it")
)

// turns limits how many answers are decoded at once, and how many large ones are read and
// stored.
type turns struct {
	decode chan struct{}
	large  *limit.Slots
}

func newTurns() *turns {
	return &turns{decode: make(chan struct{}, 4), large: limit.NewSlots(4, 1)}
}

func newAnswer(f wire.Format, h http.Header, tenant string, m Memory, t *turns) *answer {
	a := &answer{format: f, encoding: strings.Join(h.Values("Content-Encoding"), ","), tenant: tenant, memory: m,
		turns: t}
	if strings.EqualFold(a.encoding, "identity") {
		a.encoding = ""
	}
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	a.framing, _ = wire.FramingOf(kind)
	a.events = f.Protocol().IsStream(kind)
	if a.events && a.encoding == "" {
		a.stream = a.newStream(maxAnswer)
	}
	return a
}

// newStream returns a reader of events that keeps at most limit bytes, and as many again
// for the event that it reads.
func (a *answer) newStream(limit int) *wire.StreamReader {
	s := wire.NewStreamReader(a.format)
	s.Limit, s.Framing = limit, a.framing
	s.Take = func(n int) bool {
		switch {
		case n < 0:
			a.memory.Give(int64(-n))
		case !a.memory.Take(int64(n)):
			a.lost = errAnswerMemory
			return false
		}
		return true
	}
	return s
}

func (a *answer) write(p []byte) {
	if a.stream != nil {
		a.stream.Write(p) // never fails
		return
	}
	for len(p) > 0 && a.lost == nil {
		if a.size+len(p) > maxAnswer {
			a.drop(errAnswerSize)
			return
		}
		n := len(a.parts)
		if n == 0 || len(a.parts[n-1]) == cap(a.parts[n-1]) {
			// Keep parts: growing one buffer would need twice the memory.
			size := max(len(p), min(max(a.size, 4<<10), 1<<20))
			if !a.memory.Take(int64(size)) {
				a.drop(errAnswerMemory)
				return
			}
			a.taken += int64(size)
			a.parts = append(a.parts, make([]byte, 0, size))
			n++
		}
		last := a.parts[n-1]
		fill := min(len(p), cap(last)-len(last))
		a.parts[n-1] = append(last, p[:fill]...)
		a.size += fill
		p = p[fill:]
	}
}

// drop discards the copy.
func (a *answer) drop(why error) {
	a.lost, a.parts = why, nil
	a.memory.Give(a.taken)
	a.taken = 0
}

// reply parses the answer. An answer that is neither JSON nor events is not a reply. A
// large answer waits for its turn, which ends with leave.
func (a *answer) reply() *wire.Reply {
	if a.read == nil {
		if a.read = a.decode(); a.read == nil {
			a.read = &wire.Reply{Format: a.format}
		}
		a.parts = nil
	}
	return a.read
}

// enter waits for the turn of large answers.
func (a *answer) enter() {
	if a.large == nil {
		a.large, _ = a.turns.large.Enter(context.Background(), a.tenant) // it never fails
	}
}

// leave ends the turn of a large answer.
func (a *answer) leave() {
	if a != nil && a.large != nil {
		a.large()
		a.large = nil
	}
}

// decode parses the copy. A compressed answer is first decoded up to largeAnswer in a
// short turn, because most are smaller; a larger one is decoded again in the turn of
// large answers.
func (a *answer) decode() *wire.Reply {
	switch {
	case a.stream != nil:
		return a.streamed(a.stream)
	case a.lost != nil:
		return nil
	case a.encoding != "":
		a.turns.decode <- struct{}{}
		reply := a.decodeUpTo(largeAnswer)
		<-a.turns.decode
		if a.lost != errAnswerSize {
			return reply
		}
		a.lost = nil
		a.enter()
		return a.decodeUpTo(maxAnswer)
	case a.size > largeAnswer:
		a.enter()
	}
	return a.readBody(a.joined())
}

// decodeUpTo parses a compressed answer of at most limit bytes; of a stream, at most
// limit bytes that are kept.
func (a *answer) decodeUpTo(limit int) *wire.Reply {
	parts := make([]io.Reader, len(a.parts))
	for i := range a.parts {
		parts[i] = bytes.NewReader(a.parts[i])
	}
	in, err := wire.Decode(a.encoding, io.MultiReader(parts...))
	if err != nil {
		return nil
	}
	if !a.events {
		return a.readBody(a.readAll(in, limit))
	}
	s := a.newStream(limit)
	buffer := make([]byte, 32<<10)
	for decoded := 0; !s.Over(); {
		n, err := in.Read(buffer)
		s.Write(buffer[:n])
		if err != nil {
			return a.streamed(s) // what could be read of it
		}
		if decoded += n; limit < maxAnswer && decoded > 16*limit {
			a.lost = errAnswerSize
			return nil
		}
	}
	if limit < maxAnswer && a.lost == nil {
		a.lost = errAnswerSize
		return nil
	}
	return a.streamed(s)
}

// streamed returns the reply of a stream.
func (a *answer) streamed(s *wire.StreamReader) *wire.Reply {
	if s.Over() && a.lost == nil {
		a.lost = errAnswerSize
	}
	if s.Kept() > largeAnswer {
		a.enter()
		if !a.memory.Take(largeWork * int64(s.Kept())) {
			a.lost = errAnswerMemory
			return nil
		}
	}
	return s.Reply()
}

// readBody returns the reply in a body, or nil if there is none.
func (a *answer) readBody(body []byte) *wire.Reply {
	if len(body) > largeAnswer && !a.memory.Take(largeWork*int64(len(body))) {
		a.lost = errAnswerMemory
	}
	if a.lost != nil {
		return nil
	}
	r, err := wire.ReadReply(a.format, body)
	if tooMany(err) {
		a.lost = errAnswerParts
	}
	if err != nil {
		return nil
	}
	return r
}

// tooMany reports whether an answer was refused because of the number of its parts.
func tooMany(err error) bool {
	var e *wire.Error
	return errors.As(err, &e) && e.TooMany
}

// messages returns the messages of a reply; none if there is no memory for its parts, or
// too many of them.
func (a *answer) messages(r *wire.Reply) ([]chat.Message, error) {
	size, parts := len(r.Message), bytes.Count(r.Message, []byte("{"))
	for _, item := range r.Items {
		size, parts = size+len(item), parts+bytes.Count(item, []byte("{"))
	}
	// The messages take about as many bytes as the reply, which is little beside what
	// parsing it took.
	if need := wire.PartBytes * min(parts, wire.MaxParts); need > size && !a.memory.Take(int64(need)) {
		a.lost = errAnswerMemory
	} else {
		messages, err := r.Messages()
		if !tooMany(err) {
			return messages, err
		}
		a.lost = errAnswerParts
	}
	r.Message, r.Items = nil, nil
	return nil, nil
}

// joined returns the copy in one piece, or nil if there is no memory for that.
func (a *answer) joined() []byte {
	if len(a.parts) == 1 {
		return a.parts[0]
	}
	if !a.memory.Take(int64(a.size)) {
		a.drop(errAnswerMemory)
		return nil
	}
	body := bytes.Join(a.parts, nil)
	a.parts = nil
	a.memory.Give(a.taken)
	a.taken = int64(a.size)
	return body
}

// readAll reads at most limit bytes. It returns nil if there are more, or no memory is
// left.
func (a *answer) readAll(in io.Reader, limit int) []byte {
	body := make([]byte, 0, 512)
	for {
		if len(body) == cap(body) {
			size := min(2*cap(body), limit+1)
			if !a.memory.Take(int64(size - cap(body))) {
				a.lost = errAnswerMemory
				break
			}
			body = append(make([]byte, 0, size), body...)
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if len(body) > limit {
			a.lost = errAnswerSize
			break
		}
		if err == io.EOF {
			return body
		}
		if err != nil {
			return nil
		}
	}
	a.memory.Give(int64(cap(body)) - 512)
	return nil
}
