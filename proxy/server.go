package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel/wire"
)

// Options of a Server; the zero value serves loopback between the vendors' public
// addresses, and records nothing.
type Options struct {
	// OpenAI and Anthropic are base URLs as the vendors' SDKs take them
	// (DefaultOpenAI, DefaultAnthropic). OpenAI's gets /v1 where it is a bare host.
	OpenAI, Anthropic string
	// Listen is the address that the server will listen at, HOST:PORT; loopback if
	// it is empty.
	Listen string
	// Tokens are Oriel's own, each with its tenant. Beyond loopback there must be
	// one; where there is one, every request needs one.
	Tokens map[string]string
	// Origins are those of web pages that may send requests without a token, such as
	// https://chat.example, beside pages of this machine.
	Origins []string
	// ForwardedFor adds the client's address to X-Forwarded-For. Vendors have no
	// need of it, so it is off; a gateway of one's own may.
	ForwardedFor bool
	// NoSockets refuses calls over WebSocket, which nobody can look at, with 426: a
	// client that knows both ways then calls over HTTP. Other WebSockets go through.
	NoSockets bool

	// BodyLimit is the largest body of a call that is looked at: 64 MiB. Larger ones
	// go through unseen.
	BodyLimit int64
	// BufferLimit bounds the memory for the bodies of all calls and for what the
	// Recorder copies of their answers: 512 MiB. Calls beyond it go through unseen, and
	// copies of answers are given up.
	BufferLimit int64
	// HeaderTimeout is for a request's header: 10 s.
	HeaderTimeout time.Duration
	// BodyTimeout is for the next bytes of a request's body, not for the whole: 1 min.
	// The body of a call, which is held in memory, also has to come at 8 KiB a second
	// after that time; while memory is short, at 1 MiB a second after 10 s.
	BodyTimeout time.Duration
	// WriteTimeout is for a client to take the next bytes: 5 min. A stream may last
	// as long as it likes.
	WriteTimeout time.Duration
	// IdleTimeout closes a client's connection that has no request: 5 min.
	IdleTimeout time.Duration
	// ShutdownTimeout is what running answers have when the server ends: 1 min.
	ShutdownTimeout time.Duration

	// Recorder is told of the calls; nil: nobody is.
	Recorder Recorder
	// RecordTimeout is the longest that a method of the recorder holds up a call:
	// 100 ms.
	RecordTimeout time.Duration
	// BeginTimeout is the same for what decides what is sent, Begin and Refused of the
	// recorder and Count. Default: RecordTimeout.
	BeginTimeout time.Duration
	// Console serves the paths under /oriel/ but /oriel/healthz, to those who have a
	// token if there are any; nil: none.
	Console http.Handler
	// Version and Store are what /oriel/healthz tells: Store is nil where there is
	// no history, and returns why it cannot be written.
	Version string
	Store   func(context.Context) error
	// Health adds to what /oriel/healthz tells those who may know; nil: nothing. It must
	// be quick.
	Health func() Health
	// Log gets a line for each request; nil: none is written. Its handler must be quick:
	// an answer ends after its line.
	Log *slog.Logger
	// Now is the clock for logs and Call.Began; time.Now if it is nil.
	Now func() time.Time
}

// Server is the proxy.
type Server struct {
	routing    atomic.Pointer[routing]
	transport  *http.Transport
	loopback   bool
	listenHost string

	forwardedFor, noSockets                bool
	bodyLimit                              int64
	header, bodyWait, write, idle, closing time.Duration

	recorder Recorder
	console  http.Handler
	version  string
	store    func(context.Context) error
	health   func() Health
	log      *slog.Logger
	now      func() time.Time

	guesses  guesses
	counters counters
	budget   *budget
	active   tally        // requests, and recordings, which may outlast them
	behind   atomic.Int64 // recordings and counts that were left behind and still run
	upgrades upgrades

	mu      sync.Mutex // protects what follows
	server  *http.Server
	address *net.TCPAddr // of the listener
	closed  bool
}

// ErrToken: a server beyond loopback has no token, or one that is too short.
var ErrToken = errors.New("a token is needed")

// minToken is the least length of a token where others can try theirs.
const minToken = 16

// checkTokens refuses tokens that can be guessed.
func checkTokens(byToken map[string]string) error {
	for token := range byToken {
		if n := utf8.RuneCountInString(token); n < minToken {
			return fmt.Errorf("%w that cannot be guessed, as others can reach this proxy: this one has %d characters, give at least %d, such as those that openssl rand -hex 16 prints", ErrToken, n, minToken)
		}
	}
	return nil
}

