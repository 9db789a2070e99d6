package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/wire"
)

// Reasons why a call ends before its answer. call.Call.End receives them wrapped with the
// cause.
var (
	ErrClientLeft = call.ErrLeft
	ErrUpstream   = forward.ErrUpstream
	ErrEngine     = forward.ErrEngine
)

// errOurs: the cause is in this package.
var errOurs = errors.New("the proxy failed")

// newTransport returns the transport to providers.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         forward.Dial(dialer.DialContext),
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		// Shorter than providers' own timeouts, so that a call rarely meets a connection
		// that is about to be closed.
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          512,
		MaxIdleConnsPerHost:   256,
		ExpectContinueTimeout: time.Second,
		// No time limit on answers: a model may think for as long as the client waits.
		// Probes detect dead connections.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		// The answer's encoding is between the client and the provider.
		DisableCompression: true,
		WriteBufferSize:    64 << 10,
		ReadBufferSize:     32 << 10,
	}
}

// exchange is one request and its answer.
type exchange struct {
	s      *Server
	w      http.ResponseWriter
	rc     *http.ResponseController
	r      *http.Request
	route  route
	up     *upstream
	id     string
	tenant string
	access Access // of the client
	began  time.Time

	body   clientBody
	early  sync.Mutex // protects waits, and w until the answer is there
	waits  bool       // the client waits for leave to send its body
	memory *forward.Memory
	call   forward.Exchange
	last   []byte // the last byte of the answer, if it waits for the engine

	status  int
	out     int64
	outcome *atomic.Int64
	err     error
	abort   bool
	noted   bool  // among the unread requests
	reads   bool  // the messages of a WebSocket are read
	trace   Trace // nil: nobody follows the call
}

func (s *Server) newExchange(w http.ResponseWriter, r *http.Request, t route, cur *routing) *exchange {
	x := &exchange{s: s, w: w, rc: http.NewResponseController(w), r: r, route: t, up: cur.upstreamOf(&t),
		id: forward.NewID(), began: s.now()}
	x.memory = s.budget.NewMemory(&x.body)
	x.memory.Shared = s.severalTenants(cur)
	forward.DropOwn(r.Trailer) // announced trailers
	x.body.body, x.body.trailer, x.body.rc, x.body.limit, x.body.ended = r.Body, &r.Trailer, x.rc, s.bodyWait,
		r.ContentLength == 0
	r.Body = &x.body
	if r.ProtoAtLeast(1, 1) && r.ContentLength != 0 && hasToken(r.Header["Expect"], "100-continue") {
		x.waits, x.body.leave = true, x.leave
	}
	if x.isCall() {
		s.counters.calls.Add(1)
	} else {
		s.counters.passed.Add(1)
	}
	// An earlier request on this connection may have left a deadline.
	x.rc.SetWriteDeadline(time.Time{})
	return x
}

// severalTenants reports whether tenants share memory and connections.
func (s *Server) severalTenants(cur *routing) bool {
	return cur.tenants > 1 || s.stored != nil && s.needsToken(cur)
}

func (x *exchange) isCall() bool { return x.route.format != wire.Auto }

// forward sends the request upstream, by way of the engine, and relays the answer.
func (x *exchange) forward() {
	x.memory.Tenant = x.tenant
	x.beginTrace()
	out := &http.Request{
		Method:        x.r.Method,
		URL:           x.up.target(x.route.path, x.r.URL.RawQuery, x.r.URL.ForceQuery),
		Header:        x.outgoingHeader(),
		Host:          x.up.url.Host,
		ContentLength: x.r.ContentLength,
		Trailer:       x.r.Trailer, // filled after the body has been read
		ProtoMajor:    1, ProtoMinor: 1,
	}
	if x.r.ContentLength != 0 {
		out.Body = &x.body
	}
	x.call = forward.Exchange{
		ID: x.id, Tenant: x.tenant, Profile: x.route.profile, Format: x.route.format, Counts: x.route.counts,
		Path: x.route.path, In: x.r, Began: x.began, Memory: x.memory,
	}
	if x.isCall() {
		if server := x.s.windows.Of(x.up.url, x.up.vendor == ollama, x.r.Header); server != nil {
			x.call.Windows = server
		}
	}
	defer x.body.release()
	res, err := x.s.forwarder.Do(&x.call, out, x.roundTrip)
	if reason := x.call.Passed(); reason != "" {
		x.s.counters.passedFor(reason).Add(1)
	}
	if err != nil {
		x.failed(err)
		return
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		x.upgrade(out, res)
		return
	}
	x.relay(res)
}

