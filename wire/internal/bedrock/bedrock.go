// Package bedrock is what the protocols at Amazon Bedrock's own paths share: the paths, the frames
// in which replies are streamed, and how requests are refused.
//
// A frame whose checksums are wrong is never read as another one. The package reads frames; it
// does not write them.
package bedrock

import (
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
