package proxy_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/oriel-context/oriel/internal/proxy"
)

// A provider that accepts connections and processes no request is asked a few times, and not
// for as long as the client waits.
func TestAProviderThatGoesAwayIsAskedAFewTimes(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	defer func() { cancel(); l.Close(); serving.Wait() }()
	var asked atomic.Int64
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer context.AfterFunc(ctx, func() { c.Close() })()
				defer c.Close()
				s := tls.Server(c, &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
				const settings, away = "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
					"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
				if _, err := io.WriteString(s, settings); err != nil {
					return
				}
				if _, err := io.ReadFull(s, make([]byte, len("PRI * HTTP/2.0"))); err != nil {
					return
				}
				asked.Add(1)
				io.WriteString(s, away)
				io.Copy(io.Discard, s)
			})
		}
	})
	s := start(t, proxy.Options{OpenAI: "https://" + l.Addr().String()}, nil)
	trusted := certified.Client().Transport.(*http.Transport).TLSClientConfig
	proxy.TrustForTest(s.server, trusted)
	// The transport opens some connections that it does not use.
	res, text := s.post("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	if n := asked.Load(); res.StatusCode != http.StatusBadGateway || n < 2 || n > 32 ||
		!strings.Contains(text, "closed each connection") {
		t.Errorf("%d after %d connections: %s", res.StatusCode, n, text)
	}
}
