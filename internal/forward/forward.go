package forward

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/wire"
)

// Defaults of Options.BodyLimit and of the limit of a Budget.
const (
	DefaultBodyLimit   = 64 << 20
	DefaultBufferLimit = 512 << 20
)

// Options configures a Forwarder.
type Options struct {
	// Engine decides what is sent of each call and records it. Nil: bodies of calls are read,
	// and nothing else is done with them.
	Engine Engine
	// BodyLimit is the largest body that is looked at, before and after decoding. 0 means
	// DefaultBodyLimit.
	BodyLimit int64
	// ReplyWait limits how long the engine may delay a part of an answer. 0 means
	// Engine.BeginWait.
	ReplyWait time.Duration
	// Running counts the goroutines of calls, which may outlast their requests. Nil: nobody
	// waits for them.
	Running *limit.Running
	// Report receives the engine's faults. It must return quickly, and may be called by
	// several goroutines at the same time. Nil: nobody is told.
	Report func(*Fault)
}

// Forwarder forwards requests by way of an engine. It is safe for concurrent use.
type Forwarder struct {
	engine    Engine
	bodyLimit int64
	replyWait time.Duration
	running   *limit.Running
	report    func(*Fault)
	behind    atomic.Int64 // abandoned calls and counts that still run
}

// New returns a Forwarder.
func New(o Options) *Forwarder {
	f := &Forwarder{engine: o.Engine, bodyLimit: cmp.Or(o.BodyLimit, DefaultBodyLimit), replyWait: o.ReplyWait,
		running: o.Running, report: o.Report}
	if f.running == nil {
		f.running = &limit.Running{}
	}
	if f.report == nil {
		f.report = func(*Fault) {}
	}
	return f
}

// Exchange is one request and its answer. Do is called first, then Next until it returns an
// error, then End. Its methods are for one goroutine at a time, but End may come while
// Next waits.
type Exchange struct {
	// ID names the request in events and logs, Tenant is whose it is.
	ID, Tenant string
	// Profile is used if the request's header names none.
	Profile string
	// Format is the protocol of a call, Counts that of a request that counts the tokens of
	// one. Both are Auto for any other request, which is sent as it is.
	Format, Counts wire.Format
	// Path is the path that tells the engine what is called, without the query.
	Path string
	// In is the request as the client sent it.
	In    *http.Request
	Began time.Time
	// Memory is that of the request, which the caller lets go.
	Memory *Memory
	// Windows, if not nil, is asked for the windows of the provider's models.
	Windows call.Windows

	f      *Forwarder
	crew   limit.Crew
	guard  *guard // nil if the engine does not have the call
	passed string
	// betaSet reports that the request names a beta feature that the client did not.
	betaSet bool
	action  string // what this package did; the engine may have done more
	reply   reply
}

// Do sends out, which is the client's request as the provider gets it, with the body that the
// engine has for it. next sends it, and each one that follows a refusal. The header of the
// answer has Oriel's headers and none of the provider's with such names. If the
// client's body cannot be read, Do returns its error.
func (f *Forwarder) Do(x *Exchange, out *http.Request,
	next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	x.f = f
	if err := x.look(out); err != nil {
		return nil, err
	}
	x.SetBeta(out.Header)
	res, err := send(out, x, next)
	if err != nil {
		return nil, err
	}
	x.answered(res)
	return res, nil
}

// look reads the body of a request that the engine wants to see, and gives it to the engine.
func (x *Exchange) look(out *http.Request) error {
	isCall := x.Format != wire.Auto
	if isCall {
		x.action = "none"
	} else if x.Counts == wire.Auto || x.f.engine == nil {
		return nil
	}
	if v := x.In.Header.Get("X-Oriel-Bypass"); v == "1" || strings.EqualFold(v, "true") {
		if isCall {
			x.pass(PassedBypass)
		}
		return nil
	}
	if Signed(x.In) {
		if isCall {
			x.pass(PassedSigned)
		}
		return nil
	}
	raw, passed, err := x.take(out)
	if err != nil {
		return err
	}
	if passed != "" && isCall {
		x.pass(passed)
	}
	if raw == nil || x.f.engine == nil {
		return nil
	}
	body := x.begin
	if !isCall {
		body = x.count
	}
	if body := body(raw); body != nil {
		replaceBody(out, body)
	}
	return nil
}

// begin begins the call and returns the body to send; nil means the client's.
func (x *Exchange) begin(raw []byte) []byte {
	var passed string
	var failed bool
	x.guard, passed, failed = x.ask("Begin", x.request(x.Format, raw), x.f.engine.Begin)
	if passed != "" {
		x.pass(passed)
	}
	if failed {
		x.action = "error"
	}
	if x.guard == nil {
		return nil
	}
	return x.guard.send()
}

// count returns the body to count; nil means the client's.
func (x *Exchange) count(raw []byte) []byte {
	body := new([]byte) // an abandoned method may still write to it
	_, _, failed := x.ask("Count", x.request(x.Counts, raw), func(ctx context.Context, r *call.Request) Call {
		*body = x.f.engine.Count(ctx, r)
		return nil
	})
	if failed {
		return nil
	}
	return *body
}

// request returns the request as the engine gets it.
func (x *Exchange) request(f wire.Format, raw []byte) *call.Request {
	return &call.Request{
		ID: x.ID, Tenant: x.Tenant, Profile: cmp.Or(x.In.Header.Get("X-Oriel-Profile"), x.Profile), Format: f,
		Path: x.Path, Header: x.In.Header, Query: x.In.URL.RawQuery, Body: raw, Began: x.Began, Memory: x.Memory,
		Windows: x.Windows,
	}
}

// pass notes that a call passes through unseen.
func (x *Exchange) pass(reason string) {
	x.passed, x.action = reason, "bypass"
	if x.f.engine != nil && reason != PassedBypass {
		x.f.engine.Unseen(x.Tenant, x.ID, reason)
	}
}

// fault reports a fault of the engine.
func (x *Exchange) fault(f *Fault) {
	f.ID, f.Tenant = x.ID, x.Tenant
	x.f.report(f)
}

// Again implements resender.
func (x *Exchange) Again() bool { return x.guard != nil && x.guard.again() }

// Refused implements resender.
func (x *Exchange) Refused(status int, body []byte) []byte { return x.guard.refused(status, body) }

// Go implements resender.
func (x *Exchange) Go(work func() (then func())) { x.crew.Go(work) }

// Begun reports whether the engine has the call.
func (x *Exchange) Begun() bool { return x.guard != nil }

// Passed returns why a call passed through unseen, or "".
func (x *Exchange) Passed() string { return x.passed }

// Model returns the model that the call names, or "" if the engine does not have the call.
func (x *Exchange) Model() string {
	if x.guard == nil {
		return ""
	}
	return x.guard.model
}