// New makes a server; it listens nowhere yet.
func New(o Options) (*Server, error) {
	s := &Server{
		forwardedFor: o.ForwardedFor,
		noSockets:    o.NoSockets,
		bodyLimit:    cmp.Or(o.BodyLimit, 64<<20),
		budget:       newBudget(cmp.Or(o.BufferLimit, 512<<20)),
		header:       cmp.Or(o.HeaderTimeout, 10*time.Second),
		bodyWait:     cmp.Or(o.BodyTimeout, time.Minute),
		write:        cmp.Or(o.WriteTimeout, 5*time.Minute),
		idle:         cmp.Or(o.IdleTimeout, 5*time.Minute),
		closing:      cmp.Or(o.ShutdownTimeout, time.Minute),
		recorder:     o.Recorder,
		console:      o.Console,
		version:      o.Version,
		store:        o.Store,
		health:       o.Health,
		log:          o.Log,
		now:          o.Now,
		guesses:      guesses{delay: time.Second},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	r, err := newRouting(o)
	if err != nil {
		return nil, err
	}
	s.routing.Store(r)
	address := cmp.Or(o.Listen, "127.0.0.1:0")
	if s.loopback, err = isLoopback(address); err != nil {
		return nil, err
	}
	if !s.loopback && len(r.tokens) == 0 {
		return nil, fmt.Errorf("%w to listen at %s, where others can reach it: give one with --token or $ORIEL_TOKEN, or listen at 127.0.0.1", ErrToken, address)
	}
	if !s.loopback {
		if err := checkTokens(o.Tokens); err != nil {
			return nil, err
		}
	}
	s.listenHost, _, _ = net.SplitHostPort(address)
	s.transport = newTransport()
	return s, nil
}

// Serve serves the connections of l until ctx ends; then running answers have
// Options.ShutdownTimeout to come to their ends. It returns nil if all did; connections
// of another protocol, such as WebSocket, have no end of their own and are closed after
// that time. A Server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.checkListener(l); err != nil {
		l.Close()
		return err
	}
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.header,
		IdleTimeout:       s.idle,
		MaxHeaderBytes:    128 << 10,
		ErrorLog:          log.New(serverLogWriter{s.log}, "", 0),
	}
	s.mu.Lock()
	if s.server != nil || s.closed {
		s.mu.Unlock()
		l.Close()
		return http.ErrServerClosed
	}
	s.server = srv
	s.mu.Unlock()

	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	var err error
	select {
	case err = <-ended:
		if errors.Is(err, http.ErrServerClosed) {
			err = nil // Close was called
		}
	case <-ctx.Done():
		err = s.shutdown(srv)
		<-ended
	}
	s.Close()
	s.settle() // what was cut off is still recorded as such
	return err
}

// settle waits for what was closed to see it.
func (s *Server) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.active.wait(ctx)
}

// shutdown lets what runs come to its end, within the limit.
func (s *Server) shutdown(srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.closing)
	defer cancel()
	err := srv.Shutdown(ctx)
	if err == nil && s.active.wait(ctx) != nil {
		s.upgrades.close()
		err = s.settle()
	}
	if err != nil {
		return fmt.Errorf("answers still ran %v after the end was asked for, and were cut off: %w", s.closing, err)
	}
	return nil
}

// tally counts what runs, and can be waited for.
type tally struct {
	mu   sync.Mutex // protects what follows
	n    int
	none chan struct{} // closed when n is 0 again, if somebody waits
}

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
}

func (t *tally) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.none != nil {
		close(t.none)
		t.none = nil
	}
}