// hopByHop are the headers of a connection, not of a message (RFC 9110, 7.6.1).
var hopByHop = map[string]bool{
	"Connection": true, "Proxy-Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true,
	"Proxy-Authorization": true,
	"Te":                  true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// endToEnd copies the headers of a message. Values are shared, not copied.
func endToEnd(to, from http.Header) {
	for k, v := range from {
		if !hopByHop[k] {
			to[k] = v
		}
	}
	for _, v := range from["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			// Oriel's own were added after the provider's.
			if name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)); !strings.HasPrefix(name, "X-Oriel-") {
				delete(to, name)
			}
		}
	}
}

// outgoingHeader is the client's header as the provider gets it.
func (x *exchange) outgoingHeader() http.Header {
	in := x.r.Header
	out := make(http.Header, len(in)+2)
	endToEnd(out, in)
	forward.DropOwn(out)
	if protocol := upgradeOf(in); protocol != "" {
		out["Connection"], out["Upgrade"] = []string{"Upgrade"}, []string{protocol}
	}
	if hasToken(in["Te"], "trailers") {
		out["Te"] = []string{"trailers"}
	}
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = nil // else the transport names itself
	}
	// The transport resends a request with such a key in this spelling, even if the
	// provider may have seen it. The model may already be working on it, so the decision
	// belongs to the client that set the key.
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v, ok := out[name]; ok {
			delete(out, name)
			out[strings.ToLower(name)] = v
		}
	}
	if x.s.forwardedFor {
		if host, _, err := net.SplitHostPort(x.r.RemoteAddr); err == nil {
			out["X-Forwarded-For"] = []string{
				strings.Join(append(in["X-Forwarded-For"][:len(in["X-Forwarded-For"]):len(in["X-Forwarded-For"])],
					host), ", ")}
		}
	}
	return out
}

// hasToken reports whether a list of comma-separated words contains token.
func hasToken(values []string, token string) bool {
	for _, v := range values {
		for word := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(word), token) {
				return true
			}
		}
	}
	return false
}

// errConnected marks an error after a connection was made.
type errConnected struct{ error }

func (e errConnected) Unwrap() error { return e.error }

// maxConnections is on how many connections a request is tried. The transport takes the next
// one without end if a provider does not process what is sent (HTTP/2's GOAWAY).
const maxConnections = 8

var errGoesAway = errors.New("the provider closed each connection without processing the request")

// roundTrip sends the request and relays informational answers (1xx).
func (x *exchange) roundTrip(out *http.Request) (*http.Response, error) {
	over, connections := false, 0 // under x.early
	ctx, end := context.WithCancelCause(x.r.Context())
	trace := &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			x.early.Lock()
			defer x.early.Unlock()
			if connections++; connections > maxConnections {
				end(errGoesAway)
			}
		},
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			x.early.Lock()
			defer x.early.Unlock()
			if !over {
				x.sendEarly(code, http.Header(header))
			}
			return nil
		},
	}
	if out.Body != nil && out.GetBody == nil {
		x.rc.EnableFullDuplex() // the provider may answer before it has the whole body
	}
	x.traceSend(out.Header)
	x.s.keepNone(out)
	res, err := x.s.transport.RoundTrip(out.WithContext(httptrace.WithClientTrace(ctx, trace)))
	x.early.Lock()
	defer x.early.Unlock()
	over, x.waits = true, false
	if err != nil {
		if cause := context.Cause(ctx); cause == errGoesAway {
			err = cause
		} else if connections > 0 {
			err = errConnected{err}
		}
		end(nil)
		return nil, err
	}
	x.traceAnswer(res)
	if res.Header.Get("Server") == "llama.cpp" {
		x.s.closes.LoadOrStore(out.URL.Host, new(sync.Once))
	}
	return res, nil
}

// keepNone has a request close its connection if its server keeps none after a stream though it
// says so, as llama.cpp's does: the next request would be lost with the connection, and
// nothing is sent twice. The first time it also closes those that are kept.
func (s *Server) keepNone(out *http.Request) {
	if once, ok := s.closes.Load(out.URL.Host); ok {
		once.(*sync.Once).Do(s.transport.CloseIdleConnections)
		out.Close = true
	}
}

