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
	"time"
)

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
	if len(res.Trailer) > 0 {
		h["Trailer"] = []string{strings.Join(slices.Sorted(maps.Keys(res.Trailer)), ", ")}
	}
	x.rc.SetWriteDeadline(time.Now().Add(x.s.write))
	x.w.WriteHeader(res.StatusCode)
	if res.ContentLength < 0 {
		x.rc.Flush() // its body may take long
	}
}

// relayBody sends the parts of the body as they come.
func (x *exchange) relayBody(res *http.Response) error {
	for {
		part, err := x.call.Next()
		if len(part) > 0 {
			if err := x.send(part, res.ContentLength); err != nil {
				return fmt.Errorf("%w: %w", ErrClientLeft, err)
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
	if x.call.EndWait() > 0 && (x.out+int64(len(p)) == length || length < 0 && ends(p)) {
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

// settle ends the engine's call before the client has the last byte of the answer, if the
// engine wants that: the client's next call may go to another server.
func (x *exchange) settle() error {
	if x.call.EndWait() == 0 && x.last == nil {
		return nil
	}
	x.call.Settle()
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
