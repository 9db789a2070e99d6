package call

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/internal/send"
	"github.com/oriel-context/oriel/wire"
)

// MaxBody is the size of the largest decoded body that Transport inspects. Larger bodies
// are sent unchanged.
const MaxBody = 64 << 20

// Transport returns a RoundTripper that has requests of a tenant go through Begin, and sends
// them by next; nil means http.DefaultTransport. See oriel.Engine.Transport.
func (r *Engine) Transport(tenant string, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{engine: r, tenant: tenant, next: next}
}

type transport struct {
	engine *Engine
	tenant string
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var format, count wire.Format
	if r.Method == http.MethodPost && r.Body != nil && r.Body != http.NoBody {
		format, count = wire.CallFormat(r.URL.Path), wire.CountFormat(r.URL.Path)
	}
	out := r.Clone(r.Context())
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Oriel-") {
			delete(out.Header, name)
		}
	}
	bypass := r.Header.Get("X-Oriel-Bypass")
	if format == wire.Auto && count == wire.Auto || bypass == "1" || strings.EqualFold(bypass, "true") {
		return t.next.RoundTrip(out)
	}
	x := &roundTrip{transport: t, in: r, out: out, id: rand.Text()[:16]}
	body, err := x.read()
	if err != nil {
		return nil, err
	}
	if body == nil {
		return t.next.RoundTrip(out)
	}
	request := &Request{
		ID: x.id, Tenant: t.tenant, Profile: r.Header.Get("X-Oriel-Profile"), Format: format, Path: r.URL.Path,
		Header: r.Header, Query: r.URL.RawQuery, Body: body, Began: t.engine.o.Now(),
	}
	if count != wire.Auto {
		request.Format = count
		x.guard(func() {
			if body := t.engine.Count(r.Context(), request); body != nil {
				send.ReplaceBody(out, body)
			}
		})
		return t.next.RoundTrip(out)
	}
	// A client that leaves does not interrupt the engine.
	x.guard(func() {
		begun := t.engine.Begin(context.WithoutCancel(r.Context()), request)
		if body := begun.Body(); body != nil {
			send.ReplaceBody(out, body)
		}
		x.call = begun
	})
	return x.send()
}

// roundTrip is one call on its way.
type roundTrip struct {
	*transport
	in, out *http.Request
	id      string
	call    *Call // nil if Begin panicked
}

// guard runs do and reports a panic of the engine as an event: the call goes on.
func (x *roundTrip) guard(do func()) {
	defer func() {
		if p := recover(); p != nil {
			x.engine.Panicked(x.tenant, x.id, p)
		}
	}()
	do()
}

// read reads the body and makes the request send it. It returns the decoded body, or nil
// if the body cannot be looked at.
func (x *roundTrip) read() ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(x.in.Body, MaxBody+1))
	if err != nil {
		return nil, errors.Join(err, x.in.Body.Close())
	}
	if len(raw) > MaxBody {
		x.out.Body = send.Continued(raw, x.in.Body, x.in.Body)
		x.engine.Unseen(x.tenant, x.id, fmt.Sprintf("its body has more than %d bytes", MaxBody))
		return nil, nil
	}
	if err := x.in.Body.Close(); err != nil {
		return nil, err
	}
	send.SetBody(x.out, raw)
	encoding := strings.Join(x.in.Header["Content-Encoding"], ",")
	if encoding == "" {
		return raw, nil
	}
	body, err := decode(encoding, raw)
	if err != nil {
		x.engine.Unseen(x.tenant, x.id, "its body cannot be decoded: "+err.Error())
		return nil, nil
	}
	return body, nil
}

// decode undoes a Content-Encoding.
func decode(encoding string, raw []byte) ([]byte, error) {
	r, err := wire.Decode(encoding, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	if err == nil && len(body) > MaxBody {
		err = fmt.Errorf("it has more than %d bytes", MaxBody)
	}
	return body, err
}

// send sends the call, again with less if it is refused, and has the reply recorded.
func (x *roundTrip) send() (*http.Response, error) {
	res, err := send.Do(x.out, x, x.next.RoundTrip)
	if err != nil {
		if x.call != nil {
			x.guard(func() { x.call.End(err) })
		}
		return nil, err
	}
	for name := range res.Header {
		if strings.HasPrefix(name, "X-Oriel-") {
			delete(res.Header, name) // only Oriel sets them
		}
	}
	if x.call == nil {
		return res, nil
	}
	x.guard(func() {
		x.call.Response(res.StatusCode, res.Header)
		x.call.Header(res.Header)
	})
	res.Body = &recordedReply{ReadCloser: res.Body, x: x}
	return res, nil
}

// Again implements send.Call.
func (x *roundTrip) Again() (again bool) {
	x.guard(func() { again = x.call != nil && x.call.Again() })
	return again
}

// Refused implements send.Call.
func (x *roundTrip) Refused(status int, text []byte) (body []byte) {
	x.guard(func() { body = x.call.Refused(status, text) })
	return body
}

// recordedReply is the body of a reply that is copied to its call as it is read.
type recordedReply struct {
	io.ReadCloser
	x *roundTrip

	mu    sync.Mutex // Close may come while Read waits; protects what follows
	ended bool
}

// Read implements io.Reader.
func (r *recordedReply) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > 0 && !r.ended {
		r.x.guard(func() { r.x.call.Write(p[:n]) })
	}
	if err == io.EOF {
		r.end(nil)
	} else if err != nil {
		r.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (r *recordedReply) Close() error {
	err := r.ReadCloser.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(ErrLeft)
	return err
}

// end ends the call once. The caller holds mu.
func (r *recordedReply) end(err error) {
	if !r.ended {
		r.ended = true
		r.x.guard(func() { r.x.call.End(err) })
	}
}
