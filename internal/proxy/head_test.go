package proxy_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
)

// sender sends other bodies, the next for each refusal.
type sender struct {
	nothing
	mu      sync.Mutex
	bodies  []string
	refused []string
	counted []string
}

func (s *sender) Begin(context.Context, *call.Request) proxy.Call { return s }
func (s *sender) Body() []byte                                    { return []byte("sent") }
func (s *sender) Model() string                                   { return "" }
func (s *sender) Again() bool                                     { return true }
func (s *sender) SetBeta(http.Header)                             {}
func (s *sender) Refused(status int, body []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, http.StatusText(status)+" "+string(body))
	if len(s.bodies) == 0 {
		return nil
	}
	next := s.bodies[0]
	s.bodies = s.bodies[1:]
	return []byte(next)
}

func (s *sender) Count(_ context.Context, c *call.Request) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted = append(s.counted, c.Format.String()+" "+string(c.Body))
	switch string(c.Body) {
	case "panic":
		panic("oh")
	case "own":
		return nil
	}
	return []byte("counted")
}

const overflow = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long\"}}\n\n"

// An error at the head of a stream is a refusal; one that comes later is the client's.
func TestStreamsThatBeginWithAnErrorAreSentAgain(t *testing.T) {
	const begun = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\nevent: response.in_progress\ndata: {\"type\":\"response.in_progress\"}\n\n"
	const fine = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n"
	for _, c := range []struct {
		name    string
		answers []string
		want    string
		asked   int
	}{
		{"an error", []string{overflow, fine}, fine, 1},
		{"an error without a name", []string{"data: {\"error\":{\"message\":\"maximum context\"}}\n\n", fine}, fine, 1},
		{"three times", []string{overflow, overflow, overflow}, overflow, 2},
		{"none", []string{fine}, fine, 0},
		{"later", []string{fine + overflow}, fine + overflow, 0},
		{"behind what says nothing yet", []string{begun + overflow, fine}, fine, 1},
		{"behind a ping", []string{"event: ping\ndata: {\"type\": \"ping\"}\n\n" + overflow, fine}, fine, 1},
		{"later than what says nothing", []string{begun + "event: response.output_item.added\ndata: {}\n\n" + overflow},
			begun + "event: response.output_item.added\ndata: {}\n\n" + overflow, 0},
		{"behind a comment", []string{": hello\n\n" + overflow}, ": hello\n\n" + overflow, 0},
		{"no stream at all", []string{"data"}, "data", 0},
		{"nothing", []string{""}, "", 0},
		{"an error that is not whole", []string{"event: error\ndata: {\"error\":1}\n", fine}, fine, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := &sender{bodies: []string{"again 1", "again 2", "again 3"}}
			var mu sync.Mutex
			var got []string
			s := startWith(t, rec, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				io.WriteString(w, c.answers[len(got)])
				got = append(got, string(body))
			})
			res, body := s.post("/v1/messages", "came")
			if body != c.want || res.StatusCode != 200 {
				t.Errorf("%d %q, want %q", res.StatusCode, body, c.want)
			}
			want := []string{"sent", "again 1", "again 2"}[:c.asked+1]
			if strings.Join(got, ",") != strings.Join(want, ",") || len(rec.refused) != c.asked {
				t.Errorf("the provider got %q; refusals %q", got, rec.refused)
			}
		})
	}
}

// Of an ordinary stream nothing is held back: the first line is enough to tell.
func TestTheFirstLineOfAStreamGoesOut(t *testing.T) {
	for _, first := range []string{"event: message_start\n", "data: {\"choices\":[]}\n", ": wait\n"} {
		release := make(chan struct{})
		s := startWith(t, &sender{}, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, first)
			w.(http.Flusher).Flush()
			<-release
			io.WriteString(w, "the rest")
		})
		res, err := s.client.Do(s.request("POST", "/v1/messages", "{}"))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(first))
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != first {
			t.Errorf("%q, %v", got, err)
		}
		close(release)
		rest, err := io.ReadAll(res.Body)
		if err != nil || string(rest) != "the rest" {
			t.Errorf("%q, %v", rest, err)
		}
		res.Body.Close()
	}
}

