package proxy_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// Several calls in one connection: each continues the last one by what is new, and goes to the
// provider byte for byte, as long as the history fits.
func TestSocketCallsThatFitGoAsTheyCame(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial()}
	if h := a.res.Header; h.Get("Sec-Websocket-Extensions") != "" {
		t.Errorf("compression is negotiated: %v", h)
	}
	a.say("user", "Please fix the tests.")
	var want []string
	for range 4 {
		want = append(want, a.frame())
		a.work(1, 30)
	}
	a.say("user", "Now stop.")
	want = append(want, a.frame())
	if e := a.ask(); !strings.Contains(string(e.raw), "Done.") {
		t.Errorf("%s", e.raw)
	}
	got := s.sent()
	for i := range want {
		if i >= len(got) || string(got[i]) != want[i] {
			t.Fatalf("message %d of %d:\n%s\nwant\n%s", i, len(got), got[i], want[i])
		}
	}
	a.conn.Close(websocket.StatusNormalClosure, "")
	s.end()
	conversations, err := s.engine.Conversations(t.Context())
	if err != nil || len(conversations) != 1 {
		t.Fatal(conversations, err)
	}
	c, err := s.engine.Conversation(t.Context(), conversations[0])
	if err != nil {
		t.Fatal(err)
	}
	// A question, four calls with their results, another question and the answer.
	if items, err := c.Items(t.Context(), 0); err != nil || len(items) < 10 {
		t.Errorf("%d items, %v", len(items), err)
	}
	if n := s.server.Counters(); n.Calls != 5 || n.Answered != 5 {
		t.Errorf("%+v", n)
	}
	if u := s.server.Unread(""); len(u) != 0 {
		t.Errorf("%+v", u)
	}
}

// Over the budget a call is sent whole and cut, without the response that it continues; the calls
// after it continue the new chain.
func TestSocketCallsOverTheBudgetBeginANewChain(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial("X-Oriel-Budget", "6000")}
	a.say("user", "Please fix the tests.")
	a.work(30, 900)
	chained, whole, largest := 0, 0, 0
	for i, frame := range s.sent() {
		var f struct {
			Type, Model string
			Previous    string `json:"previous_response_id"`
			Input       []json.RawMessage
			Store       *bool
		}
		if err := json.Unmarshal(frame, &f); err != nil || f.Type != "response.create" || f.Model != "gpt-5" ||
			f.Store == nil {
			t.Fatalf("%d: %v %s", i, err, frame)
		}
		if f.Previous != "" {
			chained++
			if len(f.Input) != 1 {
				t.Errorf("%d: %d items behind a response", i, len(f.Input))
			}
		} else if i > 0 {
			whole++
		}
	}
	s.mu.Lock()
	for _, body := range s.bodies {
		largest = max(largest, len(body))
	}
	s.mu.Unlock()
	if whole == 0 || chained < 2*whole {
		t.Errorf("%d whole and %d chained", whole, chained)
	}
	if largest > 6000*5 {
		t.Errorf("the provider had up to %d bytes", largest)
	}
	s.end()
	if !strings.Contains(s.kinds(), "truncation") {
		t.Error(s.kinds())
	}
}

// A refusal inside the connection is answered by a smaller message; the client does not see it.
func TestSocketRefusalsAreSentAgainSmaller(t *testing.T) {
	answer := tools()
	refused := 0
	s := startSocket(t, proxy.Options{}, func(r *fakemodel.Request) fakemodel.Answer {
		if n := len(r.Data()) / 4; n > 12000 {
			refused++
			return fakemodel.Answer{Status: 400,
				Error: "Your input exceeds the context window of this model. Please adjust your input and try again."}
		}
		return answer(r)
	})
	a := &agent{client: s.dial()}
	a.say("user", "Please fix the tests.")
	a.work(40, 900)
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// What is not understood is relayed untouched, and named; what it may have changed is not
// assumed.
func TestSocketMessagesThatAreNotReadGoAsTheyCame(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial("X-Oriel-Budget", "6000")}
	a.say("user", "Please fix the tests.")
	a.work(2, 30)
	s.sent()
	for _, frame := range []string{`{"type": "response.steer","input":"x"}`, `{"type":"response.create","type":"y"}`,
		`no json`} {
		a.send(frame)
		if e := a.read(); e.Type != "error" {
			t.Errorf("%s", e.raw)
		}
		if got := s.sent(); len(got) != 1 || string(got[0]) != frame {
			t.Errorf("%q", got)
		}
	}
	// The provider still has the response, but this proxy does not know what else it has: the
	// frame goes out as it came.
	want := a.frame()
	a.work(1, 30)
	if got := s.sent(); string(got[0]) != want {
		t.Errorf("%s", got)
	}
	u := s.server.Unread("")
	if len(u) != 2 || u[0].Client != "codex_exec/0.169.0" || u[0].Path != "/v1/responses" ||
		!strings.Contains(u[0].Why+u[1].Why, "response.steer") {
		t.Errorf("%+v", u)
	}
}

// A provider that has no WebSocket answers the client, which uses HTTP then.
func TestSocketRefusedByTheProvider(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	s.model.NoSockets = true
	c, err := s.tryDial()
	if err == nil || c.res == nil || c.res.StatusCode != http.StatusUpgradeRequired {
		t.Fatalf("%+v, %v", c.res, err)
	}
}

// The setting that answers as if there were no WebSocket.
func TestSocketsCanBeSwitchedOff(t *testing.T) {
	s := startSocket(t, proxy.Options{NoSockets: true}, tools())
	c, err := s.tryDial()
	if err == nil || c.res == nil || c.res.StatusCode != http.StatusUpgradeRequired {
		t.Fatalf("%+v, %v", c.res, err)
	}
}
