package view

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// lacks reports whether the history has something that the view does not show: what a cut
// has left out, and what the request lacks.
func (e *draft) lacks() bool { return len(e.hidden) > 0 || e.request.lacks() }

// lacks reports whether the client itself has dropped, emptied or compacted something. What
// the provider holds of a history, its model sees.
func (s *request) lacks() bool {
	if h := &s.Body.Hints; h.Previous != "" || h.Conversation != "" {
		return false
	}
	return len(s.emptied) > 0 || len(s.Thread.Before) > s.Thread.Head || s.Thread.Continues != ""
}

// blockOf returns the name that a block of another conversation has, also if that has it
// from a third one.
func blockOf(conversation, block string) string {
	if strings.Contains(block, "#") {
		return block
	}
	return conversation + "#" + block
}

// emptiedIn returns the messages that consist of results whose content their client has
// left out, by index from lead on.
func emptiedIn(messages []chat.Message, lead int) map[int]bool {
	out := map[int]bool{}
	for i := range messages {
		if chat.Emptied(&messages[i]) {
			out[lead+i] = true
		}
	}
	return out
}
