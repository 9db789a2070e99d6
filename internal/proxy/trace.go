package proxy

import (
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/oriel-context/oriel/wire"
)

// Tracer follows calls, for distributed tracing. Its methods and those of Trace must be
// safe for concurrent use and return quickly. After a panic a call continues without its
// trace.
type Tracer interface {
	// Begin is called when a call has arrived and may go upstream. Nil means that it is
	// not followed.
	Begin(TraceStart) Trace
}

// TraceStart is what a tracer learns of a call. It contains nothing of the body.
type TraceStart struct {
	// ID is the id of the call in logs, events and stages.
	ID     string
	Format wire.Format
	// Vendor is "openai" or "anthropic", Upstream the host and port that the call goes to.
	Vendor, Upstream string
	Began            time.Time
	// Header is the client's. It is read-only and must not be kept: it has keys.
	Header http.Header
}

// Trace follows one call.
type Trace interface {
	// Send is called with the header of each request to the provider, before it is sent.
	// It may change the headers of trace contexts.
	Send(h http.Header)
	// Answer is called when the provider has answered the last request.
	Answer(status int, stream bool)
	// End is called once.
	End(TraceEnd)
}

// TraceEnd is the end of a call.
type TraceEnd struct {
	// Status is what the client got, Err why the call did not end well.
	Status int
	Err    error
	// Action is what was done to the request, as in X-Oriel-Action.
	Action string
	// Recorded reports that the engine has the call: stages and events may follow.
	Recorded bool
}

// beginTrace has a call followed.
func (x *exchange) beginTrace() {
	if x.s.tracer == nil || !x.isCall() {
		return
	}
	defer x.guardTrace()
	x.trace = x.s.tracer.Begin(TraceStart{
		ID: x.id, Format: x.route.format, Vendor: x.up.vendor.String(), Upstream: x.up.url.Host, Began: x.began,
		Header: x.r.Header,
	})
}

func (x *exchange) traceSend(h http.Header) {
	if x.trace != nil {
		defer x.guardTrace()
		x.trace.Send(h)
	}
}

func (x *exchange) traceAnswer(res *http.Response) {
	if x.trace != nil {
		defer x.guardTrace()
		kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		_, stream := wire.FramingOf(kind)
		x.trace.Answer(res.StatusCode, stream)
	}
}

func (x *exchange) traceEnd() {
	if x.trace != nil {
		defer x.guardTrace()
		x.trace.End(TraceEnd{Status: x.status, Err: x.err, Action: x.w.Header().Get("X-Oriel-Action"),
			Recorded: x.call.Begun()})
	}
}

// guardTrace ends the trace of a call whose tracer panicked.
func (x *exchange) guardTrace() {
	if p := recover(); p != nil {
		x.trace = nil
		x.s.log.Error("the tracer panicked; the call continues without its trace", "id", x.id, "panic", fmt.Sprint(p))
	}
}
