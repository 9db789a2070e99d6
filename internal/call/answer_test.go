package call_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// answerOf is a chat completion, or the stream of one in one event, whose text has so
// many bytes.
func answerOf(size int, stream bool) []byte {
	text := strings.Repeat("a", size)
	if stream {
		const chunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{%s}%s}]}\n\n"
		return fmt.Appendf(nil,
			chunk+chunk+"data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\ndata: [DONE]\n\n", `"role":"assistant","content":"`+text+`"`, "", "", `,"finish_reason":"stop"`)
	}
	return fmt.Appendf(nil,
		`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"%s"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, text)
}

func packed(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "":
		return body
	case "br":
		w = brotli.NewWriterLevel(&out, 1)
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w, _ = flate.NewWriter(&out, 1)
	case "zstd":
		w, _ = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// answering is a bench whose provider has one answer at a time.
func answering(t *testing.T, limit int64) (b *bench, ask func(size int, stream bool,
	encoding string) (call oriel.Event, unkept string)) {
	var mu sync.Mutex // protects what follows
	var answer []byte
	var kind, coding string
	b = startProxy(t, proxy.Options{BufferLimit: limit}, memory.New(), nil,
		func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", kind)
			if coding != "" {
				w.Header().Set("Content-Encoding", coding)
			}
			w.Write(answer)
		})
	n := 0
	return b, func(size int, stream bool, encoding string) (call oriel.Event, unkept string) {
		t.Helper()
		mu.Lock()
		if coding, kind = encoding, "application/json"; stream {
			kind = "text/event-stream"
		}
		answer = packed(t, encoding, answerOf(size, stream))
		mu.Unlock()
		n++
		_, got := b.send("/v1/chat/completions",
			fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":"question %d"}]}`, n),
			"Accept-Encoding", "identity")
		if !bytes.Equal(got, answer) {
			t.Fatalf("the client got %d bytes of %d", len(got), len(answer))
		}
		b.settle(n)
		for b.proxy.Counters().BufferedBytes > 0 { // given back a moment after the call is written
			runtime.Gosched()
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range b.events {
			switch e.Kind {
			case oriel.EventCall:
				call = e
			case oriel.EventUnkept:
				unkept = e.Error
			}
		}
		b.events = nil
		return call, unkept
	}
}

// A compressed answer is kept up to the size up to which a plain one is, whatever its
// encoding; the client gets all of it, and what was not kept is reported.
func TestCompressedAnswersStopAtThePlainLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	b, ask := answering(t, 0)
	for _, encoding := range []string{"", "br", "gzip", "deflate", "zstd"} {
		for _, stream := range []bool{false, true} {
			if call, unkept := ask(3<<20, stream, encoding); call.Error != "" || unkept != "" || call.Output != 1 {
				t.Errorf("3 MiB, %q, stream %v: %q, %q", encoding, stream, call.Error, unkept)
			}
			if stream != (encoding == "gzip") || encoding == "deflate" || encoding == "zstd" {
				continue // 64 MiB take their time, and the others are read alike
			}
			if call, unkept := ask(64<<20+1, stream, encoding); call.Error != unkept ||
				!strings.Contains(unkept, "over 64 MiB") {
				t.Errorf("64 MiB, %q, stream %v: %q, %q", encoding, stream, call.Error, unkept)
			}
		}
	}
	if n := b.engine.Counters().Unkept.Load(); n != 3 {
		t.Errorf("%d answers are counted", n)
	}
}

// Copies of answers are taken from the memory of all calls. Where there is none, the
// client gets its answer all the same, and the call is recorded without it, which is reported.
func TestAnswersBeyondTheMemoryAreTold(t *testing.T) {
	b, ask := answering(t, 4<<20)
	for _, encoding := range []string{"", "gzip"} {
		for _, stream := range []bool{false, true} {
			call, unkept := ask(5<<20, stream, encoding)
			if call.Kind == "" || call.Error != unkept || !strings.Contains(unkept, "no memory") {
				t.Errorf("%q, stream %v: %+v, %q", encoding, stream, call, unkept)
			}
			if res, health := b.get("/oriel/healthz"); res.StatusCode != http.StatusOK ||
				!strings.Contains(health, `"memory":"short"`) {
				t.Error(res.Status, health)
			}
			if call, unkept := ask(1000, stream, encoding); call.Error != "" || unkept != "" {
				t.Errorf("a small one after it: %q, %q", call.Error, unkept)
			}
		}
	}
}

// An answer of more parts than are kept reaches the client; the call is recorded without
// it, which is reported, with what the provider counted.
func TestAnswersOfManyPartsAreTold(t *testing.T) {
	parts := strings.Repeat("{},", wire.MaxParts) + "{}"
	const usage = `"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`
	for name, c := range map[string]struct{ path, body, kind, answer string }{
		"whole": {"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"q"}]}`,
			"application/json",
			`{"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":[` + parts +
				`]}}],` + usage + `}`},
		"items": {"/v1/responses", `{"model":"m","input":"q"}`, "application/json",
			`{"id":"r","status":"completed","output":[` + parts + `]}`},
		"streamed": {"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"q"}]}`,
			"text/event-stream",
			`data: {"id":"c","choices":[{"index":0,"finish_reason":"stop","delta":{"tool_calls":[` +
				strings.ReplaceAll(parts, "{}",
					`{"id":"a","function":{"name":"b"}},{"id":"b","function":{"name":"b"}}`) + `]}}],` + usage +
				"}\n\ndata: [DONE]\n\n"},
	} {
		b := startProxy(t, proxy.Options{}, memory.New(), nil, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", c.kind)
			io.WriteString(w, c.answer)
		})
		if _, got := b.send(c.path, []byte(c.body)); string(got) != c.answer {
			t.Errorf("%s: the client got %d bytes of %d", name, len(got), len(c.answer))
		}
		b.settle(1)
		b.mu.Lock()
		var call oriel.Event
		unkept := ""
		for _, e := range b.events {
			switch e.Kind {
			case oriel.EventCall:
				call = e
			case oriel.EventUnkept:
				unkept = e.Error
			}
		}
		b.mu.Unlock()
		if call.Error != unkept || !strings.Contains(unkept, "more than 65536 parts") ||
			name != "items" && call.Output != 1 {
			t.Errorf("%s: %+v, %q", name, call, unkept)
		}
	}
}

func (b *bench) get(path string) (*http.Response, string) {
	b.t.Helper()
	res, err := b.client.Get(b.url + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, string(body)
}
