// Package tracing follows calls through a proxy and its engine as OpenTelemetry spans, and
// exports them over OTLP/HTTP.
//
// FromEnv returns nil unless the standard variables name a collector; a proxy without a
// tracer does nothing for tracing. With one, a call is a SERVER span with a span for each
// of Oriel's stages and a CLIENT span for each request to the provider, named and described
// as the conventions for generative AI ask. No span contains text of a message, an error
// or a key.
//
// Spans are exported in the background. A collector that is slow or gone costs spans, which
// are dropped when the queue is full, and never delays a call.
package tracing

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/proxy"
)

// Tracer makes the spans of calls. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	context  propagation.TraceContext // reads and writes traceparent and tracestate

	mu    sync.Mutex // protects what follows
	calls map[string]*traced
}

var _ proxy.Tracer = (*Tracer)(nil)

const (
	// grace is how long the spans of an ended call wait for its record, which has the
	// model and the tokens.
	grace = 10 * time.Second
	// maxCalls bounds the calls that are followed at the same time.
	maxCalls = 10_000
)

// newTracer returns a tracer whose spans go to a provider.
func newTracer(provider *sdktrace.TracerProvider, version string) *Tracer {
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/oriel-context/oriel",
		trace.WithInstrumentationVersion(version)), calls: map[string]*traced{}}
}

// call holds the spans of one call.
type traced struct {
	t *Tracer
	proxy.TraceStart
	parented bool            // the client sent a trace context
	ctx      context.Context // with the server span

	mu       sync.Mutex // protects what follows
	server   trace.Span
	client   trace.Span // the last request; nil before the first
	ended    time.Time  // zero while the call runs
	recorded bool       // the record was seen before the end
	timer    *time.Timer
	finished bool
}

// Begin implements proxy.Tracer.
func (t *Tracer) Begin(s proxy.TraceStart) proxy.Trace {
	parent := t.context.Extract(context.Background(), propagation.HeaderCarrier(s.Header))
	c := &traced{t: t, TraceStart: s, parented: trace.SpanContextFromContext(parent).IsValid()}
	c.Header = nil // it has keys
	route := s.Format.Protocol().Route
	c.ctx, c.server = t.tracer.Start(parent, "POST "+route, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(s.Began),
		trace.WithAttributes(attribute.String("http.request.method", http.MethodPost),
			attribute.String("http.route", route),
			attribute.String("oriel.call", s.ID)))
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.calls) < maxCalls {
		t.calls[s.ID] = c
	}
	return c
}

// of returns a call that is followed, or nil.
func (t *Tracer) of(id string) *traced {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[id]
}

// Send implements proxy.Trace. A client that sent a trace context has it continued: its
// provider becomes a child of the client span. Nothing is added to other requests.
func (c *traced) Send(h http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		c.client.End()
	}
	attributes := []attribute.KeyValue{attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", c.Vendor)}
	if host, port, err := net.SplitHostPort(c.Upstream); err == nil {
		n, _ := strconv.Atoi(port)
		attributes = append(attributes, attribute.String("server.address", host), attribute.Int("server.port", n))
	} else {
		attributes = append(attributes, attribute.String("server.address", c.Upstream))
	}
	ctx, span := c.t.tracer.Start(c.ctx, "chat", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes...))
	c.client = span
	if c.parented {
		c.t.context.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Answer implements proxy.Trace.
func (c *traced) Answer(status int, stream bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return
	}
	c.client.SetAttributes(attribute.Int("http.response.status_code", status),
		attribute.Bool("gen_ai.request.stream", stream))
	if status >= http.StatusBadRequest {
		fail(c.client, strconv.Itoa(status))
	}
}

// End implements proxy.Trace.
func (c *traced) End(e proxy.TraceEnd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = time.Now()
	c.server.SetAttributes(attribute.Int("http.response.status_code", e.Status))
	if e.Action != "" {
		c.server.SetAttributes(attribute.String("oriel.action", e.Action))
	}
	if reason := errorType(&e); reason != "" {
		fail(c.server, reason)
		if c.client != nil && e.Err != nil {
			fail(c.client, reason)
		}
	}
	if !e.Recorded || c.recorded {
		c.finish()
		return
	}
	c.timer = time.AfterFunc(grace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.finish()
	})
}

