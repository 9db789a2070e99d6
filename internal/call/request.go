package call

import (
	"net/http"
	"time"

	"github.com/oriel-context/oriel/wire"
)

// Request is a request for a model's reply, as a client sent it.
type Request struct {
	// ID names the call in events and logs.
	ID string
	// Tenant is whose history the call belongs to. Default: Config.Tenant.
	Tenant string
	// Profile is the profile that the call names; empty if it names none.
	Profile string
	// Format is the wire format of the body.
	Format wire.Format
	// Path is the path of the request, without the query.
	Path string
	// Header is the client's, X-Oriel-* included. It holds keys, which are never
	// stored. It is read-only.
	Header http.Header
	// Query is the client's raw query. It may hold keys, which are never stored.
	Query string
	// Body is the request, decoded if it came compressed. It is read-only and must
	// not change after the call.
	Body []byte
	// Began is when the request arrived.
	Began time.Time
	// Memory accounts for what the call keeps of its body and its reply, until the
	// call is stored. Nil: without limit.
	Memory Memory
}

// Memory is the share of a memory budget that one call holds. Whoever uses the memory
// holds it; when the last holder lets go, everything is given back. All methods are safe
// for concurrent use.
type Memory interface {
	// Take reserves n bytes and reports whether they may be used.
	Take(n int64) bool
	// Give returns n bytes that were taken.
	Give(n int64)
	// Hold keeps what is taken until LetGo is called once more.
	Hold()
	// LetGo ends one Hold.
	LetGo()
}
