package call_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Two engines on one database have the calls of a conversation in turn, each as soon as the
// last one has ended: there is one conversation and, until more has to leave, one plan.
func TestEnginesOnOneDatabaseUseOnePlan(t *testing.T) {
	url := pgtest.URL(t)
	var engines []*oriel.Engine
	for range 2 {
		store, err := postgres.Open(ctx, url, postgres.Options{})
		must(err)
		t.Cleanup(func() { must(store.Close()) })
		e, err := oriel.Open(call.With(ctx,
			call.Inside{Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute,
				Shared: time.Minute}}), oriel.Config{Store: store, Shared: true, NoEmbed: true})
		must(err)
		t.Cleanup(func() { must(e.Close()) })
		engines = append(engines, e)
	}
	list := branched(2, "")
	conversation, plan := "", ""
	for i := range 6 {
		c := call.Of(engines[i%2]).Begin(ctx, &call.Request{ID: fmt.Sprint("call", i), Tenant: timeline.Local,
			Profile: "thrifty", Format: wire.Chat, Path: "/v1/chat/completions",
			Header: http.Header{"X-Oriel-Budget": {"3000"}}, Body: fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`,
				jsonOf(list))})
		c.Response(200, http.Header{"Content-Type": {"application/json"}})
		h := http.Header{}
		c.Header(h)
		c.Write([]byte(`{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`))
		c.End(nil)
		if i == 0 {
			conversation, plan = h.Get("X-Oriel-Conversation"), h.Get("X-Oriel-Plan")
		}
		if got := h.Get("X-Oriel-Conversation"); got != conversation {
			t.Errorf("call %d is in %s, the first one in %s", i, got, conversation)
		}
		if got := h.Get("X-Oriel-Plan"); plan == "" || got != plan {
			t.Errorf("call %d has plan %q, the first one %q", i, got, plan)
		}
		list = append(list, json.RawMessage(`{"role":"assistant","content":"Noted."}`),
			json.RawMessage(fmt.Sprintf(`{"role":"user","content":"and %d"}`, i)))
	}
}

// sharedPlace keeps what was learnt in a database.
type sharedPlace struct{ timeline.Documents }

func (sharedPlace) String() string  { return "a database" }
func (p sharedPlace) Stamp() string { return fmt.Sprint(p.DocumentsChanged()) }
func (p sharedPlace) Read() ([]byte, error) {
	return p.Document(ctx, "learnt")
}

func (p sharedPlace) Replace(was, data []byte) (bool, error) {
	return p.ReplaceDocument(ctx, "learnt", was, data)
}

// A call makes few round trips to a database, also if another server had the conversation
// last: at most 6, also with a new plan. Two more store what a call has taught.
func TestCallMakesFewRoundTrips(t *testing.T) {
	base := pgtest.URL(t)
	var engines []*call.Engine
	var trips []*pgtest.Trips
	for range 2 {
		url, counted := pgtest.CountTrips(t, base)
		store, err := postgres.Open(ctx, url, postgres.Options{})
		must(err)
		t.Cleanup(func() { must(store.Close()) })
		learnt, err := token.OpenLearntAt(sharedPlace{store})
		must(err)
		learnt.Hold()
		waits := call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute, Shared: time.Minute}
		e := call.NewForTest(call.TestOptions{Parts: call.Parts{Store: store, Shared: true, Waits: waits,
			Limits: learnt.Limits, Calibration: learnt.Calibration, Learnt: learnt.Save, Refresh: learnt.Refresh,
			Reread: learnt.Reread}})
		t.Cleanup(func() { must(e.Close(ctx)) })
		engines, trips = append(engines, e), append(trips, counted)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for i, e := range append(engines, engines...) { // the tenant, and what is learnt
		first := &member{model: "gpt-4o", factor: 1,
			list: []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"role":"user","content":"Begin %d."}`, i))}}
		first.call(e, fmt.Sprint("first", i))
	}
	for _, name := range []string{"", "named"} {
		talk := &member{name: name, profile: "thrifty", budget: "3000", model: "gpt-4o", factor: 1}
		plan, planned, most := "", 0, [2]int{}
		for i := range 24 {
			e := i / 2 % 2 // each has two calls in turn
			talk.list = append(talk.list,
				json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`,
					fmt.Sprint("Question ", i, ": ", randomWords(random, 400)))))
			trips[e].Take()
			_, h := talk.call(engines[e], fmt.Sprint("call-", name, i))
			// A statement is prepared once on each connection, and one that was idle is tried.
			// Nobody waits for a notification alone.
			made := slices.DeleteFunc(trips[e].Take(), func(trip string) bool {
				return strings.HasPrefix(trip, "prepare ") || trip == "-- ping" ||
					strings.HasPrefix(trip, "SELECT pg_notify")
			})
			kind := 0
			if next := h.Get("X-Oriel-Plan"); next != plan {
				plan, kind = next, 1
				planned++
			}
			most[kind] = max(most[kind], len(made))
			limit := 6
			if strings.Contains(strings.Join(made, " "), "UPDATE document") {
				limit += 2 // it taught something
			}
			if len(made) > limit {
				t.Errorf("%q, call %d, plan %q: %d round trips, not %d\n\t%s", name, i, plan, len(made), limit,
					strings.Join(made, "\n\t"))
			}
			talk.list = append(talk.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
		}
		if planned < 4 {
			t.Errorf("%q: only %d plans were made", name, planned)
		}
		t.Logf("%q: at most %d round trips, %d with a new plan", name, most[0], most[1])
	}
}
