package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// buffer holds a part of an answer being relayed.
type buffer [32 << 10]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// relay sends the answer to the client, part by part as it arrives.
func (x *exchange) relay(res *http.Response) {
	defer res.Body.Close()
	x.relayHeader(res)
	err := x.relayBody(res)
	if err == nil {
		err = x.settle()
	}
	switch {
	case err == nil:
		x.relayTrailer(res)
		x.outcome = &x.s.counters.answered
		if res.StatusCode >= 400 {
			x.s.counters.errors.Add(1)
		}
	case x.r.Context().Err() != nil || errors.Is(err, ErrClientLeft):
		x.clientLeft(err)
	default:
		// A regular end would tell the client that the answer is complete.
		x.outcome, x.err, x.abort = &x.s.counters.broken, err, true
	}
}

func (x *exchange) relayHeader(res *http.Response) {
	x.status = res.StatusCode
	h := x.w.Header()
	endToEnd(h, res.Header)
	// Headers that the provider does not set are not added.
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
	if x.guard != nil && !x.guard.header(h, res.StatusCode, res.Header) {
		x.action = "error"
	}
	if x.action != "" && (x.guard == nil || x.action == "error" || len(h["X-Oriel-Action"]) == 0) {
		h["X-Oriel-Action"] = []string{x.action}
	}
	if len(res.Trailer) > 0 {
		h["Trailer"] = []string{strings.Join(slices.Sorted(maps.Keys(res.Trailer)), ", ")}
	}
	x.rc.SetWriteDeadline(time.Now().Add(x.s.write))
	x.w.WriteHeader(res.StatusCode)
	if res.ContentLength < 0 {
		x.rc.Flush() // its body may take long
	}
}

// relayBody copies the body. The engine reads one buffer while the next is filled.
func (x *exchange) relayBody(res *http.Response) error {
	current, spare := buffers.Get().(*buffer), (*buffer)(nil)
	copied := x.guard != nil
	defer func() {
		if x.rest != nil {
			x.handed = current
			return
		}
		buffers.Put(current)
		x.handed = spare
	}()
	for {
		n, err := res.Body.Read(current[:])
		if n > 0 {
			if err := x.send(current[:n], res.ContentLength); err != nil {
				return fmt.Errorf("%w: %w", ErrClientLeft, err)
			}
			if copied && spare == nil && err == io.EOF {
				x.rest = current[:n] // it is the whole answer
				return nil
			}
			if copied {
				if x.guard.write(current[:n]) {
					if spare == nil {
						spare = buffers.Get().(*buffer)
					}
					current, spare = spare, current
				} else {
					copied, spare = false, nil // the engine may still read the spare buffer
				}
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			if x.out == 0 {
				x.rc.Flush() // pass the header on at once
			}
			return fmt.Errorf("%w: %w", ErrUpstream, err)
		}
	}
}

// send writes a part of the body and flushes it, unless it is the last part, which is
// flushed with the end.
func (x *exchange) send(p []byte, length int64) error {
	x.rc.SetWriteDeadline(time.Now().Add(x.s.write))
	if len(x.last) > 0 { // it was not the last one
		if _, err := x.w.Write(x.last); err != nil {
			return err
		}
		x.out, x.last = x.out+1, nil
	}
	if x.endWait() > 0 && (x.out+int64(len(p)) == length || length < 0 && ends(p)) {
		x.last = []byte{p[len(p)-1]}
		p = p[:len(p)-1]
	}
	n, err := x.w.Write(p)
	x.out += int64(n)
	if err != nil || x.out == length {
		return err
	}
	return x.rc.Flush()
}

// endWait returns how long the last byte of the answer waits for the engine.
func (x *exchange) endWait() time.Duration {
	if x.guard == nil || x.s.engine == nil {
		return 0
	}
	return x.s.engine.EndWait()
}

// settle ends the engine's call before the client has the last byte of the answer, if the
// engine wants that: the client's next call may go to another server.
func (x *exchange) settle() error {
	wait := x.endWait()
	if wait == 0 && x.last == nil {
		return nil
	}
	x.guard.settle(x.rest, x.handed, wait)
	if len(x.last) > 0 {
		x.rc.SetWriteDeadline(time.Now().Add(x.s.write))
		n, err := x.w.Write(x.last)
		x.out += int64(n)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrClientLeft, err)
		}
	}
	return nil
}

// lastEvents are in the last event of a stream, by which SDKs know its end.
var lastEvents = [][]byte{[]byte("message_stop"), []byte("[DONE]"), []byte("response.completed"),
	[]byte("response.incomplete")}

// ends reports whether a part of a stream may be its last one.
func ends(p []byte) bool {
	return slices.ContainsFunc(lastEvents, func(e []byte) bool { return bytes.Contains(p, e) })
}

// relayTrailer sends the trailers.
func (x *exchange) relayTrailer(res *http.Response) {
	dropOwn(res.Trailer) // unannounced trailers
	if len(res.Trailer) == 0 {
		return
	}
	x.rc.Flush() // otherwise a short body gets a length and no trailer
	announced := x.w.Header()["Trailer"]
	for k, v := range res.Trailer {
		if !hasToken(announced, k) {
			k = http.TrailerPrefix + k
		}
		x.w.Header()[k] = v
	}
}
