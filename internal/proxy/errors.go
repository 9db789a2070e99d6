package proxy

import (
	"encoding/json"
	"net/http"
)

// refusal is Oriel's own error response, in the vendor's format, so that SDKs raise
// the same error as for the vendor's.
type refusal struct {
	status  int
	kind    string // the error's type or code
	message string // what, where, what to do
}

func (f *refusal) Error() string { return f.message }

// refuse writes f in the format of vendor v.
func refuse(w http.ResponseWriter, v vendor, f *refusal) {
	var body any
	if v == anthropic {
		body = struct {
			Type  string `json:"type"`
			Error any    `json:"error"`
		}{"error", struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		}{anthropicType(f.status), "oriel: " + f.message}}
	} else {
		body = struct {
			Error any `json:"error"`
		}{struct {
			Message string  `json:"message"`
			Type    string  `json:"type"`
			Param   *string `json:"param"`
			Code    string  `json:"code"`
		}{"oriel: " + f.message, "oriel_error", nil, f.kind}}
	}
	h := w.Header()
	if f.status == http.StatusTooManyRequests && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
	h.Set("X-Oriel-Action", joinAction(h.Get("X-Oriel-Action"), "error"))
	writeJSON(w, f.status, body)
}

// anthropicType returns Anthropic's error type for a status.
func anthropicType(status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusRequestTimeout:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	}
	return "api_error"
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
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
