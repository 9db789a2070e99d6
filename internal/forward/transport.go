package forward

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/wire"
)

// ErrUpstream ends a call that the provider did not answer, or not to the end.
var ErrUpstream = errors.New("the provider failed")

// Transport returns a RoundTripper that has requests of a tenant go through an engine, and
// sends them by next; nil means http.DefaultTransport. See oriel.Engine.Transport.
func Transport(e *call.Engine, tenant string, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{tenant: tenant, next: next, now: e.Now, budget: NewBudget(DefaultBufferLimit),
		forwarder: New(Options{Engine: Of(e), Report: func(f *Fault) { e.Broke(f.Tenant, f.ID, f) }})}
}

type transport struct {
	tenant    string
	next      http.RoundTripper
	now       func() time.Time
	budget    *Budget
	forwarder *Forwarder
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	path := r.URL.EscapedPath() // as the proxy reads it: a decoded slash in a name is no separator
	x := &Exchange{ID: NewID(), Tenant: t.tenant, Path: path, In: r, Began: t.now(),
		Memory: t.budget.NewMemory(nil)}
	defer x.Memory.LetGo()
	if r.Method == http.MethodPost && r.Body != nil && r.Body != http.NoBody {
		x.Format, x.Counts = wire.CallFormat(path), wire.CountFormat(path)
	}
	out := r.Clone(r.Context())
	DropOwn(out.Header)
	res, err := t.forwarder.Do(x, out, t.next.RoundTrip)
	if err != nil {
		x.endAndWait(x.reason(err))
		return nil, err
	}
	if x.Begun() {
		res.Body = replyBody{x}
	}
	return res, nil
}

// NewID returns a new id of a request.
func NewID() string { return rand.Text()[:16] }

// reason returns why a call ended with an error.
func (x *Exchange) reason(err error) error {
	if x.In.Context().Err() != nil {
		return fmt.Errorf("%w: %w", call.ErrLeft, err)
	}
	return fmt.Errorf("%w: %w", ErrUpstream, err)
}

// endAndWait ends the call and waits for that, so that the engine may be closed afterwards.
func (x *Exchange) endAndWait(err error) {
	if x.guard != nil {
		x.endWithin(err, x.guard.begin)
	}
}

// replyBody is the body of a reply that a program reads.
type replyBody struct{ x *Exchange }

// Read implements io.Reader.
func (b replyBody) Read(p []byte) (int, error) {
	r := &b.x.reply
	for len(p) > 0 {
		r.mu.Lock()
		n, err := copy(p, r.part[r.taken:]), r.err
		r.taken += n
		r.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case err == io.EOF:
			b.x.endAndWait(nil)
			return 0, err
		case err != nil:
			b.x.endAndWait(b.x.reason(err))
			return 0, err
		}
		if _, err := b.x.Next(); err == errEnded {
			return 0, fmt.Errorf("read a reply: %w", err)
		}
	}
	return 0, nil
}

// Close implements io.Closer.
func (b replyBody) Close() error {
	err := b.x.reply.body.Close()
	b.x.endAndWait(call.ErrLeft)
	return err
}
