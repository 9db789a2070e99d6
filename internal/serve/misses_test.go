package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/metrics"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// counted counts how many records of calls are read.
type counted struct {
	timeline.Store
	records int
}

func (c *counted) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	all, err := c.Store.Records(ctx, tenant, conversation, kind, key)
	c.records += len(all)
	return all, err
}

// metering is a history whose calls a meter meets as they end.
type metering struct {
	t       *testing.T
	store   *counted
	metrics *metrics.Metrics
	meter   *missMeter
	now     time.Time
	n       int
}

func newMetering(t *testing.T) *metering {
	m := &metering{t: t, store: &counted{Store: memory.New()}, metrics: metrics.New("v1", nil),
		now: time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)}
	t.Cleanup(func() { m.store.Close() })
	meter, stop := startMisses(m.store, m.metrics)
	stop() // the test looks at calls itself
	m.meter = meter
	return m
}

// call records a call and returns how many records the meter read for it.
func (m *metering) call(conversation, model string, after time.Duration, u event.Usage) int {
	m.t.Helper()
	m.n++
	m.now = m.now.Add(after)
	id := fmt.Sprint(m.n)
	r := timeline.Record{Kind: "call", Key: id, Time: m.now, Data: fmt.Appendf(nil,
		`{"v":1,"began":%q,"model":%q,"tokens":%d,"usage":{"input":%d,"cache_read":%d,"cache_write":%d,"output":9}}`,
		m.now.Format(time.RFC3339), model, u.Input+u.CacheRead+u.CacheWrite, u.Input, u.CacheRead, u.CacheWrite)}
	if _, err := m.store.Apply(m.t.Context(), timeline.Local, timeline.Change{Conversation: conversation, Stay: true,
		Put: []timeline.Record{r}, Now: m.now}); err != nil {
		m.t.Fatal(err)
	}
	before := m.store.records
	m.meter.look(m.t.Context(), &oriel.Event{Kind: oriel.EventCall, Call: id, Conversation: conversation, Model: model,
		Usage: &u})
	return m.store.records - before
}

// expect compares what was counted with the report of the same history.
func (m *metering) expect(reason misses.Reason, tokens int) {
	m.t.Helper()
	r, err := misses.Read(m.t.Context(), m.store, timeline.Local, misses.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	page := httptest.NewRecorder()
	m.metrics.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/", nil))
	for _, s := range r.Reasons {
		want := 0
		if s.Reason == reason {
			want = tokens
		}
		line := fmt.Sprintf("oriel_cache_unread_tokens_total{reason=%q} %d\n", s.Reason, want)
		if s.Tokens != want || !strings.Contains(page.Body.String(), line) {
			m.t.Errorf("%s: the report has %d of %d; counted: %s", s.Reason, s.Tokens, want, page.Body)
		}
	}
}

// provider answers every call with the usage that the test says.
type provider struct{ usage string }

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	answer := `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Yes."}],` +
		`"stop_reason":"end_turn","usage":` + p.usage + `}`
	return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// What a call missed is counted as in the report, also if a smaller one came between, such as one that
// went back to the beginning.
func TestMissesAreCountedAsReported(t *testing.T) {
	m, p := newMetering(t), &provider{}
	var met []oriel.Event
	engine, err := oriel.Open(t.Context(), oriel.Config{Store: m.store, NoEmbed: true,
		Now: func() time.Time { return m.now }, Events: func(e oriel.Event) {
			if e.Kind == oriel.EventCall {
				met = append(met, e)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: engine.Transport(p)}
	said := `{"role":"assistant","content":[{"type":"text","text":"Yes."}]}`
	begin := `{"role":"user","content":"` + strings.Repeat("Sound it. ", 500) + `"},` + said + ","
	work := begin + `{"role":"user","content":"` + strings.Repeat("Chart the harbour. ", 2000) + `"}`
	for _, c := range []struct {
		after         time.Duration
		history       string
		read, written int
	}{
		{0, work, 0, 9500},
		{time.Minute, work + "," + said + `,{"role":"user","content":"Go on."}`, 9500, 20},
		{time.Minute, begin + `{"role":"user","content":"Another way."}`, 1500, 10},
		{2 * time.Hour, work + "," + said + `,{"role":"user","content":"Go on."},` + said +
			`,{"role":"user","content":"And then?"}`, 1500, 8040},
	} {
		m.now = m.now.Add(c.after)
		p.usage = fmt.Sprintf(`{"input_tokens":5,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":2}`,
			c.read, c.written)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.anthropic.com/v1/messages",
			strings.NewReader(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[`+c.history+`]}`))
		r.Header.Set("X-Oriel-Conversation", "c")
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err := call.Of(engine).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := engine.Close(); err != nil || len(met) != 4 {
		t.Fatalf("%d calls, %v", len(met), err)
	}
	for i := range met {
		m.meter.look(t.Context(), &met[i])
	}
	r, err := misses.Read(t.Context(), m.store, timeline.Local, misses.Options{})
	if err != nil || r.Unread < 6000 {
		t.Fatalf("%+v, %v", r, err)
	}
	m.expect(misses.Pause, r.Unread)
}

// Local models report nothing of a cache: that is no miss.
func TestWhatReportsNoCacheMissesNothing(t *testing.T) {
	m := newMetering(t)
	for i := range 10 {
		m.call("c", "my-own-model", time.Minute, event.Usage{Input: 1000 * (i + 1)})
	}
	m.expect("", 0)
}

// SPEC D8
func TestAMissCostsTheSameHoweverLongItsConversationIs(t *testing.T) {
	m := newMetering(t)
	most := 0
	for i := range 400 {
		read, before := m.call("c", "claude-sonnet-4-5", time.Hour, event.Usage{CacheWrite: 20_000 + i}), most
		if most = max(most, read); i > 50 && most > before {
			t.Fatalf("call %d read %d records, those before at most %d", i, read, before)
		}
	}
}
