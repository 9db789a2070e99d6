package metrics_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/metrics"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/internal/report/quality"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// scrape returns the samples of the metrics by name and labels, and the text.
func scrape(t *testing.T, m *metrics.Metrics) (map[string]float64, string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/oriel/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	samples := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			samples[line[:i]] = v
		}
	}
	return samples, w.Body.String()
}

// expect compares samples.
func expect(t *testing.T, m *metrics.Metrics, want map[string]float64) {
	t.Helper()
	got, _ := scrape(t, m)
	for name, v := range want {
		if g, ok := got[name]; !ok || g != v {
			t.Errorf("%s is %v (there: %v), want %v", name, g, ok, v)
		}
	}
}

// SPEC D10
func TestQualityIsCounted(t *testing.T) {
	m := metrics.New("v1", nil)
	m.Quality(&quality.Measures{Calls: 1, Needed: 5, Missing: 3, Back: 1, Again: 4, Held: 1, Passages: 8, Used: 2,
		Text: 1000, Repeated: 10, Stale: 20})
	expect(t, m, map[string]float64{
		"oriel_measured_calls_total": 1, "oriel_needed_total": 5, "oriel_needed_missing_total": 2,
		"oriel_repeated_work_total": 3, "oriel_recalled_passages_total": 8,
		"oriel_recalled_passages_used_total": 2, "oriel_window_bytes_total": 1000,
		"oriel_window_repeated_bytes_total": 10, "oriel_window_stale_bytes_total": 20,
	})
}

func TestUnreadTokensAreCountedByReason(t *testing.T) {
	m := metrics.New("v1", nil)
	m.Cache(&misses.Call{Prompt: 1000, Read: 200, Could: 900, Miss: &misses.Miss{Reason: misses.Pause, Tokens: 700}})
	m.Cache(&misses.Call{Prompt: 1000, Read: 900, Could: 900})
	expect(t, m, map[string]float64{
		"oriel_cache_readable_tokens_total":                1800,
		`oriel_cache_unread_tokens_total{reason="pause"}`:  700,
		`oriel_cache_unread_tokens_total{reason="client"}`: 0,
	})
}

