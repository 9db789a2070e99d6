package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// A message that cancels reaches the provider after the call that it cancels, and the connection
// goes on.
func TestSocketCancellation(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial()}
	a.say("user", "Please fix the tests.")
	frame, cancel := a.frame(), `{"type":"response.cancel"}`
	a.send(frame)
	a.send(cancel) // while the call may not even be sent
	s.await(2)
	if got := s.sent(); string(got[0]) != frame || string(got[1]) != cancel {
		t.Errorf("%s", got)
	}
	if e := a.end(); e.Type != "response.incomplete" && e.Type != "response.completed" {
		t.Errorf("%s", e.raw)
	}
	if e := a.ask(); e.Type != "response.completed" {
		t.Errorf("%s", e.raw)
	}
	if u := s.server.Unread(""); len(u) != 0 {
		t.Errorf("%+v", u)
	}
}

// A connection that breaks in the middle of a reply breaks for the client, too. What it sends
// again, over another connection, continues the same conversation.
func TestSocketThatBreaksAndComesBack(t *testing.T) {
	answer, broken := tools(), false
	s := startSocket(t, proxy.Options{}, func(r *fakemodel.Request) fakemodel.Answer {
		a := answer(r)
		if len(r.Messages) > 5 && !broken {
			broken, a.Cut = true, 3
		}
		return a
	})
	a := &agent{client: s.dial("X-Oriel-Budget", "6000")}
	a.say("user", "Please fix the tests.")
	a.work(2, 900)
	a.send(a.frame())
	events := 0
	for {
		_, _, err := a.conn.Read(a.ctx)
		if err != nil {
			if websocket.CloseStatus(err) != -1 || !errors.Is(err, io.EOF) {
				t.Errorf("the connection ended with %v", err)
			}
			break
		}
		events++
	}
	if events == 0 {
		t.Error("nothing came before the connection broke")
	}
	s.sent()
	a.client, a.previous = s.dial("X-Oriel-Budget", "6000"), ""
	a.work(20, 900)
	if got := s.sent(); !strings.Contains(string(got[0]), "Please fix the tests.") {
		t.Errorf("%s", got[0])
	}
	if all, err := s.engine.Conversations(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%q, %v", all, err)
	}
}

// Closing has the same code and reason on the other side.
func TestSocketsCloseAlike(t *testing.T) {
	seen := make(chan error, 1)
	closing := websocket.StatusCode(1012)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Codex-Turn-State", "state")
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		if r.URL.Query().Get("close") != "" {
			c.Close(closing, "the server restarts")
			return
		}
		_, _, err = c.Read(r.Context())
		seen <- err
	}))
	defer upstream.Close()
	s := startSocket(t, proxy.Options{OpenAI: upstream.URL}, tools())
	c := s.dial()
	if c.res.Header.Get("X-Codex-Turn-State") != "state" {
		t.Error(c.res.Header)
	}
	c.conn.Close(4001, "the client has enough")
	var closed websocket.CloseError
	if err := <-seen; !errors.As(err, &closed) || closed.Code != 4001 || closed.Reason != "the client has enough" {
		t.Error(err)
	}
	conn, _, err := websocket.Dial(c.ctx, s.url+"/v1/responses?close=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if _, _, err := conn.Read(c.ctx); !errors.As(err, &closed) || closed.Code != closing ||
		closed.Reason != "the server restarts" {
		t.Error(err)
	}
}

// A message over the limit goes as it came, and so does everything that continues it.
func TestSocketHugeMessagesGoUnseen(t *testing.T) {
	s := startSocket(t, proxy.Options{BodyLimit: 100 << 10}, tools())
	a := &agent{client: s.dial()}
	a.say("user", strings.Repeat("Please fix the tests. ", 20<<10))
	want := []string{a.frame()}
	a.work(1, 30)
	want = append(want, a.frame())
	a.work(1, 30)
	for i, got := range s.sent() {
		if string(got) != want[i] {
			t.Errorf("%d: %d bytes, want %d", i, len(got), len(want[i]))
		}
	}
	u := s.server.Unread("")
	if len(u) != 1 || !strings.Contains(u[0].Why, "over the limit") {
		t.Errorf("%+v", u)
	}
	if n := s.server.Counters(); n.PassedSize != 1 || n.Calls != 2 {
		t.Errorf("%+v", n)
	}
}

// A call that only prepares the next one is no call of the conversation; the next one continues it.
func TestSocketCallsThatPrepare(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial()}
	a.say("developer", "You fix tests.")
	a.more = `,"generate":false`
	want := []string{a.frame()}
	if e := a.ask(); len(e.Response.Output) != 0 {
		t.Errorf("%s", e.raw)
	}
	a.more = ""
	a.say("user", "Please fix the tests.")
	want = append(want, a.frame())
	a.work(1, 30)
	for i, got := range s.sent() {
		if string(got) != want[i] {
			t.Errorf("%s", got)
		}
	}
	s.end()
	if n := strings.Count(s.kinds(), "call"); n != 1 {
		t.Errorf("%d calls", n)
	}
	if len(s.bodies) != 1 || !strings.Contains(string(s.bodies[0]), "You fix tests.") {
		t.Errorf("%s", s.bodies)
	}
}

