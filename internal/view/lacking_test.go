package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/wire"
)

const summarised = "This session is being continued from a previous conversation that ran out of context. " +
	"The conversation is summarized below: much was read, and all of it was in order. Continue with the last task."

// What a client itself takes out of its history is recalled by the next question, before
// Oriel has cut anything, and also by later questions.
//
// PROXY rule 7
func TestWhatTheClientLeftOutIsRecalledAtOnce(t *testing.T) {
	const tools = `,"tools":[{"name":"Read","input_schema":{"type":"object"}}]`
	call := func(n int) any {
		input := map[string]any{"path": fmt.Sprintf("part%d.txt", n)}
		return []any{map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_0%dx1y2z3a4b5", n), "name": "Read",
			"input": input}}
	}
	result := func(n int, text string) any {
		return []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprintf("toolu_0%dx1y2z3a4b5", n),
			"content": text}}
	}
	report := strings.Repeat("The weather was fine and nothing else happened on that day. ", 20)
	before := []any{"Read all the parts.",
		call(1), result(1, report+"\n"+toldFact+"\n"+report), call(2), result(2, report), call(3), result(3, report),
		"All of it is read."}
	for name, c := range map[string]struct {
		session string
		kind    thread.Kind
		after   []any // in place of before
	}{
		"compaction": {"s", thread.Compacted, []any{summarised, "Yes."}},
		"a trimmed head": {"", thread.Trimmed, []any{"Read all the parts.", call(3), result(3, report),
			"All of it is read.", "Thanks.", "With pleasure."}},
		"a summary in front": {"", thread.Trimmed, []any{summarised, call(3), result(3, report), "All of it is read.",
			"Thanks.", "With pleasure."}},
		"an emptied result": {"", thread.Continued, []any{"Read all the parts.",
			call(1), result(1, "[cleared]"), call(2), result(2, "[cleared]"), call(3), result(3, report),
			"All of it is read.", "Thanks.", "With pleasure."}},
	} {
		s := newStage(t, Options{})
		s.library()
		a := ask{format: wire.Anthropic, session: c.session, Input: Input{Profile: "thrifty"}}
		s.began(requestBody(t, tools, append(before[:len(before):len(before)], "Thanks.")...), a)
		k := s.find(requestBody(t, tools, append(before[:len(before):len(before)], "Thanks.")...), a)
		if err := s.show(k, a); err != nil {
			t.Fatal(err)
		}
		s.end(k, []byte(`{"role":"assistant","content":"With pleasure."}`))
		after := c.after
		for turn, asks := range []string{askedFact, "And who is the keeper of the zebra enclosure?"} {
			if err := s.recall.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			after = append(after[:len(after):len(after)], asks)
			k := s.find(requestBody(t, tools, after...), a)
			if turn == 0 && k.thread.Kind != c.kind {
				t.Errorf("%s: %s", name, k.thread.Kind)
			}
			if err := s.show(k, a); err != nil {
				t.Fatal(err)
			}
			view, err := wire.Read(k.Result.Body, wire.Anthropic, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			texts, at := recalledIn(&view.Messages[len(view.Messages)-1])
			if turn == 0 && (at < 0 || !strings.Contains(texts[at], toldFact)) {
				t.Errorf("%s: %s, %q", name, k.Action, texts)
			}
			if got := strings.Count(string(k.Result.Body), toldFact); got != 1 {
				t.Errorf("%s, turn %d: the fact is there %d times", name, turn, got)
			}
			if k.Folded {
				t.Errorf("%s: a cut: the test shows nothing", name)
			}
			if problems := judge(wire.Anthropic, k.Result.Body); len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
			s.end(k, []byte(`{"role":"assistant","content":"I see."}`))
			after = append(after, "I see.")
			if turn == 0 {
				s.restart()
			}
		}
		s.close()
	}
}
