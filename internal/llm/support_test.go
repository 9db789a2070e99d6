package llm_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one is an answer to a request.
const one = `{"ok":true}`

// serve starts a server and returns a client of it. change changes the options.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*llm.Options)) *llm.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o := llm.Options{URL: s.URL + "/v1", Client: s.Client()}
	for _, c := range change {
		c(&o)
	}
	return open(t, o)
}

func open(t *testing.T, o llm.Options) *llm.Client {
	t.Helper()
	c, err := llm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func post(ctx context.Context, c *llm.Client) ([]byte, error) {
	return c.Post(ctx, llm.Request{Path: "things", Body: []byte(`{"input":"a"}`), MaxAnswer: 1 << 20})
}

// fault posts a request and returns the error that must come.
func fault(t *testing.T, c *llm.Client) *llm.Error {
	t.Helper()
	answer, err := post(t.Context(), c)
	var e *llm.Error
	if !errors.As(err, &e) || answer != nil {
		t.Fatalf("got %q and %v, want an *Error", answer, err)
	}
	return e
}

// sends answers every request with a status and a body.
func sends(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// pipes is a listener in memory. Inside a bubble of testing/synctest a real socket
// would keep time from going on.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	close sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.close.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// bubble is serve for tests of time. It must be called inside a bubble.
func bubble(t *testing.T, h http.HandlerFunc, change ...func(*llm.Options)) *llm.Client {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(p) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		p.conns <- there
		return here, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	o := llm.Options{URL: "http://127.0.0.1/v1", Retries: 3, Timeout: 30 * time.Second,
		Client: &http.Client{Transport: transport}}
	for _, c := range change {
		c(&o)
	}
	return open(t, o)
}
