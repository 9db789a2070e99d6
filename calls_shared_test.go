package oriel_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
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
		e, err := oriel.Open(ctx, oriel.Config{Store: store, Shared: true, NoEmbed: true,
			Waits: oriel.Waits{Store: time.Minute, Number: time.Minute, Brief: time.Minute, Shared: time.Minute}})
		must(err)
		t.Cleanup(func() { must(e.Close()) })
		engines = append(engines, e)
	}
	list := branched(2, "")
	conversation, plan := "", ""
	for i := range 6 {
		c := engines[i%2].Begin(ctx, &oriel.Request{ID: fmt.Sprint("call", i), Tenant: timeline.Local, Profile: "thrifty", Format: wire.Chat, Path: "/v1/chat/completions",
			Header: http.Header{"X-Oriel-Budget": {"3000"}}, Body: fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`, jsonOf(list))})
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
		list = append(list, json.RawMessage(`{"role":"assistant","content":"Noted."}`), json.RawMessage(fmt.Sprintf(`{"role":"user","content":"and %d"}`, i)))
	}
}
