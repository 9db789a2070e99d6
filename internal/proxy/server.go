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

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/proxy/access"
	"github.com/oriel-context/oriel/internal/proxy/windows"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// Options configures a Server. The zero value serves loopback, forwards to the vendors'
// public addresses and only relays.
type Options struct {
	// OpenAI, Anthropic, Gemini and Ollama are base URLs as the vendors' SDKs expect them, and
	// ChatGPT is that of calls with a ChatGPT login. Defaults: DefaultOpenAI, DefaultAnthropic,
	// DefaultGemini, DefaultOllama, DefaultChatGPT. A bare OpenAI host gets /v1.
	OpenAI, Anthropic, Gemini, Ollama, ChatGPT string
	// Bedrock is the base URL of Amazon Bedrock in a region, to which requests of its own paths go.
	// Empty: they are refused.
	Bedrock string
	// Listen is the listen address, HOST:PORT; empty means loopback.
	Listen string
	// Tokens maps Oriel's own tokens to tenants, with the role timeline.RoleCall. If there
	// are any, every request needs a token.
	Tokens map[string]string
	// Stored has further tokens, which can be added and revoked while the server runs; see
	// package internal/proxy/access. Beyond loopback every request needs a token, and Tokens or
	// Stored is required. On loopback, a request without one is the local user's unless
	// there are Tokens.
	Stored TokenStore
	// CallsPerMinute limits the calls of tenants; further ones are refused with 429. The
	// limit of a tenant that is not listed is that of "*", if there is one. A server counts
	// the calls that it gets itself.
	CallsPerMinute map[string]int
	// OnLimit, if set, is called for each call that is refused for CallsPerMinute.
	OnLimit func(tenant, call string)
	// Origins lists the origins of web pages, such as https://chat.example, that may send
	// requests without a token, in addition to pages of this machine.
	Origins []string
	// ForwardedFor adds the client's address to X-Forwarded-For, for a gateway of your
	// own. Vendors do not need it.
	ForwardedFor bool

	// BodyLimit is the largest body of a call that is inspected; larger ones pass through
	// unseen. Default: 64 MiB.
	BodyLimit int64
	// BufferLimit bounds the memory for the bodies of all calls and the engine's copies of
	// their answers. Beyond it, calls pass through unseen and copies are dropped.
	// Default: 512 MiB.
	BufferLimit int64
	// HeaderTimeout limits the time for a request's header. Default: 10 s.
	HeaderTimeout time.Duration
	// BodyTimeout limits the time for the next bytes of a request's body, not for the
	// whole. A call's body, which is held in memory, must also arrive at 8 KiB/s after
	// that time or, while memory is short, at 1 MiB/s after 10 s. Default: 1 min.
	BodyTimeout time.Duration
	// WriteTimeout limits the time for a client to accept the next bytes. A stream may
	// last any time. Default: 5 min.
	WriteTimeout time.Duration
	// IdleTimeout closes a client's idle connection. Default: 5 min.
	IdleTimeout time.Duration
	// ShutdownTimeout is the time for running answers when the server shuts down.
	// Default: 1 min.
	ShutdownTimeout time.Duration

	// Engine decides what is sent of each call and records it. Nil: calls are only
	// relayed.
	Engine call.Owner
	// ReplyTimeout limits how long the engine may delay a part of an answer, which it
	// records. After that the rest is not recorded. Default: 2 s. Before a call is sent,
	// Engine.BeginWait is the limit.
	ReplyTimeout time.Duration
	// NoSockets refuses calls over WebSocket, so that clients use HTTP. Without an Engine they are
	// always refused.
	NoSockets bool
	// Tracer follows calls. Nil: nobody does.
	Tracer Tracer
	// Console serves the paths under /oriel/ except /oriel/healthz. If there are tokens,
	// it needs one; AccessOf returns what the request may do. Nil means no console.
	Console http.Handler
	// Version and Store are reported by /oriel/healthz. Store returns why the history
	// cannot be written; it is nil if there is no history.
	Version string
	Store   func(context.Context) error
	// StoreTimeout limits how long Store may take. Default: 1 s.
	StoreTimeout time.Duration
	// Health, if set, adds to what /oriel/healthz reports to the tenant timeline.Local. It
	// must return quickly.
	Health func() Health
	// Log, if set, gets a line for each request. Its handler must be quick: an answer
	// ends after its line.
	Log *slog.Logger
	// Now is the clock for logs and Request.Began. Default: time.Now.
	Now func() time.Time
}

