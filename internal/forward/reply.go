package forward

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// buffer holds a part of an answer.
type buffer [32 << 10]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// reply is the body of an answer that is read, and copied to the engine as it is read.
type reply struct {
	body    io.ReadCloser
	trailer *http.Header

	mu sync.Mutex // End may come while Next waits for bytes; protects what follows
	// current is the buffer that is read into; spare is the one that the engine reads meanwhile.
	current, spare *buffer
	part           []byte // the last one that was read, and is not given to the engine yet
	taken          int    // how much of it the client has, if End comes too early
	err            error  // that follows part
	reading        bool   // Next reads into current
	// deaf reports that nothing more is given to the engine.
	deaf, ended bool
}

// errEnded is returned by Next after End.
var errEnded = errors.New("the reply was closed")

// Next returns the next part of the answer, which is valid until the next call of Next or End.
// The engine reads it meanwhile, once the caller comes back for the one that follows. The last
// part comes with io.EOF, or nothing does.
func (x *Exchange) Next() ([]byte, error) {
	into, err := x.nextBuffer()
	if err != nil {
		return nil, err
	}
	r := &x.reply
	n, err := r.body.Read(into[:])
	if err == io.EOF {
		DropOwn(*r.trailer) // those that were not announced
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading = false
	if r.ended { // End has left the buffer, as it was in use
		return nil, errEnded
	}
	r.part, r.taken, r.err = into[:n], 0, err
	if err != io.EOF && n > 0 {
		err = nil // it comes next
	}
	return r.part, err
}

// nextBuffer gives the engine the last part, and returns the buffer for the next one.
func (x *Exchange) nextBuffer() (*buffer, error) {
	r := &x.reply
	r.mu.Lock()
	defer r.mu.Unlock()
	x.handOver()
	if r.ended {
		return nil, errEnded
	}
	if r.err != nil {
		return nil, r.err
	}
	if r.current == nil {
		r.current = buffers.Get().(*buffer)
	}
	r.reading = true
	return r.current, nil
}

// handOver gives the engine the part that the client has. The caller holds mu.
func (x *Exchange) handOver() {
	r := &x.reply
	part := r.part
	r.part, r.taken = nil, 0
	if len(part) == 0 || x.guard == nil || r.deaf || r.ended {
		return
	}
	if x.guard.write(part) {
		if r.spare == nil {
			r.spare = buffers.Get().(*buffer)
		}
		r.current, r.spare = r.spare, r.current
	} else {
		r.deaf, r.spare = true, nil // the engine may still read the spare buffer
	}
}

// EndWait returns how long the last byte of the answer is to be held back for the end of the
// call, by Settle: the client's next call may go to another server.
func (x *Exchange) EndWait() time.Duration {
	if x.guard == nil || x.f.engine == nil {
		return 0
	}
	return x.f.engine.EndWait()
}

// Settle ends the engine's call after a complete answer and waits for that, at most EndWait.
func (x *Exchange) Settle() { x.endWithin(nil, x.EndWait()) }

// End ends the engine's call without waiting for it: with nil after a complete answer, or with
// the reason. Only the first End counts.
func (x *Exchange) End(err error) { x.endWithin(err, 0) }

// endWithin ends the call and waits for that, at most wait.
func (x *Exchange) endWithin(err error, wait time.Duration) {
	r := &x.reply
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	r.ended = true
	rest := r.part
	if err != nil {
		rest = rest[:r.taken]
	}
	var read []*buffer
	if r.current != nil && !r.reading {
		read = append(read, r.current)
	}
	if r.spare != nil {
		read = append(read, r.spare)
	}
	r.part, r.current, r.spare = nil, nil, nil
	x.crew.Rest()
	finished := x.guard != nil && x.guard.finish(err, rest, read)
	r.mu.Unlock()
	if !finished {
		for _, b := range read {
			buffers.Put(b)
		}
	} else if wait > 0 {
		x.guard.await(wait)
	}
}
