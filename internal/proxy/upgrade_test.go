package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/proxy"
)

const handshake = "GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\nX-Oriel-Conversation: c\r\n\r\n"

// echo agrees to another protocol and sends back what it gets, until its end.
func echo(t *testing.T, protocol string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Sec-Websocket-Key") != "abc" ||
			r.Header.Get("X-Oriel-Conversation") != "" {
			t.Error(r.Header)
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol +
			"\r\nSec-WebSocket-Accept: xyz\r\n\r\nhello")
		rw.Flush()
		io.Copy(c, rw)
		io.WriteString(c, "bye")
	}
}

func TestWebSocketsGoThrough(t *testing.T) {
	s := startWith(t, &keeper{}, proxy.Options{}, echo(t, "websocket"))
	c := s.raw(handshake)
	b := bufio.NewReader(c)
	res, err := http.ReadResponse(b, nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Sec-Websocket-Accept") != "xyz" ||
		res.Header.Get("Upgrade") != "websocket" {
		t.Fatal(res, err)
	}
	read := func(want string) {
		t.Helper()
		p := make([]byte, len(want))
		if _, err := io.ReadFull(b, p); err != nil || string(p) != want {
			t.Fatalf("%q %v", p, err)
		}
	}
	read("hello")
	io.WriteString(c, "\x81\x00frames")
	read("\x81\x00frames")
	c.(*net.TCPConn).CloseWrite()
	read("bye")
	if _, err := b.ReadByte(); err != io.EOF {
		t.Error(err)
	}
	s.finish()
	if n := s.server.Counters(); n.Upgraded != 1 || n.Calls != 0 {
		t.Errorf("%+v", n)
	}
	if !strings.Contains(s.log.String(), "msg=upgraded") {
		t.Error(s.log)
	}
}

// The end of the server ends them, after its limit. An idle one is no failure.
func TestWebSocketsEndWithTheServer(t *testing.T) {
	s := start(t, proxy.Options{ShutdownTimeout: 1}, echo(t, "websocket"))
	proxy.SettleForTest(s.server, time.Minute)
	c := s.raw(handshake)
	b := bufio.NewReader(c)
	if _, err := http.ReadResponse(b, nil); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	s.done = nil
	io.Copy(io.Discard, b)
}

// An answer that is cut off beside them is one.
func TestCutOffAnswersAreToldBesideWebSockets(t *testing.T) {
	forever := make(chan struct{})
	s := start(t, proxy.Options{ShutdownTimeout: 1}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			echo(t, "websocket")(w, r)
			return
		}
		w.(http.Flusher).Flush()
		<-forever
	})
	defer close(forever)
	if _, err := http.ReadResponse(bufio.NewReader(s.raw(handshake)), nil); err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(s.request("POST", "/v1/messages", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s.stop()
	if err := <-s.done; !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	s.done = nil
}

func TestUnaskedProtocolIsRefused(t *testing.T) {
	s := start(t, proxy.Options{}, echo(t, "other"))
	c := s.raw(handshake)
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 502 {
		t.Error(res, err)
	}
}

// Calls over WebSocket, which nobody could read, are refused so that the client uses HTTP;
// other connections go through.
//
// PROXY rule 22
func TestSocketsForCallsAreRefused(t *testing.T) {
	s := start(t, proxy.Options{}, echo(t, "websocket"))
	for path, want := range map[string]int{"/v1/responses": 426, "/p/off/v1/responses": 426, "/v1/realtime": 101} {
		c := s.raw(strings.Replace(handshake, "/v1/realtime", path, 1))
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != want {
			t.Error(path, res, err)
		}
		c.Close()
	}
}
