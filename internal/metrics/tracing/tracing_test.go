package tracing_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/metrics/tracing"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// door is a proxy with an engine and a tracer before a fake model.
type door struct {
	*httptest.Server
	tracer *tracing.Tracer
	engine *oriel.Engine
	mu     sync.Mutex
	got    []http.Header // of the requests to the provider
	log    bytes.Buffer
	calls  int64
}

// open opens a proxy whose tracer comes from the variables.
func open(t testing.TB, answer func(*fakemodel.Request) fakemodel.Answer) *door {
	t.Helper()
	d := new(door)
	model := &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		d.mu.Lock()
		d.got = append(d.got, r.Header.Clone())
		d.mu.Unlock()
		return answer(r)
	}}
	provider := httptest.NewServer(model)
	t.Cleanup(provider.Close)
	var err error
	if d.tracer, err = tracing.FromEnv("v1", slog.New(slog.NewTextHandler(&d.log, nil))); err != nil {
		t.Fatal(err)
	}
	config := oriel.Config{NoEmbed: true}
	inside := call.Inside{Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute}}
	options := proxy.Options{Anthropic: provider.URL, OpenAI: provider.URL, ReplyTimeout: time.Minute}
	if d.tracer != nil {
		config.Events, inside.Stages, options.Tracer = d.tracer.Event, d.tracer.Stage, d.tracer
	}
	if d.engine, err = oriel.Open(call.With(t.Context(), inside), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.engine.Close() })
	options.Engine = d.engine
	server, err := proxy.New(options)
	if err != nil {
		t.Fatal(err)
	}
	d.Server = httptest.NewServer(server)
	t.Cleanup(d.Close)
	return d
}

// send sends a call and waits until it is recorded.
func (d *door) send(t testing.TB, path, body string, header ...string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	d.calls++
	for call.Of(d.engine).Counters().Written.Load() < d.calls {
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// flush ends the tracer.
func (d *door) flush(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := d.tracer.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}

const secretWord = "tamarind"

// Calls, streamed and not, cut and refused, are spans with the names and attributes of the
// conventions, in the client's trace, without a word of what was said.
func TestSpansOfProxiedCalls(t *testing.T) {
	out := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", out.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_SERVICE_NAME", "my-oriel")
	d := open(t, func(r *fakemodel.Request) fakemodel.Answer {
		if len(r.Data()) > 60_000 {
			return fakemodel.Answer{Status: http.StatusBadRequest,
				Error: "prompt is too long: 30000 tokens > 12000 maximum"}
		}
		return fakemodel.Answer{Text: secretWord, Input: 100, CacheRead: 800, CacheWrite: 40, Output: 5}
	})
	const traceID, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	history := `{"role":"user","content":"` + secretWord + `"}`
	long := strings.Repeat(secretWord+" ", 2000)
	for i := range 7 {
		body := fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":100,"stream":%v,"messages":[%s]}`, i%2 == 1,
			history)
		d.send(t, "/v1/messages", body, "Traceparent", "00-"+traceID+"-"+parent+"-01", "Tracestate", "vendor=x",
			"X-Api-Key", "sk-ant-"+secretWord)
		history += `,{"role":"assistant","content":"` + secretWord + `"},{"role":"user","content":"` + long + `"}`
	}
	d.flush(t)
	spans, resource := out.received(t)
	if resource["service.name"] != "my-oriel" || resource["service.version"] != "v1" ||
		out.header.Get("X-Key") != "a b" {
		t.Errorf("%v, %v", resource, out.header)
	}
	for _, body := range out.bodies {
		if bytes.Contains(body, []byte(secretWord)) {
			t.Error("a span has what somebody said")
		}
	}
	byID, servers, clients, refused, cuts, streams := map[string]*span{}, 0, 0, 0, 0, 0
	stages := map[string]int{}
	for _, s := range spans {
		byID[s.id] = s
		if s.trace != traceID || s.end < s.start {
			t.Errorf("%s is in the trace %s from %d to %d", s.name, s.trace, s.start, s.end)
		}
	}
	for _, s := range spans {
		switch {
		case s.kind == 2:
			servers++
			if s.parent != parent || s.name != "POST /v1/messages" ||
				s.attributes["http.response.status_code"] != int64(200) ||
				s.attributes["oriel.tokens.before"] == int64(0) || s.attributes["oriel.action"] == nil {
				t.Errorf("%+v", s)
			}
			if cut := s.events["oriel.truncation"]; cut != nil {
				cuts++
				if cut["oriel.action"] == nil || cut["oriel.tokens.after"] == nil {
					t.Errorf("a cut of %v", cut)
				}
			}
		case byID[s.parent] == nil || byID[s.parent].kind != 2:
			t.Errorf("%s is not a part of a call", s.name)
		case s.kind == 3 && s.status == 2:
			refused++
			if s.attributes["error.type"] != "400" || s.attributes["gen_ai.operation.name"] != "chat" {
				t.Errorf("%+v", s)
			}
		case s.kind == 3:
			clients++
			if s.attributes["gen_ai.request.stream"] == true {
				streams++
			}
			for name, want := range map[string]any{
				"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic",
				"gen_ai.request.model": "claude-sonnet-4-5", "gen_ai.usage.input_tokens": int64(940),
				"gen_ai.usage.output_tokens":               int64(5),
				"gen_ai.usage.cache_read.input_tokens":     int64(800),
				"gen_ai.usage.cache_creation.input_tokens": int64(40), "server.address": "127.0.0.1",
				"http.response.status_code": int64(200),
			} {
				if s.attributes[name] != want {
					t.Errorf("%s is %v, want %v", name, s.attributes[name], want)
				}
			}
			if s.name != "chat claude-sonnet-4-5" || s.attributes["gen_ai.conversation.id"] == "" {
				t.Errorf("%+v", s)
			}
		default:
			stages[s.name]++
		}
	}
	if servers != 7 || clients != 7 || refused == 0 || cuts == 0 || streams != 3 {
		t.Errorf("%d servers, %d clients, %d refused, %d cuts, %d streams", servers, clients, refused, cuts, streams)
	}
	for _, stage := range []string{"oriel read", "oriel find", "oriel plan", "oriel reply", "oriel store"} {
		if stages[stage] < 7 {
			t.Errorf("%d spans %q", stages[stage], stage)
		}
	}
	if stages["oriel again"] == 0 || stages["oriel begin"] > 0 {
		t.Errorf("%v", stages)
	}
	// What the provider got continues the trace in a client span.
	for _, h := range d.got {
		parts := strings.Split(h.Get("Traceparent"), "-")
		if len(parts) != 4 || parts[1] != traceID || byID[parts[2]] == nil || byID[parts[2]].kind != 3 ||
			h.Get("Tracestate") != "vendor=x" {
			t.Errorf("the provider got %q, %q", h.Get("Traceparent"), h.Get("Tracestate"))
		}
	}
}

