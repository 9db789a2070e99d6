package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/forward"
	"github.com/oriel-context/oriel/internal/proxy/socket"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/wire"
)

// wsConnection is a WebSocket whose calls are read. One goroutine reads the client's messages and
// one the provider's; each call has one while it runs.
type wsConnection struct {
	x              *exchange
	client, up     *websocket.Conn
	header         http.Header // of the client, without what belongs to the handshake
	ctx            context.Context
	calls, running sync.WaitGroup // goroutines of lanes, and others

	mu      sync.Mutex // protects what follows
	history *socket.History
	lanes   map[string]*lane
	waiting int   // calls in queues
	gone    error // why no call can go on; nil as long as the connection is whole
	ending  bool  // the connection is closed when no call runs

	attempts int // that were sent
}

// takesSocket reports whether a request asks for a WebSocket whose calls can be read.
func (x *exchange) takesSocket() bool {
	format := wire.CallFormat(x.route.path)
	return x.s.engine != nil && !x.s.routing.Load().noSockets && format != wire.Auto && format.Protocol().Sockets &&
		strings.EqualFold(upgradeOf(x.r.Header), "websocket") && x.r.Method == http.MethodGet
}

var errNoSocket = errors.New("the provider refused the WebSocket")

// noAccess is the reason for which a connection is closed whose token is no longer valid.
const noAccess = "the token is no longer valid"

// hasNoSockets are the answers of servers that do not know calls over WebSocket. Clients use HTTP
// after the status 426, and Codex after no other one.
var hasNoSockets = []int{http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// socket connects the client to the provider and reads what they say. A provider that does not
// accept the WebSocket answers the client.
func (x *exchange) socket() {
	x.memory.Tenant = x.tenant
	up, res := x.dialSocket()
	if up == nil {
		return
	}
	defer up.CloseNow()
	h := x.w.Header()
	endToEnd(h, res.Header)
	for _, name := range []string{"Sec-Websocket-Accept", "Sec-Websocket-Extensions", "Sec-Websocket-Protocol"} {
		delete(h, name)
	}
	x.rc.SetReadDeadline(time.Time{})
	// Origins were checked with the rules for all requests. Without compression a message has
	// one form, and takes no memory beside its own.
	options := &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled}
	if p := up.Subprotocol(); p != "" {
		options.Subprotocols = []string{p}
	}
	client, err := websocket.Accept(x.w, x.r, options)
	if err != nil {
		x.outcome, x.err, x.status = &x.s.counters.refused, err, http.StatusBadRequest
		return
	}
	defer client.CloseNow()
	defer x.s.connections.ended(x.r.Context())
	x.status, x.outcome, x.reads = http.StatusSwitchingProtocols, &x.s.counters.sockets, true
	c := &wsConnection{x: x, client: client, up: up, header: callHeader(x.r.Header), lanes: map[string]*lane{}}
	c.history = socket.NewHistory(x.memory.Take, x.memory.Give)
	if !x.s.upgrades.add(c) {
		return
	}
	defer x.s.upgrades.remove(c)
	c.run()
}

// dialSocket asks the provider for a WebSocket. If there is none, it has answered the client.
func (x *exchange) dialSocket() (*websocket.Conn, *http.Response) {
	header := x.outgoingHeader()
	options := &websocket.DialOptions{HTTPHeader: header, CompressionMode: websocket.CompressionDisabled}
	for _, v := range header["Sec-Websocket-Protocol"] {
		for name := range strings.SplitSeq(v, ",") {
			options.Subprotocols = append(options.Subprotocols, strings.TrimSpace(name))
		}
	}
	for name := range header {
		if strings.HasPrefix(name, "Sec-Websocket-") {
			delete(header, name)
		}
	}
	var refused *http.Response
	var failed error
	options.HTTPClient = &http.Client{Transport: roundTripper(func(out *http.Request) (*http.Response, error) {
		out.URL, out.Host = x.up.target(x.route.path, x.r.URL.RawQuery, x.r.URL.ForceQuery), x.up.url.Host
		x.call = forward.Exchange{ID: x.id, Tenant: x.tenant, Path: x.route.path, In: x.r, Began: x.began,
			Memory: x.memory}
		res, err := x.s.forwarder.Do(&x.call, out, x.roundTrip)
		switch {
		case err != nil:
			failed = err
			return nil, err
		case res.StatusCode != http.StatusSwitchingProtocols:
			refused = res
			return nil, errNoSocket
		}
		return res, nil
	})}
	up, res, err := websocket.Dial(x.r.Context(), "http://"+x.up.url.Host, options)
	switch {
	case refused != nil && slices.Contains(hasNoSockets, refused.StatusCode):
		refused.Body.Close()
		x.refuse(&refusal{http.StatusUpgradeRequired, "http_only", fmt.Sprintf(
			"%s has no WebSocket here (status %d): POST the request to the same path", x.up.origin(),
			refused.StatusCode)})
		return nil, nil
	case refused != nil:
		x.relay(refused)
		return nil, nil
	case failed != nil:
		x.failed(failed)
		return nil, nil
	case err != nil:
		x.failed(errConnected{err})
		return nil, nil
	}
	up.SetReadLimit(-1) // memory limits what is kept
	return up, res
}

