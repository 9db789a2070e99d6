package call_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
)

// hashed is a model whose vectors are of a few words.
type hashed struct{}

func (hashed) Name() string { return "hashed" }

func (hashed) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, 32)
		out[i][len(text)%32] = 1
	}
	return out, nil
}

// inProcess is a provider without a connection, so that all goroutines are Oriel's.
type inProcess func() *http.Response

func (f inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return f(), err
}

// started returns how many goroutines the process has started.
func started() uint64 {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// mostGoroutines is how many goroutines a call may start, with all that follows it in the
// background: that of the guard, which also writes the call; one that reads the notes, searches
// and reads the head of the stream; one that computes the vector of the query beside the
// search; and one that computes the vectors of what is new.
const mostGoroutines = 4

// A call that makes a cut, recalls by words and meaning, and is answered by a stream, starts few
// goroutines.
func TestACallStartsFewGoroutines(t *testing.T) {
	e, err := oriel.Open(t.Context(), oriel.Config{Dir: t.TempDir(), Embed: hashed{},
		Calls: oriel.CallOptions{Profile: "thrifty", RecallWait: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Noted.\"}}\n\n" +
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	provider := e.Transport(inProcess(func() *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(strings.NewReader(stream))}
	}))
	var list []string
	const warm, measured = 40, 20
	var counts []uint64
	recalled := 0
	for n := range warm + measured {
		list = append(list, fmt.Sprintf(
			`{"role":"user","content":"What did the surveyor number%03d say about harbour %d and the walk? %s"}`, n,
			n*7,
			strings.Repeat(fmt.Sprintf("We walked along the harbour%d. ", n), 40)))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://provider/v1/messages",
			strings.NewReader(`{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true,"messages":[`+
				strings.Join(list, ",")+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Oriel-Budget", "4000")
		r.Header.Set("X-Oriel-Conversation", "walk")
		before := started()
		res, err := provider.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		if err := e.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n >= warm {
			counts = append(counts, started()-before)
			if strings.Contains(res.Header.Get("X-Oriel-Action"), "recall") {
				recalled++
			}
		}
		list = append(list, `{"role":"assistant","content":[{"type":"text","text":"Noted."}]}`)
	}
	slices.Sort(counts) // a busy machine may let some wait for longer than a goroutine is idle
	t.Logf("%d calls, %d of which recalled, started %d goroutines", measured, recalled, counts)
	if recalled == 0 || counts[measured/2] > mostGoroutines {
		t.Errorf("%d calls, %d of which recalled, started %d goroutines, more than %d", measured, recalled, counts,
			mostGoroutines)
	}
}
