package chat

import (
	"slices"
	"strings"
)

// observations are the beginnings of what agents without tool calls of their model, such as
// those of smolagents, mini-swe-agent, Cline and Roo Code, send as a user's message: what a
// tool has returned.
var observations = []string{"Observation:", "OBSERVATION:", "<observation>", "<returncode>", "<tool_result",
	"<tool_response", "<function_result"}

// observes reports whether a user's message is only what a tool returned, in the form of
// text: it begins as that and has no words of a person.
func (m *Message) observes() bool {
	if m.Role != User || len(m.Parts) == 0 ||
		slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Kind != Text }) {
		return false
	}
	head := m.Parts[0].Text
	if head = head[:min(len(head), longTitle)]; len(head) < 2 || strings.IndexByte(`OTFE[<tfe \`, head[1]) < 0 {
		return false // most texts need no decoding
	}
	text := strings.TrimLeft(m.Parts[0].Text.String(), " \t\r\n")
	begins := slices.ContainsFunc(observations, func(o string) bool { return strings.HasPrefix(text, o) })
	return (begins || announced(text) == 0 && len(text) > 0) &&
		!slices.ContainsFunc(m.Words(), func(w string) bool { return w != "" })
}
