package usage_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// cached is a provider with a cache: of each prompt it reads what the last one began with, message
// by message.
type cached struct {
	last []string
	got  []byte
	n    int
}

func (p *cached) RoundTrip(r *http.Request) (*http.Response, error) {
	p.got, _ = io.ReadAll(r.Body)
	r.Body.Close()
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(p.got, &body); err != nil {
		return nil, err
	}
	read, all, same := 0, 0, true
	var now []string
	for i, m := range body.Messages {
		text := string(m)
		now = append(now, text)
		same = same && i < len(p.last) && p.last[i] == text
		all += len(text) / 4
		if same {
			read += len(text) / 4
		}
	}
	p.last = now
	p.n++
	answer := fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"f%d.go"}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":20}}`,
		p.n, p.n, p.n, read, all-read)
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// session sends the calls of an agent that reads files, under a profile, and returns the sums.
func session(t *testing.T, profile string) *usage.Row {
	t.Helper()
	store, provider, now := memory.New(), &cached{}, time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	defer store.Close()
	engine, err := oriel.Open(call.With(t.Context(),
		call.Inside{Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute}}),
		oriel.Config{Store: store, NoEmbed: true, Now: func() time.Time { return now },
			Calls: oriel.CallOptions{Profile: profile, RecallTokens: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	client := &http.Client{Transport: engine.Transport(provider)}
	history := []string{`{"role":"user","content":"Mend the harbour."}`}
	for i := range 40 {
		body := `{"model":"claude-sonnet-4-5","max_tokens":1000,"tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":[` +
			strings.Join(history, ",") + `]}`
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.anthropic.com/v1/messages",
			strings.NewReader(body))
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if profile == call.Observe && !bytes.Equal(provider.got, []byte(body)) {
			t.Fatalf("call %d was changed", i)
		}
		var said struct{ Content json.RawMessage }
		if err := json.Unmarshal(answer, &said); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		var file strings.Builder
		for k := range 400 {
			fmt.Fprintf(&file, "line %d of file %d: the harbour has %d ships\n", k, i, k*i)
		}
		text, _ := json.Marshal(file.String())
		history = append(history, `{"role":"assistant","content":`+string(said.Content)+`}`,
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%s}]}`, i+1, text))
		now = now.Add(10 * time.Second)
		if err := call.Of(engine).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := usage.Read(t.Context(), store, timeline.Local, usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &r.Total
}

// What the profile observe says that others would have sent and cost is what they send and cost.
func TestObserveRecordsWhatOtherProfilesWouldHaveSent(t *testing.T) {
	seen := session(t, call.Observe)
	o := seen.Observed
	if o == nil || o.Calls != seen.Calls || o.Input != seen.Input || o.Cost != seen.Cost || seen.LeftOut != 0 ||
		len(o.Would) != len(call.Observed) {
		t.Fatalf("%+v: %+v", seen, o)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= .02*math.Max(a, b) }
	for i, profile := range call.Observed {
		w, did := o.Would[i], session(t, profile)
		if did.Observed != nil {
			t.Errorf("%s observes", profile)
		}
		if w.Profile != profile || !near(float64(w.Input), float64(did.Input)) || !near(w.Cost, did.Cost) {
			t.Errorf("%s: would %+v, did %d tokens, %d read, for $%g", profile, w, did.Input, did.CacheRead, did.Cost)
		}
		if profile == "thrifty" && (w.Cuts == 0 || w.Input >= o.Input) {
			t.Errorf("nothing would be cut: %+v of %d", w, o.Input)
		}
	}
}
