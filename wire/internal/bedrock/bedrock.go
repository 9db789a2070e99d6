// Package bedrock is what the protocols at Amazon Bedrock's own paths share: the paths, the frames
// in which replies are streamed, and how requests are refused.
//
// A frame whose checksums are wrong is never read as another one. The package reads frames; it
// does not write them.
package bedrock

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Split returns the model and the action of a path …/model/MODEL/ACTION; both are empty for any
// other path. The model is an id or an ARN, whose slash some clients do not escape.
func Split(path string) (model, action string) {
	end := strings.LastIndexByte(path, '/')
	if end < 0 {
		return "", ""
	}
	action = path[end+1:]
	const collection = "/model/"
	at := strings.Index(path[:end], collection)
	if at < 0 {
		return "", ""
	}
	model, err := url.PathUnescape(path[at+len(collection) : end])
	if err != nil || model == "" || strings.Contains(model, "/") && !IsARN(model) {
		return "", ""
	}
	return model, action
}

// IsARN reports whether a model is named by an ARN, which may be that of a profile and then does
// not name the model.
func IsARN(model string) bool { return strings.HasPrefix(model, "arn:") }

// TooLong is the sentence with which Bedrock refuses a request that is too long. Claude's own
// sentences come through it, too.
var TooLong = []string{
	`input is too long for requested model`,
}

// Refusal returns an error as Bedrock writes it. AWS's SDKs read the type from the body if no header
// has it.
func Refusal(status int, _, message string) []byte {
	var r struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	r.Type, r.Message = errorType(status), message
	body, _ := json.Marshal(r) // strings alone cannot fail
	return body
}

// errorType returns Bedrock's type of an error with a status.
func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "AccessDeniedException"
	case http.StatusNotFound:
		return "ResourceNotFoundException"
	case http.StatusTooManyRequests:
		return "ThrottlingException"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "ModelTimeoutException"
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return "ServiceUnavailableException"
	}
	if status >= http.StatusInternalServerError {
		return "InternalServerException"
	}
	return "ValidationException"
}