// finish ends the spans at the time at which the call ended. The caller holds mu.
func (c *traced) finish() {
	if c.finished {
		return
	}
	c.finished = true
	if c.timer != nil {
		c.timer.Stop()
	}
	at := trace.WithTimestamp(c.ended)
	if c.client != nil {
		c.client.End(at)
	}
	c.server.End(at)
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	delete(c.t.calls, c.ID)
}

// fail marks a span as failed by a reason that is one of few.
func fail(span trace.Span, reason string) {
	span.SetStatus(codes.Error, "")
	span.SetAttributes(attribute.String("error.type", reason))
}

// Stage makes the span of a stage.
func (t *Tracer) Stage(s call.Stage) {
	if s.Name == call.StageBegin { // the sum of others
		return
	}
	if c := t.of(s.Call); c != nil {
		_, span := t.tracer.Start(c.ctx, "oriel "+s.Name, trace.WithTimestamp(s.Began),
			trace.WithAttributes(attribute.String("oriel.stage", s.Name)))
		span.End(trace.WithTimestamp(s.Began.Add(s.Took)))
	}
}

// Event adds to the spans of a call what an event has, except its texts.
func (t *Tracer) Event(e oriel.Event) {
	c := t.of(e.Call)
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return
	}
	if e.Kind == oriel.EventCall {
		c.describe(&e)
		c.recorded = true
		if !c.ended.IsZero() {
			c.finish()
		}
		return
	}
	var attributes []attribute.KeyValue
	for _, a := range []struct{ key, value string }{{"oriel.action", e.Action}, {"oriel.plan", e.Plan},
		{"oriel.reason", e.Reason}} {
		if a.value != "" {
			attributes = append(attributes, attribute.String(a.key, a.value))
		}
	}
	for _, a := range []struct {
		key   string
		value int
	}{{"oriel.tokens.before", e.TokensBefore}, {"oriel.tokens.after", e.TokensAfter},
		{"oriel.tokens.recalled", e.Recalled}} {
		if a.value > 0 {
			attributes = append(attributes, attribute.Int(a.key, a.value))
		}
	}
	c.server.AddEvent("oriel."+e.Kind, trace.WithAttributes(attributes...))
}

// describe sets the attributes that are known when a call is recorded. The caller holds
// mu.
func (c *traced) describe(e *oriel.Event) {
	conversation := attribute.String("gen_ai.conversation.id", clip.To(e.Conversation, clip.Line))
	c.server.SetAttributes(conversation, attribute.Int("oriel.tokens.before", e.TokensBefore),
		attribute.Int("oriel.tokens.after", e.TokensAfter), attribute.Int("oriel.budget", e.Budget))
	if e.Plan != "" {
		c.server.SetAttributes(attribute.String("oriel.plan", e.Plan))
	}
	if c.client == nil {
		return
	}
	model := clip.To(e.Model, clip.Name)
	c.client.SetName("chat " + model)
	c.client.SetAttributes(conversation, attribute.String("gen_ai.request.model", model))
	if u := e.Usage; u != nil {
		written := u.CacheWrite + u.Hour
		c.client.SetAttributes(
			attribute.Int("gen_ai.usage.input_tokens", u.Input+u.CacheRead+written),
			attribute.Int("gen_ai.usage.output_tokens", u.Output),
			attribute.Int("gen_ai.usage.cache_read.input_tokens", u.CacheRead),
			attribute.Int("gen_ai.usage.cache_creation.input_tokens", written))
		if u.Reasoning > 0 {
			c.client.SetAttributes(attribute.Int("gen_ai.usage.reasoning.output_tokens", u.Reasoning))
		}
	}
}

// Shutdown ends all spans and exports what is left, until ctx ends.
func (t *Tracer) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	var open []*traced
	for _, c := range t.calls {
		open = append(open, c)
	}
	t.mu.Unlock()
	for _, c := range open {
		c.mu.Lock()
		if c.ended.IsZero() {
			c.ended = time.Now()
		}
		c.finish()
		c.mu.Unlock()
	}
	return t.provider.Shutdown(ctx)
}
