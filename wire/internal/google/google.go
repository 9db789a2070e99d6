// Package google is what the protocols of Google share: how it refuses requests.
package google

import (
	"encoding/json"
	"net/http"
)

// TooLong are the sentences with which Google refuses a request that is too long; both count
// the prompt alone.
var TooLong = []string{
	`the input token count \(<prompt>\) exceeds the maximum number of tokens allowed \(<limit>\)`,
	`unable to submit request because the input token count is <prompt> but model only supports up to <limit>`,
}

// Refusal returns an error as Google's servers write it: google.rpc.Status, with the code in
// its details.
func Refusal(status int, code, message string) []byte {
	type detail struct {
		Type   string `json:"@type"`
		Reason string `json:"reason"`
		Domain string `json:"domain"`
	}
	var r struct {
		Error struct {
			Code    int      `json:"code"`
			Message string   `json:"message"`
			Status  string   `json:"status"`
			Details []detail `json:"details,omitempty"`
		} `json:"error"`
	}
	r.Error.Code, r.Error.Message, r.Error.Status = status, message, statusOf(status)
	if code != "" {
		r.Error.Details = []detail{{"type.googleapis.com/google.rpc.ErrorInfo", code, "oriel"}}
	}
	body, _ := json.Marshal(r) // strings and a number cannot fail
	return body
}

// statusOf returns Google's word for an HTTP status.
func statusOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return "UNIMPLEMENTED"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	}
	if status >= http.StatusInternalServerError {
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}
