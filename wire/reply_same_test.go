package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

func oneMessage(t testing.TB, f wire.Format, raw string) *chat.Message {
	t.Helper()
	r := &wire.Reply{Format: f, Message: []byte(raw)}
	msgs, err := r.Messages()
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return &msgs[0]
}

// What clients make of a reply before they send it back is known as that reply, and
// what says or calls something else is not.
func TestSameReply(t *testing.T) {
	anthropic := `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"I will look. "},{"type":"text","text":"At once.\n"},
		{"type":"tool_use","id":"t1","name":"Read","input":{"path":"a\u00e9","limit":10,"opts":{"x":[1,2.0],"y":null}}},{"type":"tool_use","id":"t2","name":"Now","input":{}}]}`
	openai := `{"role":"assistant","content":"I will look.\n","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1, \"b\": \"x\"}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]}`
	ollama := `{"role":"assistant","content":"I will look.","tool_calls":[{"id":"c1","function":{"index":0,"name":"weather","arguments":{"city":"Rome"}}},{"id":"c2","function":{"index":1,"name":"weather","arguments":{"city":"Bari"}}}]}`
	said := `{"role":"assistant","content":[{"type":"text","text":"Yes."}]}`
	searched := `{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]},{"type":"text","text":"Found","citations":[{"type":"char_location","cited_text":"c"}]}]}`
	for _, c := range []struct {
		name        string
		f           wire.Format
		known, echo string
		want        bool
	}{
		{"the same bytes", wire.Anthropic, anthropic, anthropic, true},
		{"LangChain: thinking gone, texts joined, other order of keys, a null text in calls", wire.Anthropic, anthropic,
			`{"content":[{"text":"I will look. At once.","type":"text"},{"name":"Read","input":{"opts":{"y":null,"x":[1,2]},"limit":10.0,"path":"aé"},"id":"t1","type":"tool_use","text":null},{"name":"Now","input":{},"id":"t2","type":"tool_use"}],"role":"assistant"}`, true},
		{"Vercel: each text trimmed at its end, cache_control added", wire.Anthropic, anthropic,
			`{"role":"assistant","content":[{"type":"text","text":"I will look."},{"type":"text","text":"At once."},{"type":"tool_use","id":"t1","name":"Read","input":{"path":"aé","limit":10,"opts":{"x":[1,2],"y":null}}},{"type":"tool_use","id":"t2","name":"Now","input":{},"cache_control":{"type":"ephemeral"}}]}`, true},
		{"texts joined with a line end, an empty text added", wire.Anthropic, anthropic,
			`{"role":"assistant","content":[{"type":"text","text":"I will look.\nAt once."},{"type":"text","text":""},{"type":"tool_use","id":"t1","name":"Read","input":{"path":"aé","limit":10,"opts":{"x":[1,2.0],"y":null}}},{"type":"tool_use","id":"t2","name":"Now","input":{}}]}`, true},
		{"calls in another order", wire.Anthropic, anthropic,
			`{"role":"assistant","content":[{"type":"text","text":"I will look. At once."},{"type":"tool_use","id":"t2","name":"Now","input":{}},{"type":"tool_use","id":"t1","name":"Read","input":{"path":"aé","limit":10,"opts":{"x":[1,2.0],"y":null}}}]}`, true},
		{"another text", wire.Anthropic, anthropic, strings.Replace(anthropic, "At once", "At noon", 1), false},
		{"white space within a text", wire.Anthropic, anthropic, strings.Replace(anthropic, "At once", "At  once", 1),
			false},
		{"less text", wire.Anthropic, anthropic, strings.Replace(anthropic, `{"type":"text","text":"At once.\n"},`, "",
			1), false},
		{"more text", wire.Anthropic, said, `{"role":"assistant","content":"Yes. And no."}`, false},
		{"other arguments", wire.Anthropic, anthropic, strings.Replace(anthropic, `"limit":10`, `"limit":11`, 1),
			false},
		{"a deeper argument", wire.Anthropic, anthropic, strings.Replace(anthropic, `2.0`, `2.5`, 1), false},
		{"an argument more", wire.Anthropic, anthropic, strings.Replace(anthropic, `"input":{}`, `"input":{"a":1}`, 1),
			false},
		{"of two members with one name the last counts", wire.Anthropic, anthropic,
			strings.Replace(anthropic, `"limit":10`, `"limit":11,"limit":10`, 1), true},
		{"and not the first", wire.Anthropic, anthropic,
			strings.Replace(anthropic, `"limit":10`, `"limit":10,"limit":11`, 1), false},
		{"another id", wire.Anthropic, anthropic, strings.Replace(anthropic, `"t2"`, `"t3"`, 1), false},
		{"another tool", wire.Anthropic, anthropic, strings.Replace(anthropic, `"Now"`, `"Then"`, 1), false},
		{"a call less", wire.Anthropic, anthropic,
			strings.Replace(anthropic, `,{"type":"tool_use","id":"t2","name":"Now","input":{}}`, "", 1), false},
		{"another role", wire.Anthropic, said, `{"role":"user","content":"Yes."}`, false},
		{"a plain string", wire.Anthropic, said, `{"role":"assistant","content":"Yes."}`, true},
		{"nothing left of it", wire.Anthropic, said, `{"role":"assistant","content":[]}`, false},

		{"OpenAI: empty content for null, arguments written anew, reasoning gone", wire.Chat, openai,
			`{"role":"assistant","content":"I will look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"b\":\"x\",\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]}`, true},
		{"OpenAI: content as a list", wire.Chat, openai,
			`{"role":"assistant","content":[{"type":"text","text":"I will"},{"type":"text","text":" look."}],"refusal":null,"tool_calls":[{"type":"function","id":"c1","function":{"arguments":"{\"a\":1,\"b\":\"x\"}","name":"f"}},{"type":"function","id":"c2","function":{"arguments":"","name":"g"}}]}`, true},
		{"OpenAI: arguments that are no JSON", wire.Chat,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a"}}]}`,
			`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a"}}]}`, true},
		{"OpenAI: arguments mended", wire.Chat,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a"}}]}`,
			`{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`, false},
		{"OpenAI: the older form of a call", wire.Chat,
			`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"a\":1}"}}`,
			`{"role":"assistant","content":"","function_call":{"name":"f","arguments":"{ \"a\" : 1 }"}}`, true},
		{"OpenAI: a refusal sent back as content", wire.Chat, `{"role":"assistant","content":null,"refusal":"No."}`,
			`{"role":"assistant","content":"No."}`, true},

		{"hosted calls kept, citations gone", wire.Anthropic, searched,
			strings.Replace(searched, `,"citations":[{"type":"char_location","cited_text":"c"}]`, "", 1), true},
		{"hosted calls gone", wire.Anthropic, searched, `{"role":"assistant","content":"Found"}`, true},
		{"other hosted calls", wire.Anthropic, searched, strings.Replace(searched, `"query":"x"`, `"query":"y"`, 1),
			false},
		{"hosted calls from nowhere", wire.Anthropic, `{"role":"assistant","content":"Found"}`, searched, false},

		{"Ollama's SDK for Python: ids of calls gone", wire.Ollama, ollama,
			strings.NewReplacer(`"id":"c1",`, "", `"id":"c2",`, "", `"index":0,`, "", `"index":1,`, "").Replace(ollama),
			true},
		{"ids gone, other arguments", wire.Ollama, ollama,
			strings.NewReplacer(`"id":"c1",`, "", `"id":"c2",`, "", "Rome", "Oslo").Replace(ollama), false},
		{"ids gone, a call less", wire.Ollama, ollama, `{"role":"assistant","content":"I will look.","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Rome"}}}]}`,
			false},
		{"one id gone", wire.Ollama, ollama, strings.Replace(ollama, `"id":"c1",`, "", 1), false},

		{"nothing but thinking", wire.Anthropic,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":""}]}`, true},
		{"other thinking", wire.Anthropic,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"b","signature":"s"}]}`, false},
		{"other sealed thinking", wire.Anthropic,
			`{"role":"assistant","content":[{"type":"redacted_thinking","data":"a"}]}`,
			`{"role":"assistant","content":[{"type":"redacted_thinking","data":"b"}]}`, false},
		{"an unknown block", wire.Anthropic, `{"role":"assistant","content":[{"type":"hologram","a":1,"b":2}]}`,
			`{"role":"assistant","content":[{"b":2,"a":1,"type":"hologram"}]}`, true},
		{"another unknown block", wire.Anthropic, `{"role":"assistant","content":[{"type":"hologram","a":1}]}`,
			`{"role":"assistant","content":[{"type":"hologram","a":2}]}`, false},
	} {
		if got := wire.SameReply(oneMessage(t, c.f, c.known), oneMessage(t, c.f, c.echo)); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// A text stays the same however it is divided, and any other letter makes it another.
func TestSameReplyOfDividedTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-c]{1,3}[ \n]{0,2}`), 1, 8).Draw(t, "words")
		text := strings.Join(words, "")
		divide := func(name string) string {
			var parts []string
			for rest := text; rest != ""; {
				n := rapid.IntRange(1, len(rest)).Draw(t, name)
				parts = append(parts, rest[:n])
				rest = rest[n:]
			}
			var blocks []map[string]string
			for _, p := range parts {
				if rapid.Bool().Draw(t, "trim") {
					p = strings.TrimSpace(p)
				}
				blocks = append(blocks, map[string]string{"type": "text", "text": p})
			}
			var out bytes.Buffer
			_ = json.NewEncoder(&out).Encode(map[string]any{"role": "assistant", "content": blocks})
			return out.String()
		}
		read := func(raw string) *chat.Message {
			r := &wire.Reply{Format: wire.Anthropic, Message: []byte(raw)}
			msgs, err := r.Messages()
			if err != nil {
				t.Fatal(err)
			}
			return &msgs[0]
		}
		a, b := divide("a"), divide("b")
		if !wire.SameReply(read(a), read(b)) {
			t.Fatalf("not the same:\n%s\n%s", a, b)
		}
		text = strings.Replace(text, text[:1], "z", 1)
		if c := divide("c"); wire.SameReply(read(a), read(c)) {
			t.Fatalf("the same:\n%s\n%s", a, c)
		}
	})
}
