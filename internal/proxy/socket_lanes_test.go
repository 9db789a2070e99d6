package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/internal/proxy"
)

// socketModel is a model that answers each message of a WebSocket by itself.
func socketModel(t *testing.T, answer func(message string) []string) string {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		for {
			_, message, err := c.Read(context.Background()) // until the proxy closes it
			if err != nil {
				return
			}
			for _, event := range answer(string(message)) {
				if err := c.Write(context.Background(), websocket.MessageText, []byte(event)); err != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(up.Close)
	return up.URL
}

func laneFrame(lane, text string) string {
	return fmt.Sprintf(`{"type":"response.create","stream_id":%q,"model":"gpt-5","input":%q}`, lane, text)
}

// A provider that knows no lanes refuses calls of lanes, or answers them, without the lane's name:
// the next calls do not wait for ever.
func TestSocketProvidersWithoutLanes(t *testing.T) {
	for name, events := range map[string][]string{
		"refuses": {`{"type":"error","status":400,"error":{"code":"unknown_parameter","message":"Unknown parameter: stream_id"}}`},
		"answers": {`{"type":"response.created","response":{"id":"r"}}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSocket(t, proxy.Options{OpenAI: socketModel(t, func(string) []string { return events })}, tools())
			c := s.dial()
			for i := range 3 {
				c.send(laneFrame("a", fmt.Sprintf("number %d", i)))
				if e := c.end(); string(e.raw) != events[len(events)-1] {
					t.Errorf("%s", e.raw)
				}
			}
			c.send(laneFrame("a", "one"))
			c.send(laneFrame("b", "two"))
			c.end()
			c.end()
			c.conn.CloseNow()
			s.end()
			if n := s.server.Counters(); n.Calls != 5 || n.Answered != 5 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// However many lanes a client opens, the calls of few run; the others go to the provider as they came.
func TestSocketManyLanes(t *testing.T) {
	const lanes = 1000
	last := laneFrame("last", "the end")
	s := startSocket(t, proxy.Options{OpenAI: socketModel(t, func(message string) []string {
		if message == last {
			return []string{`{"type":"error","stream_id":"last","status":400,"error":{"code":"x"}}`}
		}
		return nil // for ever
	})}, tools())
	c := s.dial()
	for i := range lanes {
		c.send(laneFrame(fmt.Sprintf("lane %d", i), "Hello."))
	}
	c.send(last)
	if e := c.end(); e.Stream != "last" {
		t.Errorf("%s", e.raw)
	}
	if n := s.server.Counters().Calls; n > 100 {
		t.Errorf("%d calls run", n)
	}
	if u := s.server.Unread(""); len(u) != 1 || !strings.Contains(u[0].Why, "too many wait or run") {
		t.Errorf("%+v", u)
	}
	c.conn.CloseNow()
	s.end()
	if n := s.server.Counters().BufferedBytes; n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}
