package call

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

var (
	// ErrLeft is given to Call.End if the client left, or closed the reply, before its end.
	// A client that has the last event of a stream has all of it.
	ErrLeft = errors.New(event.ClientLeft)
	// ErrPlanGone is returned by ReadSent if the plan by which a call was sent is no
	// longer stored.
	ErrPlanGone = errors.New("the plan by which the call was sent is no longer stored")
)

// Call is one request on its way to a model, with its reply; see Engine.Begin. Its
// methods must not be called concurrently.
type Call struct {
	engine  *Engine
	tuning  *tuning
	request *Request
	body    *wire.Body
	told    window.Told    // by the server, of the window of the model
	model   token.Model    // that body names, as its server runs it
	system  []chat.Message // leading system messages
	chain   []chat.Message // the others: the history
	hints   thread.Hints
	thread  *thread.Thread
	// stored is the conversation as the store has it, for the view that is made now.
	stored *timeline.Snapshot
	// found, if not nil, is closed when thread is set, or when the conversation could not
	// be found and thread stays nil.
	found chan struct{}
	crew  *limit.Crew // nil: goroutines of their own
	began time.Time
	ended time.Time // when End was called; before its conversation is found, perhaps

	shown    *view.Result     // what is sent; nil: what came, unseen by any view
	fresh    []*plan.Plan     // cuts that this call made
	fellBack bool             // no view could be made, and shown is what is left
	size     *timeline.Record // the adaptive size, to be stored
	// most is the size that is sent after a refusal; teaches is the limit that is learnt
	// if the provider accepts that. Both may be 0.
	most, teaches int
	gaveUp        bool // the cuts made after a refusal are forgotten
	// decided are the decisions that this call has made known to other processes, and met those
	// of others, and plans, that it has read.
	decided []timeline.Key
	met     []string
	// agreeLeft is what is left of Waits.Agree for this view.
	agreeLeft time.Duration
	named     bool // the provider told the figure
	replied   bool // it is one for the reply, too: the prompt alone was within it
	firm      int  // cuts that were made before the first refusal
	unbound   bool // the provider refused thinking where it stood

	counted chan struct{}   // closed when tokens is there
	written chan struct{}   // closed when the call is stored, or never will be
	taught  atomic.Bool     // there is something to store of what was learnt
	tokens  token.Breakdown // of the prompt

	status int
	// retryAfter is the header Retry-After of an answer that is an error.
	retryAfter string
	first      time.Time // when the answer began
	answer     *answer

	// unrecorded reports that the request could not be read or shown, so that nothing is
	// stored. other is the body to send then; nil means the client's.
	unrecorded bool
	other      []byte

	readKeys sync.Once
	keys     secret.Keys // of the call; see secrets
}

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
	// Windows, if not nil, asks the server of the call for the windows of its models.
	Windows Windows
	// Began is when the request arrived.
	Began time.Time
	// Memory accounts for what the call keeps of its body and its reply, until the
	// call is stored. Nil: without limit.
	Memory Memory
}

// Windows asks a server for the windows with which it runs models.
type Windows interface {
	// Of returns what the server says of a model to which a request goes that asks for a
	// window of asked tokens; 0 for none. It waits briefly at most, and returns what is known.
	Of(ctx context.Context, model string, asked int) window.Told
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