// Server is the proxy.
type Server struct {
	routing    atomic.Pointer[routing]
	transport  *http.Transport
	closes     sync.Map // hosts that close their connections after a stream: *sync.Once
	windows    *windows.Asker
	loopback   bool
	listenHost string

	forwardedFor                           bool
	header, bodyWait, write, idle, closing time.Duration
	settling, storeWait                    time.Duration

	stored       *access.Tokens // nil: there are only the tokens of the routing
	engine       forward.Engine // nil: calls are only relayed
	messageLimit int64          // of messages over WebSocket that are read
	tracer       Tracer         // nil: calls are not followed
	console      http.Handler
	version      string
	store        func(context.Context) error
	health       func() Health
	log          *slog.Logger
	now          func() time.Time
	onLimit      func(tenant, call string)

	guesses     guesses // of tokens
	cookies     guesses // of sessions
	signIns     rates   // by the token that signs in
	rates       rates   // by tenant
	counters    counters
	budget      *forward.Budget
	forwarder   *forward.Forwarder
	connections *connections
	active      limit.Running // requests and the engine's calls, which may outlast them
	upgrades    upgrades
	unreads     unreads

	// sessions are those of browsers, in sessionStore; ending ends when the server shuts
	// down.
	sessions     *access.Tokens
	sessionStore TokenStore
	ending       context.Context
	endOwn       context.CancelFunc

	mu      sync.Mutex // protects what follows
	server  *http.Server
	address *net.TCPAddr // of the listener
	closed  bool
}

// ErrToken: a server beyond loopback has no token, or one that is too short.
var ErrToken = errors.New("a token is needed")

// minToken is the minimum length of a token beyond loopback.
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