// A client that sends no trace context has none sent to its provider.
func TestRequestsWithoutAContextGetNone(t *testing.T) {
	out := newCollector(t)
	out.refuse = 1 // it is asked again
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", out.URL+"/v1/traces")
	d := open(t, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Well.", Input: 1} })
	d.send(t, "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"Hello."}]}`)
	d.flush(t)
	if h := d.got[0]; h.Get("Traceparent") != "" || h.Get("Tracestate") != "" {
		t.Errorf("%v", h)
	}
	spans, resource := out.received(t)
	if len(spans) < 6 || resource["service.name"] != "oriel" {
		t.Errorf("%d spans of %v", len(spans), resource)
	}
}

// Without the variables there is no tracer, whatever else is set.
func TestNothingIsTracedUnlessAskedFor(t *testing.T) {
	for _, set := range []map[string]string{
		{},
		{"OTEL_SERVICE_NAME": "x"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		t.Run("", func(t *testing.T) {
			for k, v := range set {
				t.Setenv(k, v)
			}
			if tracer, err := tracing.FromEnv("v1", slog.Default()); tracer != nil || err != nil {
				t.Errorf("%v: %v, %v", set, tracer, err)
			}
		})
	}
}

func TestMistakesInVariablesAreNamed(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
		"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "zip", "OTEL_EXPORTER_OTLP_HEADERS": "secret-without-a-name",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": os.DevNull,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(name, value)
			tracer, err := tracing.FromEnv("v1", slog.Default())
			if tracer != nil || err == nil || !strings.Contains(err.Error(), name) ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, %v", tracer, err)
			}
		})
	}
}

// A collector that accepts connections and never answers delays no call, and shutdown ends
// within its limit.
func TestADeadCollectorCostsCallsNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // nobody accepts
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600000")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	d := open(t, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Well.", Input: 1} })
	for i := range 20 { // more spans than the queue holds, while an export hangs for ten minutes
		d.send(t, "/v1/chat/completions",
			fmt.Sprintf(`{"model":"gpt-4o","messages":[{"role":"user","content":"Hello %d."}]}`, i))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() { d.tracer.Shutdown(ctx); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute): // the export alone would take ten
		t.Error("shutdown did not end in time")
	}
}

// A collector that redirects gets the spans and the headers, which may be credentials; the
// other server gets neither.
func TestSpansFollowNoRedirect(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	var came atomic.Int32
	named := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer named.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", named.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret")
	d := open(t, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Well.", Input: 1} })
	d.send(t, "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"Hello."}]}`)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d.tracer.Shutdown(ctx)
	if came.Load() == 0 || elsewhere.Load() > 0 {
		t.Errorf("%d requests, %d to the other server", came.Load(), elsewhere.Load())
	}
}

// What a call costs without a tracer and with one.
func BenchmarkProxiedCall(b *testing.B) {
	run := func(b *testing.B) {
		d := open(b, func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Well.", Input: 1} })
		const body = `{"model":"gpt-4o","messages":[{"role":"user","content":"Hello."}]}`
		b.ReportAllocs()
		for b.Loop() {
			d.send(b, "/v1/chat/completions", body)
		}
	}
	b.Run("off", run)
	b.Run("on", func(b *testing.B) {
		out := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer out.Close()
		b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", out.URL)
		run(b)
	})
}
