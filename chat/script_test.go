package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/script"
)

// TestScripts runs testdata/*.txt. A case is a comment, a history with one
// message a line, "----", what is expected, and a blank line. A message is a role
// and words:
//
//	text           says something           call=a,b     calls tools
//	result=a,b     results of calls         hosted=a     a call that the provider runs
//	whole          a call that the provider ran, with its result in it
//	think          thinking                 reminder     a reminder by the agent program
//	answer=a       the provider's own result
//	catalog, ref, compaction, unknown       as the kinds of chat.Part
//	type=reasoning                          the item's type
//
// "rules results-follow runs-merge" sets the protocol's rules. "keep 0 3" after the history
// asks for the exchanges 0 and 3 and prints what is kept instead. SPEC E1, E2.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", run)
}

func run(t *testing.T, in string) string {
	t.Helper()
	var msgs []chat.Message
	var rules chat.Rules
	var want []int
	asked := false
	for _, line := range strings.Split(in, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "rules":
			for _, w := range words[1:] {
				rules.ResultsFollow = rules.ResultsFollow || w == "results-follow"
				rules.RunsMerge = rules.RunsMerge || w == "runs-merge"
			}
		case words[0] == "keep":
			asked = true
			for _, w := range words[1:] {
				var n int
				if _, err := fmt.Sscan(w, &n); err != nil {
					t.Fatal(err)
				}
				want = append(want, n)
			}
		default:
			msgs = append(msgs, message(t, words))
		}
	}
	cuts := chat.NewCuts(msgs, rules)
	var b strings.Builder
	if asked {
		flags := make([]bool, len(cuts.Exchanges))
		for _, n := range want {
			flags[n] = true
		}
		b.WriteString("kept")
		for i, k := range cuts.Keep(flags) {
			if k {
				fmt.Fprintf(&b, " %d", i)
			}
		}
		b.WriteString("\n")
		return b.String()
	}
	sides := map[chat.Side]string{chat.Preamble: "fore", chat.Question: "asks", chat.Turn: "answers",
		chat.Returns: "returns"}
	for i, e := range cuts.Exchanges {
		fmt.Fprintf(&b, "%d: %d-%d %s", i, e.Start, e.End-1, sides[e.First])
		if e.Last != e.First {
			fmt.Fprintf(&b, "…%s", sides[e.Last])
		}
		if e.Open {
			b.WriteString(" open")
		}
		if e.Fixed != "" {
			fmt.Fprintf(&b, " fixed (%s)", e.Fixed)
		}
		if e.Broken != "" {
			fmt.Fprintf(&b, " broken (%s)", e.Broken)
		}
		b.WriteString("\n")
	}
	for _, p := range cuts.Problems {
		fmt.Fprintf(&b, "message %d: %s\n", p.Message, p.What)
	}
	return b.String()
}

func message(t *testing.T, words []string) chat.Message {
	t.Helper()
	m := chat.Message{Role: chat.Role(words[0])}
	add := func(p chat.Part) { m.Parts = append(m.Parts, p) }
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		ids := strings.Split(value, ",")
		switch name {
		case "text":
			add(chat.Part{Kind: chat.Text, Text: chat.Quote("words")})
		case "reminder":
			add(chat.Part{Kind: chat.Text, Text: chat.Quote("<system-reminder>do not forget</system-reminder>")})
		case "think":
			add(chat.Part{Kind: chat.Thinking, Signed: true})
		case "catalog":
			add(chat.Part{Kind: chat.Catalog})
		case "ref":
			add(chat.Part{Kind: chat.Reference, ID: "msg_1"})
		case "compaction":
			add(chat.Part{Kind: chat.Compaction})
		case "unknown":
			add(chat.Part{})
		case "type":
			m.Type = value
		case "call", "hosted":
			for _, id := range ids {
				add(chat.Part{Kind: chat.Call, ID: id, Hosted: name == "hosted"})
			}
		case "whole":
			add(chat.Part{Kind: chat.Call, Name: "web_search", Hosted: true})
		case "named": // the older form: no id, the function's name
			add(chat.Part{Kind: chat.Call, Name: value})
		case "returned":
			add(chat.Part{Kind: chat.Result, Name: value})
		case "result", "answer":
			for _, id := range ids {
				add(chat.Part{Kind: chat.Result, ID: id, Hosted: name == "answer"})
			}
		case "found": // a result that announces tools
			add(chat.Part{Kind: chat.Result, ID: value, Parts: []chat.Part{{Kind: chat.Catalog}}})
		default:
			t.Fatalf("unknown word %q", w)
		}
	}
	return m
}
