package serve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// unlisted is a store that cannot list its conversations.
type unlisted struct{ *memory.Store }

func (unlisted) Conversations(context.Context, string) ([]timeline.Conversation, error) {
	return nil, &timeline.StoreError{Op: "read", Path: "/srv/oriel/oriel.db", Err: errors.New("input/output error")}
}

// What a store's error names is for whoever runs the server, and for its log.
func TestMCPTellsOnlyTheOperatorWhyTheStoreFails(t *testing.T) {
	store := unlisted{memory.New()}
	engine, err := oriel.Open(t.Context(), oriel.Config{Store: store, NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	var log bytes.Buffer
	o := Options{Proxy: proxy.Options{Listen: "0.0.0.0:0", Log: slog.New(slog.NewTextHandler(&log, nil)),
		Tokens: map[string]string{"token-of-local-0": timeline.Local, "token-of-ann-012": "ann"}}}
	g := &Gateway{Engine: engine, history: newReopener(t.Context(), "oriel.db",
		func(context.Context) (timeline.Store, error) { return store, nil }, o.Proxy.Log, nil)}
	defer g.history.Close()
	o.Proxy.Console = g.mcp(&o)
	server, err := proxy.New(o.Proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for token, told := range map[string]bool{"token-of-local-0": true, "token-of-ann-012": false} {
		log.Reset()
		r := httptest.NewRequest("POST", "http://192.0.2.1:8780/oriel/mcp",
			strings.NewReader(
				`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_conversations","arguments":{}}}`))
		r.Header.Set("X-Oriel-Token", token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if text := w.Body.String(); !strings.Contains(text, `"isError":true`) ||
			strings.Contains(text, "/srv") != told || strings.Contains(log.String(), "/srv") == told {
			t.Errorf("%s: %d %s, logged %q", token, w.Code, text, log.String())
		}
	}
}
