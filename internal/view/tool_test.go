package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// PROXY 14: stubs and digests name Oriel's recall tool as the agent sends it, and only to a
// request that has it; what was sent before stays as it was.
func TestStubsAndDigestsNameTheRecallToolOnlyIfTheRequestHasIt(t *testing.T) {
	const name = "look it up with mcp__oriel__recall if you need it.]"
	const digest, named = "[Oriel digest of ", " earlier messages; look them up with mcp__oriel__recall]"
	tools := func(own bool) string {
		list := `{"name":"Bash","input_schema":{"type":"object"}}`
		if own {
			list += `,{"name":"mcp__oriel__recall","input_schema":{"type":"object"}}`
		}
		return `,"tools":[` + list + `]`
	}
	body := func(n int, own bool) []byte {
		messages := []any{"Read all parts."}
		for i := range n {
			id := fmt.Sprintf("toolu_%d", i)
			messages = append(messages,
				[]any{map[string]any{"type": "tool_use", "id": id, "name": "Bash",
					"input": map[string]any{"command": fmt.Sprintf("show %d", i)}}},
				[]any{map[string]any{"type": "tool_result", "tool_use_id": id,
					"content": strings.Repeat(fmt.Sprintf("line of part %d. ", i), 120)}})
		}
		return requestBody(t, tools(own), messages...)
	}
	s := newStage(t, Options{})
	ask := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "thrifty", Budget: 12_000}}
	var before []string
	cuts, stubs, digests, steady := 0, 0, 0, 0
	show := func(n int, own bool) []byte {
		t.Helper()
		data := body(n, own)
		s.began(data, ask)
		k := s.find(data, ask)
		if err := s.show(k, ask); err != nil {
			t.Fatal(err)
		}
		s.end(k)
		if problems := judge(wire.Anthropic, k.Result.Body); len(problems) > 0 {
			t.Fatal(problems)
		}
		return k.Result.Body
	}
	for n := 1; n <= 60; n++ {
		sent := show(n, true)
		messages := messagesOf(t, wire.Anthropic, sent)
		same := len(before) <= len(messages)
		for i := range before {
			same = same && i < len(messages) && before[i] == messages[i]
		}
		if !same {
			cuts++
			if !bytes.Contains(sent, []byte(name)) && bytes.Contains(sent, []byte("is left out; ")) {
				t.Errorf("call %d: a stub without the tool", n)
			}
		} else {
			steady++
		}
		if bytes.Contains(sent, []byte(name)) {
			stubs++
		}
		if n := bytes.Count(sent, []byte(digest)); n > 1 || n != bytes.Count(sent, []byte(named)) {
			t.Errorf("call %d: %d digests, %d of them with the tool", n, n, bytes.Count(sent, []byte(named)))
		} else {
			digests += n
		}
		before = messages
	}
	if cuts == 0 || cuts > 10 || stubs < 20 || digests < 10 {
		t.Errorf("%d cuts, %d steady calls, %d with stubs and %d with digests that name the tool", cuts, steady, stubs,
			digests)
	}
	with := show(61, true)
	without := show(61, false)
	if !bytes.Contains(with, []byte(name)) || bytes.Contains(without, []byte("mcp__oriel__recall")) ||
		!bytes.Contains(without, []byte("Run it again if you need it.]")) ||
		!bytes.Contains(with, []byte(named)) || !bytes.Contains(without, []byte(digest)) {
		t.Errorf("with the tool %v, without it %v", bytes.Contains(with, []byte(name)),
			bytes.Contains(without, []byte("mcp__oriel__recall")))
	}
	if again := show(61, true); !bytes.Equal(again, with) {
		t.Error("a request without the tool has changed what others are sent")
	}
}

// PROXY 14: a tool whose name alone is in the first message, because another tool finds it, is
// named too.
func TestDigestsNameADeferredRecallTool(t *testing.T) {
	const rest = `,"tools":[{"name":"Bash","input_schema":{"type":"object"}},{"name":"ToolSearch","input_schema":{"type":"object"}}]`
	messages := []any{"<available-deferred-tools>\nmcp__oriel__read\nmcp__oriel__recall\n</available-deferred-tools>\nRead all parts."}
	for i := range 30 {
		id := fmt.Sprintf("toolu_%d", i)
		messages = append(messages,
			[]any{map[string]any{"type": "tool_use", "id": id, "name": "Bash",
				"input": map[string]any{"command": fmt.Sprintf("show %d", i)}}},
			[]any{map[string]any{"type": "tool_result", "tool_use_id": id,
				"content": strings.Repeat(fmt.Sprintf("line of part %d. ", i), 120)}})
	}
	s := newStage(t, Options{})
	a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "thrifty", Budget: 8000}}
	data := requestBody(t, rest, messages...)
	s.began(data, a)
	k := s.find(data, a)
	if err := s.show(k, a); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(k.Result.Body, []byte("look them up with mcp__oriel__recall]")) {
		t.Errorf("%s: %.3000s", k.Action, k.Result.Body)
	}
}
