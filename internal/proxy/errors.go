package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/oriel-context/oriel/wire"
)

// refusal is Oriel's own error response, in the vendor's format, so that SDKs raise
// the same error as for the vendor's.
type refusal struct {
	status  int
	kind    string // the error's type or code
	message string // what, where, what to do
}

func (f *refusal) Error() string { return f.message }

// refuse writes f in the form of a protocol.
func refuse(w http.ResponseWriter, form wire.Format, f *refusal) {
	body := form.Protocol().Refusal(f.status, f.kind, "oriel: "+f.message)
	h := w.Header()
	if f.status == http.StatusTooManyRequests && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
	h.Set("X-Oriel-Action", joinAction(h.Get("X-Oriel-Action"), "error"))
	writeBody(w, f.status, body)
}

// joinAction adds an action to a list; "none" disappears beside another action.
func joinAction(have, more string) string {
	switch have {
	case "", "none", more:
		return more
	}
	return have + "+" + more
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // impossible for these types
		status, body = http.StatusInternalServerError, []byte(`{}`)
	}
	writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
