package call_test

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
)

const condenseKey = "sk-summaries-51c2"

// summariser is a server that writes summaries.
func summariser(t *testing.T, answer http.Handler) *condense.Model {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+condenseKey {
			t.Errorf("header %v", r.Header)
		}
		answer.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	e, err := condense.NewEndpoint(s.URL, "gpt-4o-mini", condenseKey)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &condense.Model{Call: e.Call, Prices: token.Prices{Rates: token.Rates{Input: 1, Output: 2}}}
}

func condensing(m *condense.Model, inline bool, wait time.Duration) func(*call.TestOptions) {
	return func(o *call.TestOptions) {
		o.Profile = "thrifty"
		o.Condense = &call.CondenseOptions{Condenser: m, Inline: inline, Wait: wait, Max: 300}
	}
}

const summaryText = "The user tells where harbours lie. Every one lies east of a pier whose number is seven times its own."

// saying is a model that writes that summary, and keeps what it was asked.
type saying struct {
	mu    sync.Mutex
	asked []string
}

func (s *saying) handler() http.Handler {
	return &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, string(r.Data()))
		return fakemodel.Answer{Text: summaryText, Input: 1000, Output: 100}
	}}
}

// await waits for so many events of a kind.
func (k *talker) await(kind string, n int) []oriel.Event {
	k.t.Helper()
	late := time.After(time.Minute)
	for {
		if e := k.told(kind); len(e) >= n {
			return e
		}
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			k.t.Fatalf("no %s, only %+v", kind, k.events)
		}
	}
}

// PROXY 14: a model's summary names the recall tool to a request that has it, as the digest
// before it does, and to no other.
func TestSummariesNameTheRecallToolOnlyIfTheRequestHasIt(t *testing.T) {
	var model saying
	k := newTalker(start(t, openStore(t, t.TempDir()), replying, condensing(summariser(t, model.handler()), false, 0)),
		"X-Oriel-Budget", "5000")
	const tools, named = `,"tools":[{"type":"function","function":{"name":"mcp__oriel__recall","parameters":{"type":"object"}}}]`, " earlier messages; look them up with mcp__oriel__recall]"
	k.more = tools
	for n, kind := range []string{"digest", "summary"} {
		k.untilCut()
		if !bytes.Contains(k.last, []byte("[Oriel "+kind+" of ")) || bytes.Count(k.last, []byte(named)) != 1 {
			t.Fatalf("a %s: %s", kind, k.last)
		}
		k.await(oriel.EventCondensation, n+1)
	}
	k.more = ""
	if k.say(); !bytes.Contains(k.last, []byte("[Oriel summary of ")) ||
		bytes.Contains(k.last, []byte("mcp__oriel__recall")) {
		t.Errorf("without the tool: %s", k.last)
	}
	k.more = tools
	if k.say(); bytes.Count(k.last, []byte(named)) != 1 {
		t.Errorf("with the tool again: %s", k.last)
	}
}

// SPEC B3, B5: a call never waits; the digest goes first, the summary takes its place at
// the next cut and never between two; what it cost is reported.
func TestSummariesAreWrittenBehindTheScenes(t *testing.T) {
	dir := t.TempDir()
	var model saying
	k := newTalker(start(t, openStore(t, dir), replying, condensing(summariser(t, model.handler()), false, 0)),
		"X-Oriel-Budget", "5000")
	k.untilCut()
	if !bytes.Contains(k.last, []byte("[Oriel digest of ")) || bytes.Contains(k.last, []byte(summaryText)) {
		t.Fatalf("the first cut: %s", k.last)
	}
	e := k.await(oriel.EventCondensation, 1)[0]
	if e.Cost != (1000*1+100*2)/1e6 || e.Conversation != "talk" || e.Plan == "" || e.Items == 0 ||
		e.TokensBefore <= e.TokensAfter || e.TokensAfter == 0 || e.Error != "" {
		t.Errorf("event %+v", e)
	}
	before := k.last
	if action := k.say().Header.Get("X-Oriel-Action"); action != "digest" {
		t.Errorf("action %s before the model's summary is in view", action)
	}
	if end := bytes.LastIndex(before, []byte(`}]`)); !bytes.HasPrefix(k.last, before[:end]) {
		t.Error("a summary changed the view between two cuts")
	}
	k.untilCut()
	if !bytes.Contains(k.last, []byte(summaryText)) ||
		bytes.Count(k.last, []byte("[Oriel digest of "))+bytes.Count(k.last, []byte("[Oriel summary of ")) != 1 {
		t.Errorf("the second cut: %s", k.last)
	}
	// The next one goes on from the first.
	k.await(oriel.EventCondensation, 2)
	model.mu.Lock()
	asked := slices.Clone(model.asked)
	model.mu.Unlock()
	if len(asked) != 2 || !strings.Contains(asked[1], "earlier_summary") || strings.Contains(asked[1], words(2)) {
		t.Errorf("asked %q", asked)
	}
	records, err := k.store.Records(ctx, timeline.Local, "talk", "plan", "")
	if err != nil || len(records) != 2 || !strings.Contains(string(records[1].Data), `"cost":0.0012`) ||
		!strings.Contains(string(records[1].Data), `"reused":0.0012`) {
		t.Errorf("%d plans, %v", len(records), err)
	}
	if action := k.say().Header.Get("X-Oriel-Action"); action != "condense" {
		t.Errorf("action %s with the model's summary in view", action)
	}

	// A new process has it, too.
	again := newTalker(start(t, openStore(t, dir), replying, thrifty), "X-Oriel-Budget", "5000")
	again.list, again.said = k.list, k.said
	again.untilCut()
	if !bytes.Contains(again.last, []byte(summaryText)) {
		t.Errorf("after a restart: %s", again.last)
	}
	if p := append(k.model.Problems(), again.model.Problems()...); len(p) > 0 {
		t.Error(p)
	}
}

