package call_test

import (
	"errors"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

func TestCallsRunFromBeginToEnd(t *testing.T) {
	e, err := oriel.Open(t.Context(), oriel.Config{Store: memory.New(), NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ask := func(id, body string) *call.Call {
		return call.Of(e).Begin(t.Context(), &call.Request{ID: id, Tenant: "ann", Format: wire.Chat,
			Body: []byte(body)})
	}
	first := ask("one", `{"model":"gpt-4o","messages":[{"role":"user","content":"Which port?"}]}`)
	second := ask("two", `{"model":"gpt-4o","messages":[{"role":"user","content":"Which host?"}]}`)
	ask("broken", `{`).End(nil)
	running := call.Of(e).Running("ann")
	if len(running) != 2 || len(call.Of(e).Running("ben")) != 0 {
		t.Fatalf("%+v run, of ben %+v", running, call.Of(e).Running("ben"))
	}
	for _, c := range running {
		if c.ID != "one" && c.ID != "two" || c.Model != "gpt-4o" || c.Conversation == "" || c.TokensBefore == 0 ||
			c.TokensAfter != c.TokensBefore || c.Began.IsZero() {
			t.Errorf("a call that runs is %+v", c)
		}
	}
	first.End(errors.New("the client left"))
	if running = call.Of(e).Running("ann"); len(running) != 1 || running[0].ID != "two" {
		t.Errorf("%+v run after the end of the first", running)
	}
	second.End(nil)
	if running = call.Of(e).Running("ann"); len(running) != 0 {
		t.Errorf("%+v run after the end of all", running)
	}
}
