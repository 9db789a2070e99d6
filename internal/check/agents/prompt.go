package agents

import (
	"encoding/json"
	"regexp"
)

// volatile is what changes from call to call and is no part of a prompt: cache marks, and
// the line by which Claude Code's vendor bills.
var volatile = regexp.MustCompile(`,?"cache_control":\{[^{}]*\}|x-anthropic-billing-header:[^"]*`)

// prompt is what a provider's cache sees of a body: tools, system, and messages, which
// are so many bytes of it.
func prompt(body []byte) (all []byte, messages int) {
	var b struct {
		Tools, System, Instructions json.RawMessage
		Messages, Input             []json.RawMessage
	}
	if json.Unmarshal(body, &b) != nil {
		return body, len(body)
	}
	add := func(parts ...json.RawMessage) {
		for _, part := range parts {
			all = append(append(all, volatile.ReplaceAll(part, nil)...), '\n')
		}
	}
	add(b.Tools, b.System, b.Instructions)
	fixed := len(all)
	add(b.Messages...)
	add(b.Input...)
	return all, len(all) - fixed
}

// shared is how many bytes two prompts begin with alike.
func shared(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
