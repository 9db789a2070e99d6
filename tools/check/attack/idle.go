package attack

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// idle opens 513 connections that announce a megabyte each and send one byte
// of it, then some that send nearly all of a large body and stall.
func idle(t *trial) error {
	const connections, stalled, size = 513, 8, 60 << 20
	up := t.upstream(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		writeCompletion(w, 1, "a")
	}))
	s, err := t.serve(serveOptions{upstream: up})
	if err != nil {
		return err
	}
	for range connections {
		if _, err := s.begin(t, 1<<20, 1); err != nil {
			return setup("open a connection", err)
		}
	}
	if err := s.settle(); err != nil {
		return err
	}
	t.say("%d connections announced 1 MB and sent 1 byte: %d MB resident", connections, s.memory("VmRSS")>>20)
	if err := s.isSeen("a small call", 10); err != nil {
		return err
	}
	if err := s.isSeen("a call of 5 MB", 5<<20); err != nil {
		return err
	}
	for range stalled {
		if _, err := s.begin(t, size+1, size); err != nil {
			return setup("send a body", err)
		}
	}
	if err := s.settle(); err != nil {
		return err
	}
	t.say("%d more sent %d MB but for a byte: %d MB resident", stalled, size>>20, s.memory("VmRSS")>>20)
	if err := s.isSeen("a small call", 10); err != nil {
		return err
	}
	// They lose their places after ten seconds plus one for each megabyte; a
	// call then takes them.
	began := time.Now()
	for s.isSeen("a call of 5 MB", 5<<20) != nil {
		if time.Since(began) > 90*time.Second {
			return fmt.Errorf("a call of 5 MB is still not seen after %v", time.Since(began).Round(time.Second))
		}
		time.Sleep(time.Second)
	}
	t.say("a call of 5 MB is seen again after %v", time.Since(began).Round(time.Second))
	return nil
}

// begin opens a connection that announces a body of announced bytes and sends
// sent of them.
func (s *server) begin(t *trial, announced, sent int) (net.Conn, error) {
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	t.atEnd(func() { c.Close() })
	c.SetWriteDeadline(time.Now().Add(time.Minute))
	_, err = fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
		announced, strings.Repeat("x", sent))
	return c, err
}

// isSeen sends a call of size bytes, which must be recorded.
func (s *server) isSeen(what string, size int) error {
	a, err := s.chatCall(strings.Repeat("a", size))
	if err != nil {
		return err
	}
	if action := a.header.Get("X-Oriel-Action"); a.status != http.StatusOK || strings.Contains(action, "bypass") ||
		strings.Contains(action, "error") {
		h, _ := s.health()
		return fmt.Errorf("%s of another client: status %d, %s; health %s", what, a.status, action, h.Status)
	}
	return nil
}
