package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// socketSetup is a proxy with an engine of its own before a model that speaks Responses over
// WebSocket.
type socketSetup struct {
	t      *testing.T
	engine *oriel.Engine
	server *proxy.Server
	model  *fakemodel.Server
	url    string
	log    *lockedBuffer

	stop   func() // ends the proxy, and waits for that
	conns  []*websocket.Conn
	mu     sync.Mutex // protects what follows
	came   sync.Cond  // of frames and events
	frames [][]byte   // as the model got them
	bodies [][]byte   // what they meant
	events []oriel.Event
}

func startSocket(t *testing.T, o proxy.Options, answer func(*fakemodel.Request) fakemodel.Answer) *socketSetup {
	t.Helper()
	s := &socketSetup{t: t, log: &lockedBuffer{}}
	s.came.L = &s.mu
	var err error
	s.engine, err = oriel.Open(t.Context(), oriel.Config{NoEmbed: true, Events: func(e oriel.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
		s.came.Broadcast()
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.model = &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		s.mu.Lock()
		s.bodies = append(s.bodies, r.Data())
		s.mu.Unlock()
		return answer(r)
	}, Frame: func(raw []byte) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.frames = append(s.frames, bytes.Clone(raw))
		s.came.Broadcast()
	}}
	upstream := httptest.NewServer(s.model)
	if o.OpenAI == "" {
		o.OpenAI = upstream.URL
	}
	o.Engine = s.engine
	o.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if s.server, err = proxy.New(o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(ctx, l) }()
	s.stop = sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		s.stop()
		upstream.Close()
		if err := s.engine.Close(); err != nil {
			t.Error(err)
		}
		if p := s.model.Problems(); len(p) > 0 {
			t.Errorf("the model refused: %v", p)
		}
		if strings.Contains(s.log.String(), "canary") {
			t.Errorf("the log has the key:\n%s", s.log)
		}
	})
	return s
}

// sent returns the messages that the model got since the last sent.
func (s *socketSetup) sent() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := s.frames
	s.frames = nil
	return frames
}

// await waits until the model got n messages since the last sent.
func (s *socketSetup) await(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.frames) < n {
		s.came.Wait()
	}
}

// stored waits until all calls that the model answered are stored.
func (s *socketSetup) stored() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		n := 0
		for _, e := range s.events {
			if e.Kind == "call" {
				n++
			}
		}
		if n >= len(s.bodies) {
			return
		}
		s.came.Wait()
	}
}

// end closes the clients' connections, ends the proxy, and waits until all calls are stored.
func (s *socketSetup) end() {
	s.t.Helper()
	for _, c := range s.conns {
		c.CloseNow() // nobody reads a close frame there
	}
	s.stop()
	if err := s.engine.Wait(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// kinds returns the kinds of the engine's events.
func (s *socketSetup) kinds() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []string
	for _, e := range s.events {
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, " ")
}

// client is a client's side of a WebSocket.
type client struct {
	t    *testing.T
	conn *websocket.Conn
	res  *http.Response
	ctx  context.Context
}

func (s *socketSetup) dial(header ...string) *client {
	s.t.Helper()
	c, err := s.tryDial(header...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *socketSetup) tryDial(header ...string) (*client, error) {
	h := http.Header{"Authorization": {"Bearer " + canary}, "User-Agent": {"codex_exec/0.169.0 (Debian)"},
		"Openai-Beta": {"responses_websockets=2026-02-06"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	s.t.Cleanup(cancel)
	conn, res, err := websocket.Dial(ctx, s.url+"/v1/responses", &websocket.DialOptions{HTTPHeader: h,
		CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		return &client{res: res}, err
	}
	conn.SetReadLimit(-1)
	s.t.Cleanup(func() { conn.CloseNow() })
	s.conns = append(s.conns, conn)
	return &client{s.t, conn, res, ctx}, nil
}

func (c *client) send(frame string) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatal(err)
	}
}

// event is what a client reads of an event.
type socketEvent struct {
	Type     string
	Status   int
	Stream   string `json:"stream_id"`
	Response struct {
		ID     string
		Output []json.RawMessage
	}
	Error struct{ Code, Message string }
	raw   []byte
}

func (c *client) read() (e socketEvent) {
	c.t.Helper()
	_, raw, err := c.conn.Read(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		c.t.Fatalf("%q: %v", raw, err)
	}
	e.raw = raw
	return e
}

// end reads to the end of a response.
func (c *client) end() (e socketEvent) {
	c.t.Helper()
	for {
		e = c.read()
		switch e.Type {
		case "response.completed", "response.incomplete", "response.failed", "error":
			return e
		}
	}
}

// agent is a client that sends what is new and continues its last response, as Codex does.
type agent struct {
	*client
	items    []string // of the history
	fresh    []string // that were not sent
	previous string
	more     string // further members of each message
}

func (a *agent) say(role, text string) {
	a.fresh = append(a.fresh, fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}`,
		role, text))
}

// frame returns the next message, with what is new of the history, or all of it.
func (a *agent) frame() string {
	input, previous := a.fresh, fmt.Sprintf(`"previous_response_id":%q,`, a.previous)
	if a.previous == "" {
		input, previous = append(a.items, a.fresh...), ""
	}
	return fmt.Sprintf(
		`{"type":"response.create","model":"gpt-5","stream":true, %s"input":[%s],"tools":[{"type":"function","name":"run","parameters":{}}],"store":false,"include":["reasoning.encrypted_content"]%s}`,
		previous, strings.Join(input, ","), a.more)
}

// ask sends the next message and reads the reply, which becomes a part of the history.
func (a *agent) ask() socketEvent {
	a.t.Helper()
	frame := a.frame()
	a.items, a.fresh = append(a.items, a.fresh...), nil
	a.send(frame)
	e := a.end()
	if e.Type != "response.completed" {
		a.t.Fatalf("%s", e.raw)
	}
	for _, item := range e.Response.Output {
		a.items = append(a.items, string(item))
	}
	a.previous = e.Response.ID
	return e
}

// work has the model call a tool n times; each result has so many words.
func (a *agent) work(n, words int) {
	a.t.Helper()
	for range n {
		e := a.ask()
		for _, item := range e.Response.Output {
			var call struct {
				Type string
				ID   string `json:"call_id"`
			}
			if err := json.Unmarshal(item, &call); err != nil {
				a.t.Fatal(err)
			}
			if call.Type == "function_call" {
				a.fresh = append(a.fresh, fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`,
					call.ID,
					"Result of "+call.ID+": "+strings.Repeat("line of output ", words/3)))
			}
		}
	}
}

// tools has the model call a tool until the newest message of the user has the word "stop".
func tools() func(*fakemodel.Request) fakemodel.Answer {
	var mu sync.Mutex
	n := 0
	return func(r *fakemodel.Request) fakemodel.Answer {
		mu.Lock()
		defer mu.Unlock()
		n++
		last := r.Messages[len(r.Messages)-1]
		if strings.Contains(string(last.Raw), "stop") {
			return fakemodel.Answer{Text: "Done.", Input: len(r.Data()) / 4, Output: 3}
		}
		return fakemodel.Answer{Thinking: "I think.", Input: len(r.Data()) / 4, Output: 5,
			Calls: []fakemodel.Call{{ID: fmt.Sprintf("call_%d", n), Name: "run",
				Arguments: fmt.Sprintf(`{"cmd":"step %d"}`, n)}}}
	}
}
