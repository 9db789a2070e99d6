package wire

import (
	"slices"
	"strings"
)

// CallFormat returns the format of a call by the path that it is posted to: with /v1,
// without it, or behind a provider's own prefix. It returns Auto for any other path.
func CallFormat(path string) Format {
	at := func(resource string, prefixes ...string) bool {
		rest, ok := strings.CutSuffix(path, resource)
		return ok && (rest == "" || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasSuffix(rest, p) }))
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat
	case at("/responses", "/v1", "/openai"):
		return Responses
	case at("/messages", "/v1"): // not /v1/threads/ID/messages
		return Anthropic
	}
	return Auto
}

// CountFormat returns the format of a request that asks only how many tokens a call would
// have, by its path. It returns Auto for any other path.
func CountFormat(path string) Format {
	if call, ok := strings.CutSuffix(path, "/count_tokens"); ok && CallFormat(call) == Anthropic {
		return Anthropic
	}
	if call, ok := strings.CutSuffix(path, "/input_tokens"); ok && CallFormat(call) == Responses {
		return Responses
	}
	return Auto
}
