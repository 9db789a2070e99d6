package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/wire"
)

// request is an Anthropic body: messages is "text" for the user and the assistant in
// turn, and rest further members.
func requestBody(t *testing.T, rest string, messages ...any) []byte {
	t.Helper()
	list := make([]map[string]any, len(messages))
	for i, m := range messages {
		list[i] = map[string]any{"role": []string{"user", "assistant"}[i%2], "content": m}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","max_tokens":1000%s,"messages":%s}`, rest, raw)
}

// turns are so many messages of so many words each.
func turns(n, words int) (out []any) {
	for i := range n {
		out = append(out, fmt.Sprintf("part %d: %s", i, strings.Repeat("some words ", words/2)))
	}
	return out
}

// PROXY 8a: a request whose provider manages the window is left alone, unless the call
// itself names a profile or a budget.
func TestAManagedRequestIsCutForWhoAsks(t *testing.T) {
	data := requestBody(t, `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, turns(61, 1500)...)
	for _, c := range []struct {
		name string
		in   Input
		cut  bool
	}{
		{"the proxy's profile", Input{Profile: "thrifty"}, false},
		{"a profile of the call's own", Input{Profile: "thrifty", Asked: true}, true},
		{"a budget", Input{Profile: "thrifty", Budget: 30_000}, true},
	} {
		s := newStage(t, Options{})
		a := ask{format: wire.Anthropic, session: "s", Input: c.in}
		s.began(data, a)
		k := s.find(data, a)
		if err := s.show(k, a); err != nil {
			t.Fatal(err)
		}
		if cut := k.Action != "none"; cut != c.cut || cut == bytes.Equal(k.Result.Body, data) {
			t.Errorf("%s: %s, %d of %d tokens", c.name, k.Action, k.After, k.Before)
		}
	}
}

// A cut is free where the provider's cache has nothing of a conversation, but not where a
// model is asked for summaries: they cost.
func TestNoCutIsFreeWhereAModelSummarises(t *testing.T) {
	data := requestBody(t, "", turns(31, 600)...)
	model := NewCondensing(CondenseOptions{Condenser: condense.Func(func(context.Context,
		condense.Input) (condense.Output, error) {
		return condense.Output{Text: "a summary of what was said so far"}, nil
	})})
	defer model.Close()
	for _, c := range []struct {
		condensing *Condensing
		cold, cut  bool
	}{{nil, false, false}, {nil, true, true}, {model, true, false}} {
		s := newStage(t, Options{Condense: c.condensing})
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "thrifty", Budget: 25_000, Cold: c.cold}}
		s.began(data, a)
		k := s.find(data, a)
		if err := s.show(k, a); err != nil {
			t.Fatal(err)
		}
		if k.Before >= 25_000 || k.Before < 15_000 {
			t.Fatalf("%d tokens are not between the marks", k.Before)
		}
		if cut := k.Action != "none"; cut != c.cut {
			t.Errorf("summaries %t, cold %t: %s", c.condensing != nil, c.cold, k.Action)
		}
	}
}

// PROXY 11: what is brought back stands before a person's words, which end the request, and
// never beside the results of tools alone.
func TestNothingIsBroughtBackBesideResultsAlone(t *testing.T) {
	const asked = "Which number does the zebra enclosure have?"
	call := []any{map[string]any{"type": "tool_use", "id": "t1", "name": "Read",
		"input": map[string]any{"path": "a.go"}}}
	result := map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": "package a"}
	text := map[string]any{"type": "text", "text": asked}
	for name, c := range map[string]struct {
		newest  any
		recalls bool
	}{
		"words alone":                {asked, true},
		"a result":                   {[]any{result}, false},
		"a result and words":         {[]any{result, text}, true},
		"words in front of a result": {[]any{text, result}, false},
	} {
		messages := append([]any{"Remember: the zebra enclosure has the number seventeen."}, turns(41, 300)...)
		messages = append(messages, "What does a.go say?")
		if name != "words alone" {
			messages = append(messages, call, c.newest)
		} else {
			messages = append(messages, "It says nothing.", c.newest)
		}
		s := newStage(t, Options{})
		s.library()
		a := ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "thrifty", Budget: 6000}}
		data := requestBody(t, "", messages...)
		s.began(data, a)
		if err := s.recall.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		k := s.find(data, a)
		if err := s.show(k, a); err != nil {
			t.Fatal(err)
		}
		s.close()
		view, err := wire.Read(k.Result.Body, wire.Anthropic, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		newest := view.Messages[len(view.Messages)-1].Raw
		if got := bytes.Contains(newest, []byte(recallOpens)); got != c.recalls {
			t.Errorf("%s: brought back %t; %s", name, got, newest)
		}
		if parts := view.Messages[len(view.Messages)-1].Parts; c.recalls && parts[len(parts)-1].Text.String() != asked {
			t.Errorf("%s: the newest words are not last: %s", name, newest)
		}
	}
}