// Inline, the call that cuts has the summary.
func TestSummariesInline(t *testing.T) {
	var model saying
	k := newTalker(start(t, openStore(t, t.TempDir()), replying,
		condensing(summariser(t, model.handler()), true, time.Minute)), "X-Oriel-Budget", "5000")
	k.untilCut()
	if !bytes.Contains(k.last, []byte(summaryText)) || bytes.Contains(k.last, []byte("[Oriel digest")) {
		t.Errorf("the cut: %s", k.last)
	}
	if e := k.told(oriel.EventCondensation); len(e) != 1 || e[0].Cost != 0.0012 || e[0].Error != "" ||
		e[0].TokensAfter == 0 || e[0].TokensAfter > 300 || e[0].TokensBefore < 2000 ||
		e[0].TokensBefore >= k.told(oriel.EventCut)[0].TokensBefore {
		t.Errorf("events %+v", e)
	}
}

// SPEC B7: an event tells of a condensation exactly where the model was asked, whatever the
// budget leaves room for.
func TestCondensationsAreThoseThatWereAsked(t *testing.T) {
	asked := 0
	for _, budget := range []string{"90", "200", "500", "1200", "3000", "5000"} {
		var model saying
		k := newTalker(start(t, openStore(t, t.TempDir()), replying,
			condensing(summariser(t, model.handler()), true, time.Minute)), "X-Oriel-Budget", budget)
		for range 20 {
			k.say()
		}
		asked += len(model.asked)
		events := k.told(oriel.EventCondensation)
		if len(events) != len(model.asked) {
			t.Errorf("a budget of %s: %d requests to the model, %d events: %+v", budget, len(model.asked), len(events),
				events)
		}
		for _, e := range events {
			if e.Cost == 0 || e.TokensBefore == 0 || (e.Error == "") != (e.TokensAfter > 0) {
				t.Errorf("a budget of %s: %+v", budget, e)
			}
		}
	}
	if asked == 0 {
		t.Error("the model was never asked")
	}
}

// What summaries cost is the same in events and in usage, whatever plans follow the one that
// paid for them.
func TestUsageHasTheCostOfSummariesInline(t *testing.T) {
	asked := 0
	model := &fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
		asked++
		return fakemodel.Answer{Text: summaryText, Input: 1000 * asked, Output: 100}
	}}
	k := newTalker(start(t, openStore(t, t.TempDir()), replying, condensing(summariser(t, model), true, time.Minute)),
		"X-Oriel-Budget", "5000")
	for range 3 {
		k.untilCut()
	}
	want := 0.0
	for _, e := range k.told(oriel.EventCondensation) {
		want += e.Cost
	}
	r, err := usage.Read(ctx, k.store, timeline.Local, usage.Options{})
	if err != nil || asked < 3 || math.Abs(r.Total.Summaries-want) > 1e-9 || want < 0.006 {
		t.Errorf("%d summaries cost %v, in usage %v, %v", asked, want, r.Total.Summaries, err)
	}
}

// A model that fails, hangs, or writes nonsense: the digest stays, an event says why, no
// call fails, and the key is in none of it.
func TestSummariesThatFail(t *testing.T) {
	fake := func(a fakemodel.Answer) http.Handler {
		return &fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer { return a }}
	}
	for name, c := range map[string]struct {
		answer http.Handler
		wait   time.Duration
		why    string
	}{
		"refused": {fake(fakemodel.Answer{Status: 500, Error: "no key like " + condenseKey}), 0,
			"status 500: no key like [not kept] (3 tries)"},
		"hangs": {http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // else the server does not see that the client has left
			<-r.Context().Done()
		}), 20 * time.Millisecond, "deadline"},
		"page": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>hello")) }),
			0, "no reply"},
		"redirect": {http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect), 0, "status 307"},
		"empty":    {fake(fakemodel.Answer{Text: " ", Input: 1000, Output: 10}), 0, "empty"},
		"declines": {fake(fakemodel.Answer{Text: "I'm sorry, but I can't help with that.", Input: 1000, Output: 10}), 0,
			"refused"},
		"nested": {fake(fakemodel.Answer{Text: "So: [Oriel summary of 3 earlier messages]\nand so on", Input: 1000,
			Output: 10}), 0, "another summary"},
		"too long": {fake(fakemodel.Answer{Text: strings.Repeat("word", 20000), Input: 1000, Output: 10}), 0, "limit"},
	} {
		for _, inline := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "/behind", true: "/inline"}[inline], func(t *testing.T) {
				wait := c.wait
				if wait == 0 {
					wait = time.Minute
				}
				k := newTalker(start(t, memory.New(), replying, condensing(summariser(t, c.answer), inline, wait)),
					"X-Oriel-Budget", "2000")
				k.untilCut()
				e := k.await(oriel.EventCondensation, 1)[0]
				if !strings.Contains(e.Error, c.why) || strings.Contains(e.Error, condenseKey) {
					t.Errorf("event %+v", e)
				}
				if charged := name == "empty" || name == "declines" || name == "nested" ||
					name == "too long"; charged != (e.Cost > 0) {
					t.Errorf("cost %v", e.Cost)
				}
				k.untilCut()
				if !bytes.Contains(k.last, []byte("[Oriel digest of ")) {
					t.Errorf("no digest: %s", k.last)
				}
				if p := k.model.Problems(); len(p) > 0 {
					t.Error(p)
				}
			})
		}
	}
}