// New returns a server that does not listen yet.
func New(o Options) (*Server, error) {
	s := &Server{
		forwardedFor: o.ForwardedFor,
		connections:  newConnections(mostConnections()),
		budget:       forward.NewBudget(cmp.Or(o.BufferLimit, forward.DefaultBufferLimit)),
		header:       cmp.Or(o.HeaderTimeout, 10*time.Second),
		bodyWait:     cmp.Or(o.BodyTimeout, time.Minute),
		write:        cmp.Or(o.WriteTimeout, 5*time.Minute),
		idle:         cmp.Or(o.IdleTimeout, 5*time.Minute),
		closing:      cmp.Or(o.ShutdownTimeout, time.Minute),
		settling:     time.Second,
		storeWait:    cmp.Or(o.StoreTimeout, time.Second),
		tracer:       o.Tracer,
		console:      o.Console,
		version:      o.Version,
		store:        o.Store,
		health:       o.Health,
		log:          o.Log,
		now:          o.Now,
		onLimit:      o.OnLimit,
		messageLimit: cmp.Or(o.BodyLimit, forward.DefaultBodyLimit),
		guesses:      newGuesses(),
		cookies:      newGuesses(),
	}
	s.ending, s.endOwn = context.WithCancel(context.Background())
	if o.Engine != nil {
		s.engine = forward.Of(call.Of(o.Engine))
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.setEngine(s.engine, &o)
	r, err := newRouting(o)
	if err != nil {
		return nil, err
	}
	s.routing.Store(r)
	address := cmp.Or(o.Listen, "127.0.0.1:0")
	if s.loopback, err = isLoopback(address); err != nil {
		return nil, err
	}
	if o.Stored != nil {
		s.stored = access.New(o.Stored, s.now)
		// Sessions are looked up apart from tokens: cookies of strangers must not take the
		// place of tokens at the store.
		s.sessions, s.sessionStore = access.New(o.Stored, s.now), o.Stored
	} else {
		s.sessionStore = memory.New()
		s.sessions = access.New(s.sessionStore, s.now)
	}
	if !s.loopback && len(r.tokens) == 0 && s.stored == nil {
		return nil, fmt.Errorf("%w to listen at %s, where others can reach it: give one with --token or $ORIEL_TOKEN, or listen at 127.0.0.1", ErrToken, address)
	}
	if !s.loopback {
		if err := checkTokens(o.Tokens); err != nil {
			return nil, err
		}
	}
	s.listenHost, _, _ = net.SplitHostPort(address)
	s.transport = newTransport()
	s.windows = windows.New(s.transport, time.Now)
	return s, nil
}

// setEngine has requests forwarded by way of an engine.
func (s *Server) setEngine(e forward.Engine, o *Options) {
	s.engine = e
	s.forwarder = forward.New(forward.Options{
		Engine: e, BodyLimit: o.BodyLimit, ReplyWait: cmp.Or(o.ReplyTimeout, 2*time.Second), Running: &s.active,
		Report: s.engineFailed,
	})
}

// engineFailed counts and logs a fault of the engine.
func (s *Server) engineFailed(f *forward.Fault) {
	attrs := []any{"id", f.ID, "method", f.Method}
	if f.Panic != nil {
		s.counters.enginePanics.Add(1)
		s.log.Error("the engine panicked; the call continues without it",
			append(attrs, "panic", fmt.Sprint(f.Panic), "stack", f.Stack)...)
		return
	}
	s.counters.engineSlow.Add(1)
	if f.Method == "" {
		s.log.Error("the engine is stuck with too many calls; the call continues without it", "id", f.ID, "most",
			forward.MaxBehind)
		return
	}
	s.log.Error("the engine is too slow; the call continues without it", append(attrs, "limit", f.Limit)...)
}

// Loopback reports whether only programs of this machine are served.
func (s *Server) Loopback() bool { return s.loopback }

// Serve serves the connections of l until ctx ends. Running answers then have
// Options.ShutdownTimeout to finish; Serve returns nil if all did. Connections of another
// protocol, such as WebSocket, are closed after that time. A Server serves once.
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
		ConnState:         s.connections.changed,
		ConnContext:       withConnection,
	}
	srv.RegisterOnShutdown(s.endOwn) // streams of events would never end
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
	s.settle() // requests that were cut off are still recorded
	return err
}

// settle waits until closed requests have noticed it.
func (s *Server) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.settling)
	defer cancel()
	return s.active.Wait(ctx)
}

// shutdown waits for running requests, within the limit.
func (s *Server) shutdown(srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.closing)
	defer cancel()
	err := srv.Shutdown(ctx)
	if err == nil && s.active.Wait(ctx) != nil {
		s.upgrades.closeAll()
		err = s.settle()
	}
	if err != nil {
		return fmt.Errorf("answers still running %v after shutdown began were cut off: %w", s.closing, err)
	}
	return nil
}

// Close ends all requests at once.
func (s *Server) Close() error {
	s.mu.Lock()
	srv := s.server
	s.closed = true
	s.mu.Unlock()
	s.endOwn()
	var err error
	if srv != nil {
		err = srv.Close()
	}
	s.upgrades.closeAll()
	s.windows.Close()
	s.transport.CloseIdleConnections()
	return err
}

