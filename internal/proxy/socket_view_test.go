package proxy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// conversation returns the only conversation, when its calls are stored.
func (s *socketSetup) conversation() *oriel.Conversation {
	s.t.Helper()
	s.stored()
	all, err := s.engine.Conversations(s.t.Context())
	if err != nil || len(all) != 1 {
		s.t.Fatalf("%q, %v", all, err)
	}
	c, err := s.engine.Conversation(s.t.Context(), all[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// last returns the last body that the provider understood.
func (s *socketSetup) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.bodies[len(s.bodies)-1])
}

const harbour = "The harbour master of Tromsdalen wants port 8731."

// What was cut in a connection is recalled there, for the question that asks for it.
func TestSocketRecall(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial("X-Oriel-Budget", "6000")}
	a.say("user", "Please read the notes.")
	a.work(1, 30)
	a.fresh[0] = strings.Replace(a.fresh[0], "Result of", harbour+" Result of", 1)
	a.work(20, 900)
	if strings.Contains(s.last(), harbour) {
		t.Fatal("nothing was cut")
	}
	a.say("user", "Which port does the harbour master of Tromsdalen want? Then stop.")
	a.ask()
	if body := s.last(); !strings.Contains(body, "8731") {
		t.Errorf("%s", body[max(0, len(body)-2000):])
	}
}

// SPEC E5: the undo of a cut shows in the next call of the connection.
func TestSocketUndo(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial("X-Oriel-Budget", "6000")}
	a.say("user", "Please read the notes.")
	a.work(1, 30)
	a.fresh[0] = strings.Replace(a.fresh[0], "Result of", harbour+" Result of", 1)
	for !strings.Contains(s.kinds(), "truncation") {
		a.work(1, 900)
	}
	c := s.conversation()
	plans, err := c.Plans(t.Context(), 0)
	if err != nil || len(plans) == 0 {
		t.Fatal(plans, err)
	}
	for _, p := range plans {
		if err := c.Undo(t.Context(), p.Undo); err != nil {
			t.Logf("undo %s: %v", p.Undo, err)
		}
	}
	s.sent()
	a.ask()
	var f struct {
		Previous string `json:"previous_response_id"`
		Input    []json.RawMessage
	}
	frames := s.sent()
	if err := json.Unmarshal(frames[0], &f); err != nil || f.Previous != "" {
		t.Errorf("after an undo the provider is asked to continue %q", f.Previous)
	}
	if !strings.Contains(s.last(), harbour) {
		t.Errorf("the undone cut still holds: %d items", len(f.Input))
	}
}

// SPEC C3: what is pinned stays in view in a connection, whatever is cut there.
func TestSocketPins(t *testing.T) {
	for _, pinned := range []bool{false, true} {
		s := startSocket(t, proxy.Options{}, tools())
		a := &agent{client: s.dial("X-Oriel-Budget", "6000")}
		a.say("user", "Please read the notes.")
		a.work(1, 30)
		a.fresh[0] = strings.Replace(a.fresh[0], "Result of", harbour+" Result of", 1)
		a.work(1, 30)
		c := s.conversation()
		if pinned {
			if err := c.Pin(t.Context(), 4); err != nil { // behind the question, the thought and the call
				t.Fatal(err)
			}
		}
		a.work(12, 900)
		if !strings.Contains(s.kinds(), "truncation") {
			t.Fatal("nothing was cut")
		}
		if got := strings.Contains(s.last(), harbour); got != pinned {
			t.Errorf("pinned %t: in view %t", pinned, got)
		}
	}
}

// A compaction inside the connection sees what the provider takes, and what follows goes on in the
// same connection.
func TestSocketCompaction(t *testing.T) {
	answer := tools()
	s := startSocket(t, proxy.Options{}, func(r *fakemodel.Request) fakemodel.Answer {
		if strings.Contains(string(r.Data()), `"compaction_trigger"`) {
			return fakemodel.Answer{Compaction: "Y29tcGFjdGVk", Input: 1, Output: 1}
		}
		return answer(r)
	})
	a := &agent{client: s.dial("X-Oriel-Budget", "9000")}
	a.say("user", "Please read the notes. "+harbour)
	a.work(9, 900)
	a.fresh = append(a.fresh, `{"type":"compaction_trigger"}`)
	a.more = `,"client_metadata":{"x-codex-turn-metadata":"{\"request_kind\":\"compaction\"}"}`
	e := a.ask()
	if len(e.Response.Output) != 1 || !strings.Contains(string(e.Response.Output[0]), "compaction") {
		t.Fatalf("%s", e.raw)
	}
	if body := s.last(); !strings.Contains(body, harbour) || strings.Count(body, "function_call_output") < 9 {
		t.Errorf("the compaction saw %d bytes, %d results", len(body), strings.Count(body, "function_call_output"))
	}
	// As Codex does: a new history that begins with the compaction.
	a.items, a.fresh, a.previous, a.more = nil, nil, "", ""
	a.say("user", "Please read the notes. "+harbour)
	a.fresh = append(a.fresh, string(e.Response.Output[0]))
	a.say("user", "Go on.")
	a.work(3, 30)
	if n := len(s.sent()); n < 10 {
		t.Errorf("%d messages", n)
	}
}