func (t *tally) wait(ctx context.Context) error {
	t.mu.Lock()
	if t.n == 0 {
		t.mu.Unlock()
		return nil
	}
	if t.none == nil {
		t.none = make(chan struct{})
	}
	none := t.none
	t.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends everything at once.
func (s *Server) Close() error {
	s.mu.Lock()
	srv := s.server
	s.closed = true
	s.mu.Unlock()
	var err error
	if srv != nil {
		err = srv.Close()
	}
	s.upgrades.close()
	s.transport.CloseIdleConnections()
	return err
}

// checkListener refuses what New could not see: a listener elsewhere than it was told,
// and an upstream that is this server.
func (s *Server) checkListener(l net.Listener) error {
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil
	}
	if s.loopback && !address.IP.IsLoopback() {
		return fmt.Errorf("%w: the listener is at %s, not on loopback: name that address in Options.Listen", ErrToken, address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
	return s.checkUpstreams(s.routing.Load(), address)
}

// closeIfChunked has the connection end with the answer to a request that says by
// Transfer-Encoding where its body ends. Such a request may also have had a Content-Length,
// which net/http removes unseen; whoever stands between, and believed that, would take a
// part of the body for the next request (RFC 9112, 6.1). Of a request of HTTP/1.0 net/http
// removes Transfer-Encoding instead, so each one with a body ends its connection.
func closeIfChunked(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.add()
	defer s.active.done()
	t := readRoute(r)
	closeIfChunked(w, r)
	if t.own {
		s.serveOwn(w, r, &t)
		return
	}
	cur := s.routing.Load()
	misplaced := cur.tokens.inPath(t.path)
	if misplaced {
		t.path = "/" // the log has no token, either
	}
	x := s.newExchange(w, r, t, cur)
	defer x.end()
	if f := s.checkHost(r); f != nil {
		x.refuse(f)
	} else if f = cur.checkPage(r); f != nil {
		x.refuse(f)
	} else if x.tenant, f = s.authorise(cur, r, &t); f != nil {
		x.refuse(f)
	} else if misplaced { // told to those who have a token, so that nobody finds one by it
		x.refuse(&refusal{http.StatusBadRequest, "token_in_path",
			"the path has a token of this proxy's in a place where the provider would see it: write /k/TOKEN once, at the beginning of the path in the base URL"})
	} else if f = cur.checkForwarded(r); f != nil {
		x.refuse(f)
	} else if r.Method == http.MethodConnect {
		x.refuse(&refusal{http.StatusMethodNotAllowed, "method_not_allowed", "this is no forward proxy: use it as the base URL, not as HTTP_PROXY"})
	} else if s.noSockets && upgradeOf(r.Header) != "" && callFormat(t.path) != wire.Auto {
		x.refuse(&refusal{http.StatusUpgradeRequired, "http_only", "this proxy takes calls over HTTP only: POST the request to the same path"})
	} else {
		x.forward()
	}
}

// serveOwn serves Oriel's own paths.
func (s *Server) serveOwn(w http.ResponseWriter, r *http.Request, t *route) {
	s.counters.own.Add(1)
	f := s.checkHost(r)
	if f == nil {
		f = checkOrigin(r)
	}
	known := true
	if f == nil {
		_, f = s.authorise(s.routing.Load(), r, t)
		known = f == nil
	}
	if t.path == "/oriel/healthz" && (f == nil || !known) {
		s.serveHealth(w, r, known)
		return
	}
	if f == nil && s.console == nil {
		f = &refusal{http.StatusNotFound, "not_found", "there is nothing here: /oriel/healthz tells how the proxy is"}
	}
	if f != nil {
		refuse(w, openAI, f)
		return
	}
	// The console sees its own paths, whatever prefixes the base URL has.
	inner := r.Clone(r.Context())
	setPath(inner.URL, t.path)
	inner.URL.Opaque = ""
	s.console.ServeHTTP(w, inner)
}

// serveHealth tells how the proxy is: to everybody that it runs, to those who are known
// why the history fails.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request, known bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, openAI, &refusal{http.StatusMethodNotAllowed, "method_not_allowed", "use GET"})
		return
	}
	answer := struct {
		Status  string `json:"status"`
		Version string `json:"version"`
		Store   string `json:"store"`
		Memory  string `json:"memory,omitempty"`
		Error   string `json:"error,omitempty"`
		Health
	}{Status: "ok", Version: s.version, Store: "none"}
	// Whatever fails, the status code is 200: requests go through.
	var bad error
	if s.store != nil {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		answer.Store = "ok"
		if bad = s.store(ctx); bad != nil {
			answer.Status, answer.Store = "degraded", "failed"
		}
	}
	if s.health != nil {
		h := s.health()
		if h.SettingsHeld != "" {
			answer.Status = "degraded"
		}
		if known {
			answer.Health = h
		}
	}
	if s.budget.short() {
		answer.Status, answer.Memory = "degraded", "short"
		bad = errors.Join(bad, errors.New("calls or answers of the last minute were not recorded for want of memory"))
	}
	if bad != nil && known {
		answer.Error = strings.Join(strings.Fields(bad.Error()), " ")
	}
	writeJSON(w, http.StatusOK, answer)
}

// Health is what the program around a Server adds to /oriel/healthz.
type Health struct {
	// DroppedLogLines and DroppedEvents are lines that nobody read, or that could not be
	// written, since the start.
	DroppedLogLines int64 `json:"dropped_log_lines,omitempty"`
	DroppedEvents   int64 `json:"dropped_events,omitempty"`
	// SettingsHeld says why changed settings are not in use; "" where they are.
	SettingsHeld string `json:"settings_held,omitempty"`
}