// SPEC B7
func TestEventsAreCounted(t *testing.T) {
	m := metrics.New("v1", nil)
	usage := &event.Usage{Input: 100, CacheRead: 800, CacheWrite: 60, Hour: 40, Output: 50}
	m.Event(oriel.Event{Kind: oriel.EventCall, Model: "claude-sonnet-4-5-20250929", TokensBefore: 5000,
		TokensAfter: 1100, Reported: 1000, Usage: usage})
	m.Event(oriel.Event{Kind: oriel.EventCall, Model: "claude-sonnet-4-5", Outcome: event.OutcomeFailed,
		Error: "the provider failed: EOF"})
	m.Event(oriel.Event{Kind: oriel.EventCall, Model: "claude-sonnet-4-5", Outcome: event.OutcomeLeft,
		Error: "the client left: context canceled"})
	m.Event(oriel.Event{Kind: oriel.EventCut, Action: "evict"})
	m.Event(oriel.Event{Kind: oriel.EventCondensation, Cost: 0.25})
	m.Event(oriel.Event{Kind: oriel.EventCondensation, Error: "no"})
	m.Event(oriel.Event{Kind: oriel.EventRecall, Recalled: 300})
	m.Event(oriel.Event{Kind: oriel.EventOverflow, Model: "gpt-4o"})
	m.Event(oriel.Event{Kind: oriel.EventResize})
	m.Event(oriel.Event{Kind: oriel.EventPin})
	m.Event(oriel.Event{Kind: oriel.EventUndo, Error: "no room"})
	m.Event(oriel.Event{Kind: oriel.EventOpen, Reason: event.OpenStore})
	m.Event(oriel.Event{Kind: oriel.EventBudget})
	m.Stage(call.Stage{Name: call.StagePlan, Took: 2 * time.Millisecond})
	expect(t, m, map[string]float64{
		`oriel_calls_total{model="claude-sonnet-4-5",result="ok"}`:                  1,
		`oriel_calls_total{model="claude-sonnet-4-5",result="failed"}`:              1,
		`oriel_calls_total{model="claude-sonnet-4-5",result="left"}`:                1,
		`oriel_prompt_tokens_before_total{model="claude-sonnet-4-5"}`:               5000,
		`oriel_prompt_tokens_after_total{model="claude-sonnet-4-5"}`:                1100,
		`oriel_provider_tokens_total{kind="input",model="claude-sonnet-4-5"}`:       100,
		`oriel_provider_tokens_total{kind="cache_read",model="claude-sonnet-4-5"}`:  800,
		`oriel_provider_tokens_total{kind="cache_write",model="claude-sonnet-4-5"}`: 100,
		`oriel_provider_tokens_total{kind="output",model="claude-sonnet-4-5"}`:      50,
		`oriel_calibration_error_ratio_bucket{le="0.1"}`:                            1,
		`oriel_calibration_error_ratio_bucket{le="0.05"}`:                           0,
		`oriel_cuts_total{action="evict"}`:                                          1,
		`oriel_cuts_total{action="mask"}`:                                           0,
		`oriel_condensations_total{result="ok"}`:                                    1,
		`oriel_condensations_total{result="failed"}`:                                1,
		`oriel_condensation_dollars_total`:                                          0.25,
		`oriel_recalls_total`:                                                       1,
		`oriel_recalled_tokens_total`:                                               300,
		`oriel_overflows_total{model="gpt-4o"}`:                                     1,
		`oriel_resizes_total`:                                                       1,
		`oriel_changes_total{kind="pin",result="ok"}`:                               1,
		`oriel_changes_total{kind="undo",result="no_room"}`:                         1,
		`oriel_fail_open_total{reason="store"}`:                                     1,
		`oriel_ignored_headers_total`:                                               1,
		`oriel_stage_seconds_bucket{stage="plan",le="0.0025"}`:                      1,
		`oriel_stage_seconds_bucket{stage="plan",le="0.001"}`:                       0,
	})
	got, _ := scrape(t, m)
	if cost := got[`oriel_cost_dollars_total{model="claude-sonnet-4-5"}`]; cost <= 0 {
		t.Errorf("the calls cost %v", cost)
	}
}

// Clients choose the names of models and conversations; the number of series must not grow with
// them.
func TestNamesOfStrangersMakeNoSeries(t *testing.T) {
	m := metrics.New("v1", nil)
	event := func(i int) {
		name := fmt.Sprintf("stranger-%d", i)
		for _, kind := range []string{oriel.EventCall, oriel.EventCut, oriel.EventOverflow, oriel.EventOpen,
			oriel.EventPin, oriel.EventRecall, name} {
			m.Event(oriel.Event{Kind: kind, Model: name, Conversation: name, Call: name, Plan: name, Action: name,
				Reason: name, Usage: &event.Usage{Input: 1, CacheRead: 1, CacheWrite: 1, Output: 1}})
		}
		m.Stage(call.Stage{Name: name})
	}
	event(0)
	once, _ := scrape(t, m)
	for i := range 1000 {
		event(i)
	}
	often, text := scrape(t, m)
	if len(often) != len(once) || strings.Contains(text, "stranger") {
		t.Errorf("%d series after one name, %d after a thousand", len(once), len(often))
	}
	if n := often[`oriel_calls_total{model="other",result="ok"}`]; n != 1001 {
		t.Errorf("%v calls of other models", n)
	}
}

