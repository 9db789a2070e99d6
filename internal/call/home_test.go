package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// nameless is a client that does not name its conversation and resends its history.
type nameless struct {
	prompt string
	list   []json.RawMessage
	told   string // if set, a name that it was told and sends back
}

// ask makes a call by an engine and returns the conversation that it was given.
func (n *nameless) ask(e *oriel.Engine, id, text string) string {
	n.list = append(n.list, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, text)))
	list := append([]json.RawMessage{json.RawMessage(fmt.Sprintf(`{"role":"system","content":%q}`, n.prompt))},
		n.list...)
	body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":%s}`, jsonOf(list))
	h := http.Header{}
	if n.told != "" {
		h.Set("X-Oriel-Conversation", n.told)
	}
	c := call.Of(e).Begin(ctx, &call.Request{ID: id, Tenant: timeline.Local, Format: wire.Chat,
		Path: "/v1/chat/completions", Header: h, Body: body})
	c.Response(http.StatusOK, http.Header{"Content-Type": {"application/json"}})
	h = http.Header{}
	c.Header(h)
	c.Write([]byte(`{"id":"r","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Noted."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`))
	c.End(nil)
	must(call.Of(e).Wait(ctx))
	n.list = append(n.list, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
	return h.Get("X-Oriel-Conversation")
}

// outage returns a store that can fail, and two engines that share it.
func outage(t *testing.T, inner timeline.Store) (store *flaky, engines []*oriel.Engine) {
	store = &flaky{Store: inner}
	store.mode.Store("")
	for range 2 {
		engines = append(engines, openShared(t, store, t.TempDir()))
	}
	return store, engines
}

func openShared(t *testing.T, store timeline.Store, spool string) *oriel.Engine {
	e, err := oriel.Open(call.With(ctx,
		call.Inside{Waits: call.Waits{Store: time.Minute, Spool: time.Second, Write: time.Second, Brief: time.Second,
			Late: time.Millisecond, Shared: 10 * time.Millisecond}}),
		oriel.Config{Store: store, Spool: spool, Shared: true, NoEmbed: true})
	must(err)
	t.Cleanup(func() { must(e.Close()) })
	return e
}

// storedCalls returns the calls of each conversation.
func storedCalls(store timeline.Store) map[string]string {
	all, err := store.Conversations(ctx, timeline.Local)
	must(err)
	calls := map[string]string{}
	for _, c := range all {
		keys, err := store.RecordKeys(ctx, timeline.Local, c.Name, "call")
		must(err)
		slices.Sort(keys)
		calls[c.Name] = strings.Join(keys, " ")
	}
	return calls
}

// A conversation that its client does not name, and that comes to another server while the
// store is away, is one conversation when the store is back: the calls of the outage are
// written where they belong, and both servers go on there. Clients that begin with the same
// short words, or have another system prompt, stay apart.
func TestOutageLeavesOneConversation(t *testing.T) {
	store, engines := outage(t, memory.New())
	agent := &nameless{prompt: "You write programs."}
	stranger, other := &nameless{prompt: "You help."}, &nameless{prompt: "You help."}
	first := agent.ask(engines[0], "a1", "Write a parser for dates.")
	agent.ask(engines[0], "a2", "Also for times.")
	home := stranger.ask(engines[0], "s1", "hi")
	critic := &nameless{
		prompt: "An entirely different assistant reviews what others wrote, with care, at length and in verse.",
		list:   slices.Clone(agent.list)}
	store.mode.Store("gone")
	agent.ask(engines[1], "a3", "And for zones.")
	agent.ask(engines[1], "a4", "Test it.")
	other.ask(engines[1], "o1", "hi")
	other.ask(engines[1], "o2", "What is new?")
	critic.ask(engines[1], "c1", "Is this any good?")
	store.mode.Store("")
	await(t, "the spool", func() bool { return call.Of(engines[1]).Spool().Calls == 0 })
	for i, e := range engines {
		if got := agent.ask(e, fmt.Sprint("a5", i), "Go on."); got != first {
			t.Errorf("server %d goes on in %s, not in %s", i, got, first)
		}
	}
	stranger.ask(engines[0], "s2", "What is old?")
	other.ask(engines[1], "o3", "And what else?")

	got := storedCalls(store)
	want := map[string]bool{"a1 a2 a3 a4 a50 a51": true, "s1 s2": true, "o1 o2 o3": true, "c1": true}
	for name, calls := range got {
		if !want[calls] {
			t.Errorf("conversation %s has the calls %s", name, calls)
		}
		delete(want, calls)
	}
	if len(want) > 0 || got[home] != "s1 s2" {
		t.Errorf("%d conversations; no conversation with the calls %v", len(got), want)
	}
	c, err := store.Conversation(ctx, timeline.Local, first)
	must(err)
	n := 0
	must(store.Messages(ctx, timeline.Local, c.Head, 1, math.MaxInt64, true,
		func(*timeline.Entry) error { n++; return nil }))
	if n != len(agent.list) {
		t.Errorf("%d of %d messages are on the way to the head", n, len(agent.list))
	}
}

