package forward

import (
	"context"
	"net/http"
	"time"

	"github.com/oriel-context/oriel/internal/call"
)

// Engine is the part of *call.Engine that a Forwarder uses; tests replace it. The Forwarder
// recovers from its panics, and abandons a method that takes longer than BeginWait or
// Options.ReplyWait; the call continues.
type Engine interface {
	// BeginWait returns the limit for Begin, Count and Refused.
	BeginWait() time.Duration
	// EndWait returns how long the end of an answer may wait for End; 0 if it does
	// not wait.
	EndWait() time.Duration
	// Begin is called before a call goes upstream. ctx ends when Begin's time is up and
	// when Begin returns.
	Begin(ctx context.Context, r *call.Request) Call
	// Count returns the body to count instead of the client's, or nil for the client's
	// own. ctx ends when its time is up.
	Count(ctx context.Context, r *call.Request) []byte
	// Unseen is called for a call that passes through without Begin, unless the client
	// asked for that. It must return quickly.
	Unseen(tenant, id, reason string)
}

// Call is the part of *call.Call that a Forwarder uses. Its methods are called by one
// goroutine at a time, in this order. The client gets a part of the answer before Write
// does, and may send its next call while End runs, unless the engine has an EndWait: then
// it gets the last byte after that.
type Call interface {
	// Model returns the model that the request names, or "".
	Model() string
	// Body returns the body to send upstream, or nil for the client's own.
	Body() []byte
	// Beta returns the beta feature that the body needs beside the client's own, or "". It is
	// called after Body, and after Refused returned a body.
	Beta() string
	// Again reports whether Refused may return another body. If so, the client gets
	// nothing of a stream until it is clear that it does not begin with an error.
	Again() bool
	// Refused is called before the client sees a refusal (400, 413, 422, or a 200 that is
	// only an error or a stream that begins with one). A non-nil body is sent in its
	// place, at most twice per call.
	Refused(status int, body []byte) []byte
	// Ready reports whether Response and Header return at once. If so, the goroutine of the
	// request calls them.
	Ready() bool
	// Response is called when the answer begins. h is read-only. It is not called if
	// there is no answer.
	Response(status int, h http.Header)
	// Header adds X-Oriel-* headers to an answer before it is sent, including answers in
	// place of the provider's. Other names are ignored.
	Header(h http.Header)
	// Write receives bytes of the body as relayed, still encoded. p is valid only during
	// the call.
	Write(p []byte)
	// End is always called once: with nil after a complete body, or with the reason: the
	// client left, the provider was unreachable or broke off, or a method of the call
	// failed (ErrEngine).
	End(err error)
}

// Of returns an engine as a Forwarder uses it.
func Of(e *call.Engine) Engine { return engineOf{e} }

type engineOf struct{ *call.Engine }

// Begin implements Engine.
func (e engineOf) Begin(ctx context.Context, r *call.Request) Call { return e.Engine.Begin(ctx, r) }
