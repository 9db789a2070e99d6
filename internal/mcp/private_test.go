package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/timeline"
)

// A private conversation is listed, found and read by its own model only.
func TestPrivateConversationsAreForTheirOwnModel(t *testing.T) {
	w := newWorld(t)
	w.say(t, "secret", fact)
	w.say(t, "other", "Hello.")
	private, err := w.store.Conversation(t.Context(), timeline.Local, "secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Apply(t.Context(), timeline.Local, timeline.Change{
		Conversation: "secret", ExpectCreated: private.Created, Stay: true, Now: noon,
		Put: []timeline.Record{{Kind: timeline.KindPrivate, Key: timeline.PrivateKey}},
	}); err != nil {
		t.Fatal(err)
	}
	for own, want := range map[string]int{"": 1, "other": 1, "secret": 2} {
		c := client(t, mcp.Options{Open: w.open, Conversation: own})
		text, got, _ := call(t, c, "list_conversations", nil)
		if strings.Contains(text, "8443") != (want == 2) ||
			!strings.Contains(text, fmt.Sprintf("%d of %d", want, want)) || len(got["conversations"].([]any)) != want {
			t.Errorf("%q: %s", own, text)
		}
		for tool, arguments := range map[string]map[string]any{
			"read":   {"conversation": "secret", "from": 1},
			"recall": {"conversation": "secret", "query": "Which port does the staging server listen on?"},
			"pin":    {"conversation": "secret", "id": 1}, "directives": {"conversation": "secr"},
			"undo": {"conversation": "secret"},
		} {
			text, _, failed := call(t, c, tool, arguments)
			if refused := failed && strings.Contains(text, `conversation "secret" is private`); refused != (want == 1) {
				t.Errorf("%q: %s: %s", own, tool, text)
			}
		}
		for _, scope := range []string{"project", "user", ""} {
			arguments := map[string]any{"query": "Which port does the staging server listen on?"}
			if scope != "" {
				arguments["scope"] = scope
			}
			o := mcp.Options{Open: w.open, Conversation: own, Project: "/src/shop"}
			if text, _, _ := call(t, client(t, o), "recall", arguments); strings.Contains(text,
				"8443") != (own == "secret") {
				t.Errorf("%q: recall in scope %q: %s", own, scope, text)
			}
		}
		if text, _, failed := call(t, c, "read", map[string]any{"conversation": "secrte", "from": 1}); !failed ||
			strings.Contains(text, "secret") != (own == "secret") {
			t.Errorf("%q: %s", own, text)
		}
		if r, err := c.ReadResource(t.Context(),
			&sdk.ReadResourceParams{URI: "oriel://conversations/secret"}); (err != nil) != (want == 1) {
			t.Errorf("%q: %+v, %v", own, r, err)
		}
		if list, err := c.ListResources(t.Context(), nil); err != nil || len(list.Resources) != want {
			t.Errorf("%q: %+v, %v", own, list, err)
		}
	}
}
