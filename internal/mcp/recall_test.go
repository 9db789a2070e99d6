package mcp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/timeline"
)

// What an agent has in its window is left out only if it is sure which agent calls: the
// default of the tools may be the conversation of another.
func TestRecallLeavesOutOnlyWhatTheCallerHas(t *testing.T) {
	w := newWorld(t)
	w.say(t, "harbour", "The release branch is called mint-otter.")
	c, err := w.store.Conversation(t.Context(), timeline.Local, "harbour")
	if err != nil {
		t.Fatal(err)
	}
	call200 := timeline.Record{Kind: "call", Key: "c-1", At: c.Head, Time: noon,
		Data: []byte(`{"v":1,"format":"openai","path":"/v1/chat/completions","began":"2026-11-02T12:00:00Z","messages":1,"status":200}`)}
	if _, err := w.store.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "harbour", Stay: true,
		Now: noon, Put: []timeline.Record{call200}}); err != nil {
		t.Fatal(err)
	}
	asking := func(conversation string, sure bool) mcp.Options {
		return mcp.Options{Open: w.open, Asking: func(context.Context, string,
			[]byte) (string, bool) {
			return conversation, sure
		}}
	}
	for _, tc := range []struct {
		name  string
		o     mcp.Options
		found bool
	}{
		{"the caller", asking("harbour", true), false},
		{"perhaps the caller", asking("harbour", false), true},
		{"the default", mcp.Options{Open: w.open, Conversation: "harbour"}, true},
		{"whatever was used last", mcp.Options{Open: w.open, Conversation: "last"}, true},
		{"a conversation that is not stored yet", mcp.Options{Open: w.open, Conversation: "new"}, true},
	} {
		text, _, failed := call(t, client(t, tc.o), "recall",
			map[string]any{"query": "What is the release branch called?", "conversation": "harbour"})
		if failed || strings.Contains(text, "mint-otter") != tc.found {
			t.Errorf("%s: %s", tc.name, text)
		}
	}
}