func TestSourcesAreReadAtEveryScrape(t *testing.T) {
	m := metrics.New("v1", nil)
	calls, bad := 0, error(nil)
	m.Watch(metrics.Sources{
		Requests: func() proxy.Counters {
			calls++
			return proxy.Counters{Calls: int64(calls), EngineSlow: 3, BufferedBytes: 7,
				RefusedTokens: map[string]int64{"expired": 8}, RefusedSignIns: map[string]int64{"unknown": 9}}
		},
		Records:    func() *call.Counters { var c call.Counters; c.Written.Add(5); return &c },
		Health:     func() proxy.Health { return proxy.Health{DroppedEvents: 2} },
		Queue:      func() (int, int64) { return 4, 1000 },
		Spool:      func() (int, int64, int64) { return 6, 2000, 3 },
		StoreBytes: func() int64 { return 12345 },
		StoreError: func() error { return bad },
	})
	scrape(t, m)
	bad = errors.New("the disk is full")
	expect(t, m, map[string]float64{
		`oriel_requests_total{kind="call"}`: 2, `oriel_engine_failures_total{reason="slow"}`: 3,
		`oriel_buffered_bytes`:                   7,
		`oriel_records_total{outcome="written"}`: 5, `oriel_dropped_lines_total{kind="event"}`: 2,
		`oriel_queue_calls`: 4, `oriel_spool_lost_total`: 3, `oriel_queue_bytes`: 1000,
		`oriel_refused_tokens_total{kind="request",reason="expired"}`: 8,
		`oriel_refused_tokens_total{kind="sign_in",reason="unknown"}`: 9,
		`oriel_spool_calls`: 6, `oriel_spool_bytes`: 2000, `oriel_store_bytes`: 12345, `oriel_store_up`: 0,
	})
}

// Every metric has a help text, and its name ends with its unit as Prometheus recommends.
func TestMetricsHaveHelpAndUnits(t *testing.T) {
	_, text := scrape(t, all())
	kinds := regexp.MustCompile(`(?m)^# TYPE (oriel_\w+) (\w+)$`).FindAllStringSubmatch(text, -1)
	if len(kinds) < 30 {
		t.Fatalf("only %d metrics", len(kinds))
	}
	unit := regexp.MustCompile(`_(seconds|bytes|ratio|calls|info|up)$`)
	for _, k := range kinds {
		name, kind := k[1], k[2]
		if help := regexp.MustCompile(`(?m)^# HELP ` + name + ` (.+)$`).FindStringSubmatch(text); help == nil ||
			!strings.HasSuffix(help[1], ".") {
			t.Errorf("%s: the help is %q", name, help)
		}
		if counts := strings.HasSuffix(name, "_total"); counts != (kind == "counter") ||
			!counts && !unit.MatchString(name) {
			t.Errorf("%s is a %s", name, kind)
		}
	}
}

// all returns metrics with every series that there can be at the start.
func all() *metrics.Metrics {
	m := metrics.New("v1", nil)
	m.Watch(metrics.Sources{
		Requests: func() proxy.Counters { return proxy.Counters{RefusedTokens: map[string]int64{"unknown": 0}} },
		Records:  func() *call.Counters { return new(call.Counters) },
		Health:   func() proxy.Health { return proxy.Health{} },
		Queue:    func() (int, int64) { return 0, 0 }, Spool: func() (int, int64, int64) { return 0, 0, 0 },
		StoreBytes: func() int64 { return 0 }, StoreError: func() error { return nil },
	})
	m.Event(oriel.Event{Kind: oriel.EventCall, Model: "gpt-4o", TokensBefore: 1, TokensAfter: 1, Reported: 1,
		Usage: &event.Usage{Input: 1, CacheRead: 1, CacheWrite: 1, Output: 1}})
	m.Event(oriel.Event{Kind: oriel.EventOverflow})
	m.Event(oriel.Event{Kind: oriel.EventPin})
	return m
}

