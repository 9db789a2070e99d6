package call

import (
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline/memory"
)

// The conversation whose model called a tool is known by the arguments of the call, also if
// several wait and if the tool runs before the reply has ended.
func TestToolsKnowWhoCalledThem(t *testing.T) {
	e := New(Parts{Store: memory.New()}, Options{})
	defer e.Close(t.Context())
	a := &e.asked
	tools := []chat.ToolDef{{Name: "Bash"}, {Name: "mcp__oriel__recall"}}
	call := func(name, arguments string) []chat.Message {
		return []chat.Message{{Role: chat.Assistant,
			Parts: []chat.Part{{Kind: chat.Call, Name: name, Args: []byte(arguments)}}}}
	}
	ask := func(tenant, tool, arguments, want string, sure bool) {
		t.Helper()
		if got, known := e.ToolCaller(t.Context(), tenant, tool, []byte(arguments)); got != want || known != sure {
			t.Errorf("%s %s: %q, %v, want %q, %v", tool, arguments, got, known, want, sure)
		}
	}
	ask("local", "recall", `{"query":"x"}`, "", false)
	a.request("local", "one", tools[:1])
	ask("local", "recall", `{"query":"x"}`, "", false) // its request does not have the tools
	a.request("local", "one", tools)
	a.request("local", "two", tools)
	a.reply("local", "one", call("mcp__oriel__recall", `{"query": "x", "budget": 10}`))
	a.reply("local", "two", call("mcp__oriel__recall", `{"query":"y"}`))
	a.reply("local", "two", call("mcp__other__recall", `{"query":"z"}`))
	a.reply("ann", "hers", call("mcp__oriel__recall", `{"query":"y"}`))
	ask("local", "recall", ` {"budget":10,"query":"\u0078"}`, "one", true)
	ask("local", "recall", `{"query":"y"}`, "two", true)
	ask("local", "recall", `{"query":"y"}`, "two", false) // it was answered: the newest is a guess
	ask("local", "recall", `{"query":"z"}`, "two", false)
	ask("ann", "recall", `{"query":"y"}`, "", false) // no request of hers had the tools
	var wait sync.WaitGroup
	wait.Go(func() { ask("local", "read", `{"from":3}`, "one", true) })
	for waiting := false; !waiting; time.Sleep(time.Millisecond) {
		a.mu.Lock()
		waiting = a.more != nil
		a.mu.Unlock()
	}
	a.reply("local", "one", call("oriel_read", `{"from":3}`))
	wait.Wait()
	for range 3 * maxAsked {
		a.reply("local", "one", call("oriel_read", `{"from":4}`))
	}
	if n := len(a.calls); n > maxAsked {
		t.Errorf("%d calls are remembered", n)
	}
}