// Clients whose requests begin with the same examples, replies among them, stay apart: no model
// has given those replies.
func TestOutageKeepsClientsWithTheSameExamplesApart(t *testing.T) {
	store, engines := outage(t, memory.New())
	examples := []json.RawMessage{json.RawMessage(`{"role":"user","content":"Translate: cat"}`),
		json.RawMessage(`{"role":"assistant","content":"chat"}`)}
	one := &nameless{prompt: "You translate.", list: slices.Clone(examples)}
	two := &nameless{prompt: "You translate.", list: slices.Clone(examples)}
	one.ask(engines[0], "one", "Translate: the letters of Ann")
	store.mode.Store("gone")
	two.ask(engines[1], "two", "Translate: the letters of Bob")
	store.mode.Store("")
	await(t, "the spool", func() bool { return call.Of(engines[1]).Spool().Calls == 0 })
	if got := storedCalls(store); len(got) != 2 {
		t.Errorf("the calls of two clients are stored as %v", got)
	}
}

// During an outage the store may write a call and its answer may get lost, so that the call is
// written again. It is stored once, even if another process has continued the conversation before
// the second try, and even if the process that makes the second try knows nothing of the first.
func TestOutageCallIsStoredOnceThoughItsConversationMoves(t *testing.T) {
	for _, crash := range []bool{false, true} {
		store, engines := outage(t, memory.New())
		spool := t.TempDir()
		server := openShared(t, store, spool)
		agent := &nameless{prompt: "You write programs."}
		home := agent.ask(engines[0], "a1", "Write a parser for dates.")
		agent.ask(engines[0], "a2", "Also for times.")
		edited := &nameless{prompt: agent.prompt, list: slices.Clone(agent.list[:2])}
		store.mode.Store("gone")
		agent.ask(server, "a3", "And for zones.")
		store.mode.Store("silent")
		await(t, "the call", func() bool { return storedCalls(store.Store)[home] == "a1 a2 a3" })
		store.mode.Store("full")
		edited.ask(openShared(t, store.Store, t.TempDir()), "e1", "No: for weeks.")
		if crash {
			call.Of(server).CrashSpool()
			server = openShared(t, store, spool)
		}
		store.mode.Store("")
		await(t, "the spool", func() bool { return call.Of(server).Spool().Calls == 0 })
		if got := storedCalls(store); len(got) != 1 || got[home] != "a1 a2 a3 e1" {
			t.Errorf("crash %v: the calls are stored as %v", crash, got)
		}
	}
}

// A client that sends back the name that it was given, during the outage or after it, goes on in
// the conversation that its calls were written to.
func TestOutageNameThatIsSentBackLeadsHome(t *testing.T) {
	for _, during := range []bool{false, true} {
		store, engines := outage(t, memory.New())
		agent := &nameless{prompt: "You write programs."}
		home := agent.ask(engines[0], "a1", "Write a parser for dates.")
		agent.ask(engines[0], "a2", "Also for times.")
		store.mode.Store("gone")
		agent.ask(engines[1], "a3", "And for zones.")
		told := agent.ask(engines[1], "a4", "And for weeks.")
		if told == home || told == "" {
			t.Fatalf("a server without the store calls the conversation %q", told)
		}
		if during {
			agent.told = told
		}
		agent.ask(engines[1], "a5", "And for years.")
		store.mode.Store("")
		await(t, "the spool", func() bool { return call.Of(engines[1]).Spool().Calls == 0 })
		agent.told = told
		agent.ask(engines[1], "a6", "Test it.")
		if agent.told = agent.ask(engines[1], "a7", "Go on."); agent.told != home {
			t.Errorf("during %v: %q leads to %q, not to %q", during, told, agent.told, home)
		}
		agent.ask(engines[0], "a8", "Go on.")
		if got := storedCalls(store); len(got) != 1 {
			t.Errorf("during %v: the calls are stored as %v", during, got)
		}
	}
}