// A call that is cut, one that the provider refuses as too large, and a streamed one are
// in the metrics when they have ended.
func TestCallsOfAProxyAreCounted(t *testing.T) {
	model := &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		if len(r.Data()) > 60_000 {
			return fakemodel.Answer{Status: http.StatusBadRequest,
				Error: "prompt is too long: 30000 tokens > 12000 maximum"}
		}
		return fakemodel.Answer{Text: "Well.", Input: 2000, Output: 5}
	}}
	provider := httptest.NewServer(model)
	defer provider.Close()
	m := metrics.New("v1", nil)
	engine, err := oriel.Open(call.With(t.Context(),
		call.Inside{Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute}, Stages: m.Stage}),
		oriel.Config{NoEmbed: true, Events: m.Event})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	server, err := proxy.New(proxy.Options{Anthropic: provider.URL, Engine: engine, ReplyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	m.Watch(metrics.Sources{Requests: server.Counters, Records: call.Of(engine).Counters,
		Queue: call.Of(engine).Backlog, StoreError: call.Of(engine).Err})
	door := httptest.NewServer(server)
	defer door.Close()
	long := strings.Repeat("word ", 3000)
	history := `{"role":"user","content":"Begin."}`
	send := func(stream bool) {
		body := fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":100,"stream":%v,"messages":[%s]}`, stream,
			history)
		res, err := http.Post(door.URL+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res.Status, err)
		}
		history += `,{"role":"assistant","content":"Well."},{"role":"user","content":"` + long + `"}`
	}
	for i := range 8 {
		send(i%2 == 1)
		for ctx, c := t.Context(), call.Of(engine).Counters(); c.Written.Load() <= int64(i); {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				t.Fatal(ctx.Err())
			}
		}
	}
	got, _ := scrape(t, m)
	for name, least := range map[string]float64{
		`oriel_calls_total{model="claude-sonnet-4-5",result="ok"}`: 8, `oriel_requests_total{kind="call"}`: 8,
		`oriel_records_total{outcome="written"}`:           8,
		`oriel_overflows_total{model="claude-sonnet-4-5"}`: 1, `oriel_stage_seconds_count{stage="again"}`: 1,
		`oriel_stage_seconds_count{stage="begin"}`: 8,
		`oriel_stage_seconds_count{stage="read"}`:  8, `oriel_stage_seconds_count{stage="find"}`: 8,
		`oriel_stage_seconds_count{stage="plan"}`:  9,
		`oriel_stage_seconds_count{stage="reply"}`: 8, `oriel_stage_seconds_count{stage="store"}`: 8,
		`oriel_provider_tokens_total{kind="output",model="claude-sonnet-4-5"}`: 40, `oriel_store_up`: 1,
	} {
		if got[name] < least {
			t.Errorf("%s is %v, want at least %v", name, got[name], least)
		}
	}
	cuts := 0.0
	for name, v := range got {
		if strings.HasPrefix(name, "oriel_cuts_total") {
			cuts += v
		}
	}
	if before, after := got[`oriel_prompt_tokens_before_total{model="claude-sonnet-4-5"}`],
		got[`oriel_prompt_tokens_after_total{model="claude-sonnet-4-5"}`]; cuts == 0 || after == 0 || after >= before {
		t.Errorf("%v cuts, %v tokens before and %v after", cuts, before, after)
	}
	if n := got[`oriel_cuts_total{action="other"}`]; n > 0 {
		t.Errorf("%v cuts without an action", n)
	}
}

// What the metrics of one call cost: its event and its stages.
func BenchmarkCall(b *testing.B) {
	m := metrics.New("v1", nil)
	e := oriel.Event{Kind: oriel.EventCall, Model: "claude-sonnet-4-5", TokensBefore: 5000, TokensAfter: 1100,
		Reported: 1000, Usage: &event.Usage{Input: 100, CacheRead: 800, CacheWrite: 60, Output: 50}}
	stages := []string{call.StageBegin, call.StageRead, call.StageFind, call.StagePlan, call.StageReply,
		call.StageStore}
	b.ReportAllocs()
	for b.Loop() {
		m.Event(e)
		for _, s := range stages {
			m.Stage(call.Stage{Name: s, Took: time.Millisecond})
		}
	}
}

// What a scrape costs.
func BenchmarkScrape(b *testing.B) {
	h := all().Handler()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/oriel/metrics", nil))
	}
}

// docs/reference/metrics.md names every metric, and no other.
func TestEveryMetricIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile("`(oriel_\\w+)`").FindAllStringSubmatch(string(doc), -1) {
		named[name[1]] = true
	}
	_, text := scrape(t, all())
	for _, k := range regexp.MustCompile(`(?m)^# TYPE (oriel_\w+) `).FindAllStringSubmatch(text, -1) {
		if !named[k[1]] {
			t.Errorf("%s is not documented", k[1])
		}
		delete(named, k[1])
	}
	for name := range named {
		t.Errorf("%s does not exist", name)
	}
}