// Refusals of other kinds: 422, and an error under a status that says that all is well.
func TestRefusalsOfOtherKinds(t *testing.T) {
	const bad = `{"error":{"message":"maximum context length is 5 tokens","code":400}}`
	for _, c := range []struct {
		name, kind string
		status     int
		answer     string
		asked      int
	}{
		{"422", "application/json", 422, bad, 1},
		{"200", "application/json; charset=utf-8", 200, bad, 1},
		{"200, long", "application/json", 200, bad + strings.Repeat(" ", 20_000), 0},
		{"200, with a reply", "application/json", 200, `{"choices":[],"error":{"message":"maximum context length"}}`,
			0},
		{"200, without an error", "application/json", 200, `{"error":null}`, 0},
		{"200, no JSON", "application/json", 200, `{"error":`, 0},
		{"200, text", "text/plain", 200, bad, 0},
		{"404", "application/json", 404, bad, 0},
	} {
		rec := &sender{bodies: []string{"again"}}
		n := 0
		s := startWith(t, rec, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if n++; n > 1 {
				io.WriteString(w, "fine")
				return
			}
			w.Header().Set("Content-Type", c.kind)
			w.Header().Set("Content-Length", strconv.Itoa(len(c.answer)))
			w.WriteHeader(c.status)
			io.WriteString(w, c.answer)
		})
		want := c.answer
		if c.asked > 0 {
			want = "fine"
		}
		if _, body := s.post("/v1/messages", "came"); body != want || len(rec.refused) != c.asked {
			t.Errorf("%s: %d bytes, asked %d times", c.name, len(body), len(rec.refused))
		}
	}
}

// A stream that dies at its head is seen to have died.
func TestAStreamThatDiesAtItsHeadIsCut(t *testing.T) {
	s := startWith(t, &sender{}, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: err")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	res, err := s.client.Do(s.request("POST", "/v1/messages", "{}"))
	if err == nil {
		var body []byte
		if body, err = io.ReadAll(res.Body); err == nil {
			t.Errorf("%q without an error", body)
		}
		res.Body.Close()
	}
}

// What counts is asked with what would be sent, and recorded by nobody.
func TestRequestsThatCount(t *testing.T) {
	for _, c := range []struct{ path, body, want, counted string }{
		{"/v1/messages/count_tokens", "x", "counted", "anthropic x"},
		{"/messages/count_tokens?beta=true", "x", "counted", "anthropic x"},
		{"/p/thrifty/v1/responses/input_tokens", "x", "counted", "responses x"},
		{"/v1/messages/count_tokens", "own", "own", "anthropic own"},
		{"/v1/messages/count_tokens", "panic", "panic", "anthropic panic"},
		{"/v1/messages/batches", "x", "x", ""},
		{"/v1/threads/t/messages/count_tokens", "x", "x", ""},
	} {
		rec := &sender{}
		s := startWith(t, rec, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Write(body)
		})
		res, body := s.post(c.path, c.body)
		if body != c.want || strings.Join(rec.counted, ",") != c.counted || res.Header.Get("X-Oriel-Action") != "" {
			t.Errorf("%s %s: the provider got %q, the counter %q, %v", c.path, c.body, body, rec.counted, res.Header)
		}
		if _, body := s.post(c.path, c.body, "X-Oriel-Bypass", "1"); body != c.body {
			t.Errorf("%s: past the counter the provider got %q", c.path, body)
		}
	}
}

// slow is an engine that does not finish counting a body until release is closed.
type slow struct {
	nothing
	release chan struct{}
}

func (s slow) BeginWait() time.Duration { return time.Millisecond }

func (s slow) EndWait() time.Duration { return 0 }

func (s slow) Count(ctx context.Context, _ *call.Request) []byte { <-s.release; return []byte("late") }

func TestASlowCounterIsLeftBehind(t *testing.T) {
	release := make(chan struct{})
	s := startWith(t, slow{release: release}, proxy.Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	})
	if _, body := s.post("/v1/messages/count_tokens", "mine"); body != "mine" {
		t.Errorf("%q", body)
	}
	close(release)
}
