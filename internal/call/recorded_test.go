package call_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// callReads is a store that notes which records of calls are read.
type callReads struct {
	timeline.Store
	mu   sync.Mutex // protects keys
	keys []string
}

// read returns the keys of the records that were read since the last time.
func (s *callReads) read() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.keys = nil }()
	return s.keys
}

func (s *callReads) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	if kind == "call" {
		s.mu.Lock()
		s.keys = append(s.keys, key)
		s.mu.Unlock()
	}
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

// conversationOf opens a conversation of a store by an engine of its own.
func conversationOf(t *testing.T, store timeline.Store, name string) *oriel.Conversation {
	t.Helper()
	e, err := oriel.Open(ctx, oriel.Config{Store: store, NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c, err := e.Conversation(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A conversation that came by calls is known by their keys: none of their records is read.
func TestOpeningAConversationReadsNoCall(t *testing.T) {
	store := &callReads{Store: memory.New()}
	put := func(keys ...string) {
		t.Helper()
		c := timeline.Change{Conversation: "c", Stay: true, Now: time.Now()}
		for _, k := range keys {
			c.Put = append(c.Put, timeline.Record{Kind: "call", Key: k, Data: []byte("{}")})
		}
		if _, err := store.Apply(ctx, timeline.Local, c); err != nil {
			t.Fatal(err)
		}
	}
	put("import 1", "import 2", "call-1", "import 3")
	if err := conversationOf(t, store, "c").Unpin(ctx, 7); !errors.Is(err, oriel.ErrNoItem) {
		t.Errorf("%v", err)
	}
	if keys := store.read(); len(keys) > 0 {
		t.Errorf("records were read: %q", keys)
	}
}

// Whether a message fits beside others depends on the latest call, and no other is read.
func TestUndoReadsTheLatestCallAlone(t *testing.T) {
	store := &callReads{Store: memory.New()}
	k := newTalker(start(t, store, replying, thrifty), "X-Oriel-Budget", "3000")
	k.untilCut()
	k.settle(k.calls)
	calls, err := store.RecordKeys(ctx, timeline.Local, "talk", "call")
	if err != nil || len(calls) < 3 {
		t.Fatal(calls, err)
	}
	store.read()
	if u, err := conversationOf(t, store, "talk").WouldUndo(ctx, ""); err != nil || u.Plan == "" {
		t.Errorf("%+v, %v", u, err)
	}
	if keys := store.read(); !slices.Equal(keys, calls[len(calls)-1:]) {
		t.Errorf("records read: %q of %q", keys, calls)
	}
}

// What an undo brings back is counted as calls are: by what the provider reported.
func TestUndoCountsAsTheProviderDoes(t *testing.T) {
	const model = "claude-sonnet-4-5"
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body, err := wire.Read(raw, wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Error(err)
			return
		}
		tokens := token.NewCounter(token.Builtin().Lookup(model), token.Options{}).Request(&body.Request).Total / 2
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":3}}`, model, tokens)
	}))
	defer provider.Close()
	written := make(chan oriel.Event, 100)
	e, err := oriel.Open(call.With(ctx,
		call.Inside{Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute}}),
		oriel.Config{NoEmbed: true, Store: memory.New(), Events: func(e oriel.Event) {
			if e.Kind == oriel.EventCall {
				written <- e
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	client := &http.Client{Transport: e.Transport(&http.Transport{DisableKeepAlives: true})}
	send := func(conversation, budget string, turns int) oriel.Event {
		var list []string
		for i := range turns {
			list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`,
				fmt.Sprintf("Question %d of %s: ", i, conversation)+strings.Repeat("how does the harbour work? ", 100)),
				`{"role":"assistant","content":"Done."}`)
		}
		body := fmt.Sprintf(`{"model":%q,"max_tokens":100,"messages":[%s,{"role":"user","content":"go on"}]}`, model,
			strings.Join(list, ","))
		res, answer := post(t, client, provider.URL+"/v1/messages", body, "X-Oriel-Conversation", conversation,
			"X-Oriel-Budget", budget)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", res.Status, answer)
		}
		return <-written
	}
	for turns := range 12 {
		send("before", "100000", turns+1)
	}
	for turns := 5; ; turns++ {
		if begun := send("talk", "6000", turns); begun.Plan != "" {
			break
		}
	}
	c, err := e.Conversation(ctx, "talk")
	if err != nil {
		t.Fatal(err)
	}
	u, err := c.WouldUndo(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Pin(ctx, u.Back[0]); err != nil {
		t.Error(err)
	}
}