// callHeader returns the headers of a handshake that also belong to its calls.
func callHeader(h http.Header) http.Header {
	out := make(http.Header, len(h))
	endToEnd(out, h)
	for name := range out {
		if strings.HasPrefix(name, "Sec-Websocket-") {
			delete(out, name)
		}
	}
	return out
}

// Close implements io.Closer: it cuts both connections.
func (c *wsConnection) Close() error {
	return errors.Join(c.client.CloseNow(), c.up.CloseNow())
}

// run relays until one side ends, and then closes the other one in the same way.
func (c *wsConnection) run() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.x.r.Context()))
	defer cancel()
	c.ctx = ctx
	c.running.Go(func() { // it ends with ctx
		c.x.s.watchAccess(ctx, func() { c.client.Close(websocket.StatusPolicyViolation, noAccess) },
			c.x.r.WithContext(ctx), &c.x.route, c.x.access)
	})
	defer context.AfterFunc(c.x.s.ending, c.endWhenIdle)()
	c.client.SetReadLimit(-1)

	type end struct {
		err    error
		client bool
	}
	ends := make(chan end, 2)
	go func() { ends <- end{c.readProvider(), false} }()
	go func() { ends <- end{c.readClient(), true} }()
	first := <-ends
	other := c.client
	why := fmt.Errorf("%w: %w", ErrUpstream, first.err)
	if first.client {
		other, why = c.up, fmt.Errorf("%w: %w", ErrClientLeft, first.err)
	}
	c.breakOff(why)
	if !first.client {
		c.calls.Wait() // the client gets everything that came
	}
	closeLike(other, first.err)
	cancel()
	<-ends
	c.calls.Wait()
	c.running.Wait()
	c.mu.Lock()
	c.history.Forget()
	c.mu.Unlock()
}

// closeLike closes a connection as the other one was.
func closeLike(conn *websocket.Conn, err error) {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		conn.Close(closed.Code, closed.Reason)
	} else {
		conn.CloseNow() // without a close frame the connection broke, and does so for the other side
	}
}

// endWhenIdle closes the connection when no call runs: the proxy is to end.
func (c *wsConnection) endWhenIdle() {
	c.mu.Lock()
	c.ending = true
	idle := len(c.lanes) == 0
	c.mu.Unlock()
	if idle {
		c.closeBoth()
	}
}

// closeBoth closes both connections. Each side has five seconds to agree.
func (c *wsConnection) closeBoth() {
	var sides sync.WaitGroup
	sides.Go(func() { c.client.Close(websocket.StatusGoingAway, "the proxy ends: connect again") })
	sides.Go(func() { c.up.Close(websocket.StatusGoingAway, "") })
	sides.Wait()
}

// breakOff ends the calls that run.
func (c *wsConnection) breakOff(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = why
	for _, l := range c.lanes {
		if l.active != nil {
			l.active.fail(why)
		}
	}
}

// write sends a message to one side, which has to take it in time.
func (c *wsConnection) write(to *websocket.Conn, kind websocket.MessageType, p []byte) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.x.s.write)
	defer cancel()
	return to.Write(ctx, kind, p)
}

// name notes that a message of the client is not read.
func (c *wsConnection) name(why string) {
	keys := secret.OfRefused(c.x.r.Header, c.x.r.URL.RawQuery)
	clean := func(text string) string { return clip.To(keys.Clean(clip.To(text, clip.Text)), clip.Name/2) }
	client, _, _ := strings.Cut(c.x.r.Header.Get("User-Agent"), " ")
	key := Unread{Client: clean(client), Path: clean(c.x.route.path), Why: clean(why)}
	if c.x.s.unreads.add(c.x.tenantOrLocal(), key, c.x.s.now()) {
		c.x.s.log.Warn("a client's WebSocket messages are not read: they go as they came", "client", key.Client,
			"path", key.Path, "why", key.Why, "id", c.x.id)
	}
}
