package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oriel-context/oriel/internal/mcp"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// broken is a store that cannot read conversations.
type broken struct{ timeline.Store }

var errBroken = &timeline.StoreError{Op: "read", Path: "/srv/oriel/history.db", Err: errors.New("input/output error"),
	Hint: "look at the disk"}

func (broken) Conversation(context.Context, string, string) (timeline.Conversation, error) {
	return timeline.Conversation{}, errBroken
}

func (broken) Conversations(context.Context, string) ([]timeline.Conversation, error) {
	return nil, errBroken
}

// The causes of failures name files of the server: they are for its log, if it has one, and
// not for the clients of tenants. Mistakes of a client are told to it as ever.
func TestCausesOfFailuresAreForTheLog(t *testing.T) {
	w := openWorld(t, memory.New(), "ann")
	w.say(t, "work", "the ferry leaves at nine")
	w.store = broken{w.store}
	calls := map[string]map[string]any{
		"recall": {"query": "ferry", "conversation": "work"}, "read": {"conversation": "work", "from": 1},
		"list_conversations": {}, "directives": {"conversation": "work"},
		"change_directive": {"conversation": "work", "id": 1}, "pin": {"conversation": "work", "id": 1},
		"unpin": {"conversation": "work", "id": 1}, "undo": {"conversation": "work"},
	}
	for _, logs := range []bool{true, false} {
		var log bytes.Buffer
		o := mcp.Options{Open: w.open, Tenant: "ann"}
		if logs {
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
		}
		c := client(t, o)
		for tool, arguments := range calls {
			log.Reset()
			text, _, failed := call(t, c, tool, arguments)
			if !failed || strings.Contains(text, "/srv") == logs || strings.Contains(log.String(), "/srv") != logs ||
				strings.Count(log.String(), "\n") > 1 {
				t.Errorf("%s, log %v, failed %v: %q, logged %q", tool, logs, failed, text, log.String())
			}
		}
		log.Reset()
		_, err := c.ListResources(t.Context(), &sdk.ListResourcesParams{})
		if err == nil || strings.Contains(err.Error(), "/srv") == logs ||
			strings.Contains(log.String(), "/srv") != logs {
			t.Errorf("resources, log %v: %v, logged %q", logs, err, log.String())
		}
		log.Reset()
		if text, _, failed := call(t, c, "list_conversations", map[string]any{"since": "soon"}); !failed ||
			!strings.Contains(text, "soon") || log.Len() > 0 {
			t.Errorf("a mistake: %q, logged %q", text, log.String())
		}
	}
}
