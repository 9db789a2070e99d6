package anthropic

import (
	"encoding/json"
	"net/http"
	"regexp"
)

func refusal(status int, _, message string) []byte {
	var r struct {
		Type  string `json:"type"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	r.Type, r.Error.Type, r.Error.Message = "error", errorType(status), message
	body, _ := json.Marshal(r) // strings alone cannot fail
	return body
}

// errorType returns the vendor's type of an error with a status.
func errorType(status int) string {
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

var tooLong = []string{
	`prompt is too long: <prompt> tokens > <limit>`,
	"input length and `?max_tokens`? exceed context limit: <size> \\+ <reply> > <limit>",
	`request exceeds the maximum size`,
}

var unbound = regexp.MustCompile("^messages\\.[0-9]+\\.content\\.[0-9]+: invalid `signature` in `thinking` block\\. " +
	"the block is bound to a different conversation")
