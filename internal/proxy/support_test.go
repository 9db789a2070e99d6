package proxy_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/proxy"
)

func TestMain(m *testing.M) {
	forward.HeadWait = time.Minute // a busy machine is no silent model
	// net/http waits half a second before it closes a connection that it gave up.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// canary stands for a provider's key. No log has it.
const canary = "sk-canary-4f1e7d"

// setup is a proxy over HTTP on loopback before an upstream of a test's own.
type setup struct {
	t        testing.TB
	server   *proxy.Server
	upstream *httptest.Server
	url      string // of the proxy
	log      *lockedBuffer
	client   *http.Client
	stop     context.CancelFunc
	done     chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a proxy. All vendors' upstream is the handler, unless options say more.
func start(t testing.TB, o proxy.Options, upstream http.HandlerFunc) *setup {
	t.Helper()
	return startOn(t, nil, o, upstream, nil)
}

// startWith is start with an engine of the test's own.
func startWith(t testing.TB, e proxy.Engine, o proxy.Options, upstream http.HandlerFunc) *setup {
	t.Helper()
	return startOn(t, e, o, upstream, nil)
}

// startOn is startWith on a network of its own, nil for loopback.
func startOn(t testing.TB, e proxy.Engine, o proxy.Options, upstream http.HandlerFunc, n *network) *setup {
	t.Helper()
	s := &setup{t: t, log: &lockedBuffer{}, done: make(chan error, 1)}
	if upstream != nil {
		s.upstream = httptest.NewUnstartedServer(upstream)
		if n != nil {
			s.upstream.Listener.Close()
			s.upstream.Listener = n.upstream
		}
		s.upstream.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		s.upstream.Start()
		if o.OpenAI == "" {
			o.OpenAI = s.upstream.URL
		}
		if o.Anthropic == "" {
			o.Anthropic = s.upstream.URL
		}
		o.Gemini, o.Ollama = cmp.Or(o.Gemini, s.upstream.URL), cmp.Or(o.Ollama, s.upstream.URL)
	}
	if o.ReplyTimeout == 0 {
		o.ReplyTimeout = time.Minute // a busy machine is no failure
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	var err error
	if s.server, err = proxy.NewWith(e, o); err != nil {
		t.Fatal(err)
	}
	proxy.HoldGuessesForTest(s.server, 0)
	s.client = &http.Client{Transport: &http.Transport{DisableCompression: true}}
	var l net.Listener
	if n != nil {
		l = n.proxy
		proxy.DialForTest(s.server, n.upstream.dial)
		s.client.Transport.(*http.Transport).DialContext = n.proxy.dial
	} else if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.done <- s.server.Serve(ctx, l) }()
	t.Cleanup(s.close)
	return s
}

// network has the connections of a test in memory, so that it can run in a bubble of
// testing/synctest, where time passes only while everybody waits.
type network struct{ proxy, upstream *pipes }

func newNetwork() *network { return &network{newPipes(1), newPipes(2)} }

// pipes is a listener whose connections are pipes.
type pipes struct {
	port  int
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes(port int) *pipes {
	return &pipes{port: port, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.port} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close ends everything, and finds the key in no log.
func (s *setup) close() {
	s.stop()
	s.client.CloseIdleConnections()
	s.server.Close()
	if s.done != nil {
		<-s.done
	}
	if s.upstream != nil {
		s.upstream.CloseClientConnections()
		s.upstream.Close()
	}
	if log := s.log.String(); strings.Contains(log, "canary") {
		s.t.Errorf("the log has the key:\n%s", log)
	}
}

// finish ends the proxy in order.
func (s *setup) finish() {
	s.t.Helper()
	s.stop()
	s.client.CloseIdleConnections()
	if err := <-s.done; err != nil {
		s.t.Error(err)
	}
	s.done = nil
}

// request makes a request to the proxy, with the key.
func (s *setup) request(method, path, body string, header ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+canary)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// do sends a request and reads its whole answer.
func (s *setup) do(r *http.Request) (*http.Response, string) {
	s.t.Helper()
	res, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(body)
}

func (s *setup) post(path, body string, header ...string) (*http.Response, string) {
	s.t.Helper()
	return s.do(s.request("POST", path, body, header...))
}

// raw sends bytes over a connection of its own and returns it.
func (s *setup) raw(text string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c
}
