package oriel

import (
	"net/http"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/forward"
)

// MaxBody is the size of the largest decoded body that Transport inspects. Larger bodies
// are sent unchanged.
const MaxBody = forward.DefaultBodyLimit

// Transport returns a RoundTripper that does in process what Oriel's proxy does: it sends
// a view of each call that fits, records the call with its reply, learns from refusals, and
// brings back what became relevant. next sends the requests; nil means
// http.DefaultTransport.
//
// It works with any SDK that accepts an http.Client. Calls are recognised by method and
// path (OpenAI Chat Completions and Responses, Anthropic Messages); all other requests
// pass unchanged. The headers X-Oriel-Conversation, X-Oriel-Profile, X-Oriel-Budget and
// X-Oriel-Bypass of a request have the same effect as with the proxy, and are not sent;
// the answer has the X-Oriel headers that the proxy would set.
//
// A call is recorded when its reply has been read to the end or closed. Close the engine
// after the last reply.
func (e *Engine) Transport(next http.RoundTripper) http.RoundTripper {
	return forward.Transport(call.Of(e), e.e.Tenant(), next)
}
