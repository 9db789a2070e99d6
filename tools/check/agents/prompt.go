package agents

import (
	"encoding/json"
	"regexp"
)

// volatile matches what changes from call to call and is not part of a prompt:
// cache marks, and Claude Code's billing line.
var volatile = regexp.MustCompile(`,?\s*"cache_control":\s*\{[^{}]*\}|x-anthropic-billing-header:[^"]*`)

// prompt returns what a provider's cache sees of a body: tools, system and
// messages, and how many bytes of it are messages.
func prompt(body []byte) (all []byte, messages int) {
	var b struct {
		Tools, System, Instructions, SystemInstruction json.RawMessage
		Messages, Input, Contents                      []json.RawMessage
	}
	if json.Unmarshal(body, &b) != nil {
		return body, len(body)
	}
	add := func(parts ...json.RawMessage) {
		for _, part := range parts {
			all = append(append(all, volatile.ReplaceAll(part, nil)...), '\n')
		}
	}
	add(b.Tools, b.System, b.Instructions, b.SystemInstruction)
	fixed := len(all)
	add(b.Messages...)
	add(b.Input...)
	add(b.Contents...)
	return all, len(all) - fixed
}

// shared returns the length of the common beginning of two prompts.
func shared(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