// A client may send back the name that it was given to a server that does not know it.
func TestNameThatIsSentBackToAnotherServer(t *testing.T) {
	_, engines := outage(t, memory.New())
	agent := &nameless{prompt: "You write programs."}
	agent.told = agent.ask(engines[0], "a1", "Write a parser for dates.")
	if got := agent.ask(engines[1], "a2", "Also for times."); got != agent.told {
		t.Errorf("%q leads to %q", agent.told, got)
	}
}

// A summary that is made of a conversation of an outage is stored where its calls are, and none
// is stored before them.
func TestOutageSummaryIsStoredWithItsCalls(t *testing.T) {
	store, engines := outage(t, memory.New())
	agent := &nameless{prompt: "You write programs."}
	home := agent.ask(engines[0], "a1", "Write a parser for dates.")
	store.mode.Store("gone")
	agent.ask(engines[1], "a2", "Also for times.")
	told := agent.ask(engines[1], "a3", "And for zones.")
	store.mode.Store("")
	must(call.Of(engines[1]).Summarised(told, "p-early")) // before the calls or after them
	await(t, "the spool", func() bool { return call.Of(engines[1]).Spool().Calls == 0 })
	must(call.Of(engines[1]).Summarised(told, "p-late"))
	keys, err := store.RecordKeys(ctx, timeline.Local, home, "summary")
	must(err)
	if got := storedCalls(store); len(got) != 1 || !slices.Contains(keys, "p-late") {
		t.Errorf("the calls are stored as %v, with the summaries %v", got, keys)
	}
}

// A call of an outage whose conversation is deleted before it is acknowledged begins one that can
// be recognised.
func TestOutageCallOfADeletedConversation(t *testing.T) {
	store, engines := outage(t, memory.New())
	agent := &nameless{prompt: "You write programs."}
	home := agent.ask(engines[0], "a1", "Write a parser for dates.")
	store.mode.Store("gone")
	agent.ask(engines[1], "a2", "Also for times.")
	store.mode.Store("silent")
	await(t, "the call", func() bool { return storedCalls(store.Store)[home] == "a1 a2" })
	store.mode.Store("full")
	_, err := store.Delete(ctx, timeline.Local, home, nil)
	must(err)
	store.mode.Store("")
	await(t, "the spool", func() bool { return call.Of(engines[1]).Spool().Calls == 0 })
	for name, calls := range storedCalls(store) {
		who, err := store.RecordKeys(ctx, timeline.Local, name, "thread")
		must(err)
		if name == home || calls != "a2" || len(who) != 1 {
			t.Errorf("conversation %q (%q was deleted) has the calls %q and is identified by %v", name, home, calls,
				who)
		}
	}
}

// damaged is a store in which a record cannot be read.
type damaged struct {
	timeline.Store
	conversation, kind string
}

func (s *damaged) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	if conversation == s.conversation && kind == s.kind {
		return nil, timeline.ErrDamaged
	}
	return s.Store.Records(ctx, tenant, conversation, kind, key)
}

// A conversation that cannot be read does not keep the calls of an outage in the spool.
func TestOutageCallsDoNotWaitForADamagedConversation(t *testing.T) {
	inner := &damaged{Store: memory.New(), kind: "thread"}
	store, engines := outage(t, inner)
	agent := &nameless{prompt: "You write programs."}
	first := agent.ask(engines[0], "a1", "Write a parser for dates.")
	store.mode.Store("gone")
	agent.ask(engines[1], "a2", "Also for times.")
	inner.conversation = first // no engine reads
	store.mode.Store("")
	await(t, "the spool", func() bool { return call.Of(engines[1]).Spool().Calls == 0 })
	if got := storedCalls(store); len(got) != 2 || got[first] != "a1" {
		t.Errorf("the calls are stored as %v", got)
	}
}
