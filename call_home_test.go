package oriel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// nameless is a client that does not name its conversation and resends its history.
type nameless struct {
	prompt string
	list   []json.RawMessage
}

// ask makes a call by an engine and returns the conversation that it was told.
func (n *nameless) ask(e *oriel.Engine, id, text string) string {
	n.list = append(n.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, text)))
	list := append([]json.RawMessage{json.RawMessage(fmt.Sprintf(`{"role":"system","content":%q}`, n.prompt))}, n.list...)
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`, jsonOf(list))
	c := e.Begin(ctx, &oriel.Request{ID: id, Tenant: timeline.Local, Format: wire.Chat, Path: "/v1/chat/completions", Header: http.Header{}, Body: body})
	c.Response(http.StatusOK, http.Header{"Content-Type": {"application/json"}})
	h := http.Header{}
	c.Header(h)
	c.Write([]byte(`{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`))
	c.End(nil)
	must(oriel.WaitForTest(e))
	n.list = append(n.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	return h.Get("X-Oriel-Conversation")
}

// A conversation that its client does not name, and that comes to another server while the
// store is away, is one conversation when the store is back: the calls of the outage are
// written where they belong, and both servers go on there. Clients that begin with the same
// short words, or have another system prompt, stay apart.
func TestOutageLeavesOneConversation(t *testing.T) {
	store := &flaky{Store: memory.New()}
	store.mode.Store("")
	var engines []*oriel.Engine
	for range 2 {
		e, err := oriel.Open(ctx, oriel.Config{Store: store, Spool: t.TempDir(), Shared: true, NoEmbed: true,
			Waits: oriel.Waits{Store: time.Minute, Spool: time.Second, Write: time.Second, Brief: time.Second, Late: time.Millisecond, Shared: 10 * time.Millisecond}})
		must(err)
		t.Cleanup(func() { must(e.Close()) })
		engines = append(engines, e)
	}
	agent := &nameless{prompt: "You write programs."}
	stranger, other := &nameless{prompt: "You help."}, &nameless{prompt: "You help."}
	first := agent.ask(engines[0], "a1", "Write a parser for dates.")
	agent.ask(engines[0], "a2", "Also for times.")
	home := stranger.ask(engines[0], "s1", "hi")
	critic := &nameless{prompt: "An entirely different assistant reviews what others wrote, with care, at length and in verse.", list: slices.Clone(agent.list)}
	store.mode.Store("gone")
	agent.ask(engines[1], "a3", "And for zones.")
	agent.ask(engines[1], "a4", "Test it.")
	other.ask(engines[1], "o1", "hi")
	other.ask(engines[1], "o2", "What is new?")
	critic.ask(engines[1], "c1", "Is this any good?")
	store.mode.Store("")
	await(t, "the spool", func() bool { return engines[1].Spool().Calls == 0 })
	for i, e := range engines {
		if got := agent.ask(e, fmt.Sprint("a5", i), "Go on."); got != first {
			t.Errorf("server %d goes on in %s, not in %s", i, got, first)
		}
	}
	stranger.ask(engines[0], "s2", "What is old?")
	other.ask(engines[1], "o3", "And what else?")

	calls := func(name string) string {
		keys, err := store.RecordKeys(ctx, timeline.Local, name, "call")
		must(err)
		slices.Sort(keys)
		return strings.Join(keys, " ")
	}
	all, err := store.Conversations(ctx, timeline.Local)
	must(err)
	want := map[string]bool{"a1 a2 a3 a4 a50 a51": true, "s1 s2": true, "o1 o2 o3": true, "c1": true}
	for _, c := range all {
		if !want[calls(c.Name)] {
			t.Errorf("conversation %s has the calls %s", c.Name, calls(c.Name))
		}
		delete(want, calls(c.Name))
	}
	if len(want) > 0 || calls(home) != "s1 s2" {
		t.Errorf("%d conversations; no conversation with the calls %v", len(all), want)
	}
	c, err := store.Conversation(ctx, timeline.Local, first)
	must(err)
	n := 0
	must(store.Messages(ctx, timeline.Local, c.Head, 1, math.MaxInt64, true, func(*timeline.Entry) error { n++; return nil }))
	if n != len(agent.list) {
		t.Errorf("%d of %d messages are on the way to the head", n, len(agent.list))
	}
}