// Lanes run at the same time, each with its calls in order.
func TestSocketLanes(t *testing.T) {
	inB := make(chan struct{})
	s := startSocket(t, proxy.Options{}, func(r *fakemodel.Request) fakemodel.Answer {
		text := string(r.Messages[0].Raw)
		if strings.Contains(text, "slow") {
			<-inB // the other lane is not held up
			return fakemodel.Answer{Text: "slow"}
		}
		close(inB)
		return fakemodel.Answer{Text: "fast"}
	})
	c := s.dial()
	frame := func(lane, text string) string {
		return fmt.Sprintf(`{"type":"response.create","stream_id":%q,"model":"gpt-5","input":%q}`, lane, text)
	}
	c.send(frame("a", "Be slow."))
	c.send(frame("b", "Be quick."))
	for range 2 {
		e := c.end()
		if got := e.Stream + " " + string(e.Response.Output[0]); !strings.HasPrefix(got, "a ") == strings.Contains(got,
			"slow") {
			t.Error(got)
		}
	}
}

// Calls that do not wait for the one before them are answered in order.
func TestSocketCallsAtOnce(t *testing.T) {
	s := startSocket(t, proxy.Options{}, func(r *fakemodel.Request) fakemodel.Answer {
		return fakemodel.Answer{Text: string(r.Messages[0].Raw)}
	})
	c := s.dial()
	for i := range 5 {
		c.send(fmt.Sprintf(`{"type":"response.create","model":"gpt-5","input":"number %d"}`, i))
	}
	for i := range 5 {
		if e := c.end(); !strings.Contains(string(e.raw), fmt.Sprintf("number %d", i)) {
			t.Errorf("%d: %s", i, e.raw)
		}
	}
}

// The limit of a tenant counts the calls inside a connection.
func TestSocketCallsBeyondTheLimit(t *testing.T) {
	s := startSocket(t, proxy.Options{CallsPerMinute: map[string]int{"*": 2}}, tools())
	a := &agent{client: s.dial()}
	a.say("user", "Please fix the tests.")
	a.work(2, 30)
	a.send(a.frame())
	e := a.read()
	if e.Type != "error" || e.Status != 429 || e.Error.Code != "calls_per_minute" ||
		!strings.Contains(string(e.raw), "retry-after") {
		t.Errorf("%s", e.raw)
	}
	if n := len(s.sent()); n != 2 {
		t.Errorf("%d messages reached the provider", n)
	}
}

// A response of another connection is the provider's alone: the call goes as it came, and is
// recorded.
func TestSocketContinuesWhatOnlyTheProviderKnows(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial(), previous: "resp_of_yesterday"}
	a.say("user", "Please fix the tests.")
	want := a.frame()
	a.send(want)
	if e := a.end(); e.Error.Code != "previous_response_not_found" || e.Status != 400 {
		t.Errorf("%s", e.raw)
	}
	if got := s.sent(); len(got) != 1 || string(got[0]) != want {
		t.Errorf("%s", got)
	}
}

// Memory that a connection holds comes back with its end.
func TestSocketMemoryComesBack(t *testing.T) {
	s := startSocket(t, proxy.Options{}, tools())
	a := &agent{client: s.dial()}
	a.say("user", "Please fix the tests.")
	a.work(40, 300)
	if s.server.Counters().BufferedBytes == 0 {
		t.Error("the history takes no memory")
	}
	a.conn.Close(websocket.StatusNormalClosure, "")
	s.end()
	if n := s.server.Counters().BufferedBytes; n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// With little memory calls go as they came; nothing breaks.
func TestSocketWithoutMemory(t *testing.T) {
	s := startSocket(t, proxy.Options{BufferLimit: 40 << 10}, tools())
	a := &agent{client: s.dial()}
	a.say("user", "Please fix the tests.")
	a.work(20, 900)
	if s.server.Counters().PassedMemory == 0 {
		t.Error("there was memory for all")
	}
}

// Events that are about the account go to the client in their place.
func TestSocketEventsOfTheAccount(t *testing.T) {
	kinds := []string{"codex.rate_limits", "response.created", "codex.response.metadata", "response.output_item.done",
		"responsesapi.websocket_timing", "response.completed", "codex.rate_limits"}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		if _, _, err := c.Read(r.Context()); err != nil {
			return
		}
		for _, kind := range kinds {
			event := fmt.Sprintf("{\n\"type\": %q, \"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"output\":[]},\"output_index\":0,\"item\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}", kind)
			if err := c.Write(r.Context(), websocket.MessageText, []byte(event)); err != nil {
				t.Error(err)
			}
		}
		c.Read(r.Context())
	}))
	defer upstream.Close()
	s := startSocket(t, proxy.Options{OpenAI: upstream.URL}, tools())
	c := s.dial()
	c.send(`{"type":"response.create","model":"gpt-5","input":"x"}`)
	for _, kind := range kinds {
		if e := c.read(); e.Type != kind || !strings.HasPrefix(string(e.raw), "{\n") {
			t.Errorf("%s, want %s", e.raw, kind)
		}
	}
	c.conn.Close(websocket.StatusNormalClosure, "")
}

// A client that takes nothing more of a message of the provider's over the limit is let go, and the
// provider with it.
func TestSocketClientThatDoesNotRead(t *testing.T) {
	gone := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		m, err := c.Writer(context.Background(), websocket.MessageText)
		for p := make([]byte, 1<<20); err == nil; {
			_, err = m.Write(p)
		}
	}))
	defer upstream.Close()
	s := startSocket(t, proxy.Options{OpenAI: upstream.URL, BodyLimit: 100 << 10, WriteTimeout: 50 * time.Millisecond},
		tools())
	s.dial()
	<-gone
	s.end()
}