// sendEarly sends an answer before the answer (1xx). The caller holds early. A client that
// waits for leave to send its body (100) gets it once, whoever gives it first: the
// provider, or the proxy when it reads the body.
func (x *exchange) sendEarly(code int, header http.Header) {
	if code == http.StatusContinue {
		if !x.waits {
			return
		}
		x.waits = false
	}
	h := x.w.Header()
	clear(h)
	endToEnd(h, header)
	forward.DropOwn(h)
	x.w.WriteHeader(code)
	clear(h)
	closeIfChunked(x.w, x.r)
}

// leave has the client send its body. net/http would do so by itself at the first read,
// which may be at the same time as sendEarly, and a second time.
func (x *exchange) leave() {
	x.early.Lock()
	defer x.early.Unlock()
	x.sendEarly(http.StatusContinue, nil)
}

// failed answers a request that got no answer.
func (x *exchange) failed(err error) {
	c := &x.s.counters
	var connected errConnected
	switch bad := x.body.failure(); {
	case errors.Is(bad, os.ErrDeadlineExceeded): // before the next case, because it also ends the context
		x.outcome, x.err = &c.clientLeft, fmt.Errorf("%w: %w", ErrClientLeft, bad)
		x.w.Header().Set("Connection", "close")
		x.answer(&refusal{http.StatusRequestTimeout, "request_timeout", x.body.late()})
	case x.r.Context().Err() != nil:
		x.clientLeft(err)
	case bad != nil:
		x.outcome, x.err = &c.clientLeft, fmt.Errorf("%w: %w", ErrClientLeft, bad)
		x.w.Header().Set("Connection", "close")
		x.answer(&refusal{http.StatusBadRequest, "bad_body",
			"the request's body ended too early or is badly framed: send it again"})
	case errors.As(err, &connected):
		x.outcome, x.err = &c.unreachable, fmt.Errorf("%w: %w", ErrUpstream, err)
		x.answer(&refusal{http.StatusBadGateway, "upstream_broke_off", fmt.Sprintf(
			"%s broke off before it answered (%v): try again; it was not asked a second time, as the model may have been at work", x.up.origin(), err)})
	default:
		x.outcome, x.err = &c.unreachable, fmt.Errorf("%w: %w", ErrUpstream, err)
		hint := "check the network and the address, which " + x.up.setting() + " sets"
		if unknown := (*tls.CertificateVerificationError)(nil); errors.As(err, &unknown) {
			hint = "set $SSL_CERT_FILE, where Oriel runs, to the file of the authority that signed its certificate"
		}
		x.answer(&refusal{http.StatusBadGateway, "upstream_unreachable",
			fmt.Sprintf("%s cannot be reached (%v): %s", x.up.origin(), err, hint)})
	}
}

// setting returns the setting that changes the upstream.
func (u *upstream) setting() string { return vendors[u.vendor].setting }

// clientLeft ends an exchange whose client is gone.
func (x *exchange) clientLeft(err error) {
	if !errors.Is(err, ErrClientLeft) {
		err = fmt.Errorf("%w: %w", ErrClientLeft, err)
	}
	x.outcome, x.err = &x.s.counters.clientLeft, err
	x.status = statusClientLeft
	x.abort = true
}

// statusClientLeft is the status that nginx and others log for it.
const statusClientLeft = 499

// refuse answers instead of the provider.
func (x *exchange) refuse(f *refusal) {
	x.outcome, x.err = &x.s.counters.refused, f
	x.answer(f)
}

func (x *exchange) answer(f *refusal) {
	x.status = f.status
	x.body.Close()
	x.call.Header(x.w.Header())
	refuse(x.w, x.route.form(), f)
}

// end finishes the exchange: counters, log line, the engine's call, memory.
func (x *exchange) end() {
	if x.outcome == nil { // a panic of our own; net/http logs it and cuts the connection
		x.outcome, x.err = &x.s.counters.broken, errOurs
	}
	x.outcome.Add(1)
	x.traceEnd()
	x.call.End(x.err)
	x.logEnd()
	x.noteUnread()
	x.memory.LetGo()
	if x.abort {
		panic(http.ErrAbortHandler) // the client sees that the connection ended early
	}
}