// checkListener checks what New could not: that the listener is at the announced address,
// and that no upstream is this server.
func (s *Server) checkListener(l net.Listener) error {
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil
	}
	if s.loopback && !address.IP.IsLoopback() {
		return fmt.Errorf("%w: the listener is at %s, not on loopback: name that address in Options.Listen", ErrToken,
			address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
	return s.checkUpstreams(s.routing.Load(), address)
}

// closeIfChunked ends the connection after a request whose Transfer-Encoding delimits its
// body. Such a request may also have had a Content-Length, which net/http removes
// silently; an intermediary that trusted it would take a part of the body for the next
// request (RFC 9112, 6.1). For HTTP/1.0, net/http removes Transfer-Encoding instead, so
// every request with a body ends its connection.
func closeIfChunked(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add()
	defer s.active.Done()
	t := readRoute(r)
	closeIfChunked(w, r)
	if t.own {
		s.serveOwn(w, r, &t)
		return
	}
	cur := s.routing.Load()
	misplaced := s.hasTokens(cur) && cur.tokens.inPath(t.path)
	if misplaced {
		t.path = "/" // keep the token out of the log
	}
	x := s.newExchange(w, r, t, cur)
	defer x.end()
	a, f := Access{}, s.checkHost(r)
	if f == nil {
		a, f = s.authorise(cur, r, &t)
	}
	x.tenant, x.access = a.Tenant, a
	if f == nil {
		f = s.connections.admit(r.Context(), a.Tenant, s.severalTenants(cur))
	}
	if f != nil {
		x.refuse(f)
	} else if f = a.checkCall(); f != nil {
		x.refuse(f)
	} else if misplaced { // only after a valid token, so that nobody can probe for one
		x.refuse(&refusal{http.StatusBadRequest, "token_in_path",
			"the path has a token of this proxy's in a place where the provider would see it: write /k/TOKEN once, at the beginning of the path in the base URL"})
	} else if f = s.checkForwarded(cur, r); f != nil {
		x.refuse(f)
	} else if f = x.checkLimit(cur); f != nil {
		x.refuse(f)
	} else if r.Method == http.MethodConnect {
		x.refuse(&refusal{http.StatusMethodNotAllowed, "method_not_allowed",
			"this is not a forward proxy: use it as the base URL, not as HTTP_PROXY"})
	} else if f = x.checkForeign(); f != nil {
		x.refuse(f)
	} else if x.takesSocket() {
		x.socket()
	} else if upgradeOf(r.Header) != "" && wire.CallFormat(t.path) != wire.Auto {
		x.refuse(&refusal{http.StatusUpgradeRequired, "http_only",
			"this proxy accepts calls over HTTP only: POST the request to the same path"})
	} else {
		x.forward()
	}
}

// serveHealth reports that the proxy runs. With whole, for the machine's own user, it also
// reports why the history is failing, which may name files, and what concerns all tenants.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request, whole bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, vendors[openAI].form, &refusal{http.StatusMethodNotAllowed, "method_not_allowed", "use GET"})
		return
	}
	answer := struct {
		Status  string `json:"status"`
		Version string `json:"version"`
		Store   string `json:"store"`
		Memory  string `json:"memory,omitempty"`
		Error   string `json:"error,omitempty"`
		// Unread are the clients whose requests are not read.
		Unread []Unread `json:"unread,omitempty"`
		Health
	}{Status: "ok", Version: s.version, Store: "none"}
	// The status is always 200, because requests are still forwarded.
	var bad error
	if s.store != nil {
		ctx, cancel := context.WithTimeout(r.Context(), s.storeWait)
		defer cancel()
		answer.Store = "ok"
		if bad = s.store(ctx); bad != nil {
			answer.Status, answer.Store = "degraded", "failed"
		}
	}
	if s.health != nil {
		h := s.health()
		if h.SettingsHeld != "" || h.CallsHeld != "" || h.CallsLost > 0 {
			answer.Status = "degraded"
		}
		if whole {
			answer.Health = h
		}
	}
	if whole {
		answer.Unread = s.Unread(timeline.Local)
	}
	if s.budget.Short() {
		answer.Status, answer.Memory = "degraded", "short"
		bad = errors.Join(bad, errors.New("calls or answers of the last minute were not recorded for want of memory"))
	}
	if bad != nil && whole {
		answer.Error = strings.Join(strings.Fields(bad.Error()), " ")
	}
	writeJSON(w, http.StatusOK, answer)
}

// Health is what the program around a Server adds to /oriel/healthz.
type Health struct {
	// DroppedLogLines and DroppedEvents count lines since the start that nobody read or
	// that could not be written.
	DroppedLogLines int64 `json:"dropped_log_lines,omitempty"`
	DroppedEvents   int64 `json:"dropped_events,omitempty"`
	// SettingsHeld is the reason why changed settings are not in use; empty if they are.
	SettingsHeld string `json:"settings_held,omitempty"`
	// CallsHeld says that calls of a newer version wait for it; empty if none do.
	CallsHeld string `json:"calls_held,omitempty"`
	// CallsLost counts calls since the start that could neither be stored nor kept on disk.
	CallsLost int64 `json:"calls_lost,omitempty"`
}
