package view

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/script"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// checks is how many histories rapid draws.
var checks = "20"

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	flag.Parse()
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestScripts runs testdata/*.txt: what an agent sends, and what the model is shown.
//
//	recall             what left the view is brought back, found by words
//	call A budget=900 model=m format=chat beta=b system=x : u1:40 c1=Read:x.go r1:300
//	count A : …        the same for who only counts
//	reply A a1:20      the model says so, and A has ended
//	fail A             A has ended without a reply
//	refused A          the provider refuses A as too large: it is sent again
//	unbound A          the provider refuses A for thinking that is not in its place
//	restart            a new process over what was stored
//
// Settings of a call stay for the next ones, but for retry (the client sends it again)
// and cold (the provider's cache has nothing of it). A message is a word: its name, behind ":"
// how many more words it has, and the names of others that it has among them behind
// "/". u is a user's, a the assistant's, s a system message, c=TOOL:ARGUMENT a call, r
// its result, n a result that says that the file is unchanged since it was read; k is
// an instruction for good, m asks for the summary that replaces the history,
// t is the item by which Codex does. * has thinking before it; ' has a cache mark, " one of an
// hour.
//
// What comes out is what was done and the view: messages by their names, "!" behind
// those of which something is not as it came, and what Oriel says in them.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T, in string) string {
		p := &play{stage: newStage(t, Options{Limits: new(token.Limits)}), calls: map[string]*call{},
			ask:   ask{format: wire.Anthropic, session: "s", Input: Input{Profile: "thrifty"}},
			model: "claude-sonnet-4-5", system: "be good"}
		defer p.close()
		var out strings.Builder
		for _, line := range strings.Split(in, "\n") {
			if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
				out.WriteString(p.do(words))
			}
		}
		return out.String()
	})
}

type play struct {
	*stage
	ask           ask
	model, system string
	rest          string // further members of the body
	calls         map[string]*call
}

func (p *play) do(words []string) string {
	p.t.Helper()
	switch words[0] {
	case "recall":
		p.library()
	case "restart":
		p.restart()
	case "call", "count":
		name := words[1]
		c := p.find(p.body(words[2:]), p.ask)
		if words[0] == "count" {
			in := p.ask.Input
			in.Body, in.Thread = c.body, c.thread
			r, err := p.viewer.Apply(&in)
			p.book.Done(c.thread, nil, "")
			return p.tell(name, &call{Result: r, body: c.body}, err)
		}
		p.calls[name] = c
		return p.tell(name, c, p.show(c, p.ask))
	case "refused":
		c := p.calls[words[1]]
		p.viewer.o.Limits.Learn(token.Asked{Tenant: c.thread.Tenant, Conversation: c.thread.Conversation,
			Model: c.body.Model, Window: 200_000}, c.After*9/10, false, p.now)
		return p.tell(words[1], c, p.show(c, p.ask))
	case "unbound":
		c := p.calls[words[1]]
		p.viewer.o.Limits.LearnBinding(token.Asked{Tenant: c.thread.Tenant, Conversation: c.thread.Conversation,
			Model: c.body.Model, Window: 0})
		a := p.ask
		a.Unbind = true
		return p.tell(words[1], c, p.show(c, a))
	case "reply":
		var raw [][]byte
		for _, w := range words[2:] {
			raw = append(raw, p.message(w)...)
		}
		p.end(p.calls[words[1]], raw...)
	case "fail":
		p.end(p.calls[words[1]])
	default:
		p.t.Fatalf("what is %q?", words)
	}
	return ""
}

// body makes a request of settings and messages.
func (p *play) body(words []string) []byte {
	p.t.Helper()
	p.ask.retry, p.ask.Cold = false, false
	for ; len(words) > 0 && words[0] != ":"; words = words[1:] {
		name, value, _ := strings.Cut(words[0], "=")
		switch name {
		case "budget":
			p.ask.Budget, _ = strconv.Atoi(value)
		case "profile":
			p.ask.Profile = value
		case "asked":
			p.ask.Asked = true
		case "model":
			p.model = value
		case "format":
			p.ask.format = map[string]wire.Format{"anthropic": wire.Anthropic, "chat": wire.Chat,
				"responses": wire.Responses}[value]
		case "beta":
			p.ask.Betas = []string{value}
		case "system":
			p.system = value
		case "with":
			p.rest = "," + value
		case "retry":
			p.ask.retry = true
		case "cold":
			p.ask.Cold = true
		case "plain":
			p.ask.PlainCache = true
		default:
			p.t.Fatalf("what is %q?", words[0])
		}
	}
	var list []string
	for _, w := range words[1:] {
		for _, raw := range p.message(w) {
			list = append(list, string(raw))
		}
	}
	messages := strings.Join(list, ",")
	switch p.ask.format {
	case wire.Chat:
		return fmt.Appendf(nil,
			`{"model":%q%s,"tools":[{"type":"function","function":{"name":"Read","parameters":{"type":"object"}}}],"messages":[{"role":"system","content":%q},%s]}`, p.model, p.rest, p.system, messages)
	case wire.Responses:
		return fmt.Appendf(nil,
			`{"model":%q%s,"instructions":%q,"tools":[{"type":"function","name":"Read","parameters":{"type":"object"}}],"input":[%s]}`, p.model, p.rest, p.system, messages)
	}
	return fmt.Appendf(nil,
		`{"model":%q,"max_tokens":1000%s,"system":[{"type":"text","text":%q}],"tools":[{"name":"Read","input_schema":{"type":"object"}}],"messages":[%s]}`, p.model, p.rest, p.system, messages)
}

const unchanged = "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current - refer to that instead of re-reading."

// message makes the messages, mostly one, that a word stands for.
func (p *play) message(word string) [][]byte {
	p.t.Helper()
	mark := ""
	if rest, ok := strings.CutSuffix(word, "'"); ok {
		word, mark = rest, `,"cache_control":{"type":"ephemeral"}`
	} else if rest, ok := strings.CutSuffix(word, `"`); ok {
		word, mark = rest, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	word, among, _ := strings.Cut(word, "/")
	name, about, _ := strings.Cut(word, "=")
	name, size, _ := strings.Cut(name, ":")
	name, think := strings.CutSuffix(name, "*")
	n, _ := strconv.Atoi(size)
	var b strings.Builder
	b.WriteString(name)
	filler := "w"
	if p.recall != nil {
		filler = name + "w" // nobody else's
	}
	for i := range n {
		fmt.Fprintf(&b, " %s%d", filler, i)
	}
	if among != "" {
		b.WriteString(" " + strings.ReplaceAll(among, "_", " "))
	}
	text := b.String()
	if name[0] == 'k' {
		text = name + ". Always use tabs in all files."
	}
	if name[0] == 'm' {
		text = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n" +
			"Your task is to create a detailed summary of the conversation so far, paying close attention to " + text
	}
	id := "id" + name[1:]
	tool, argument, _ := strings.Cut(about, ":")
	args, _ := json.Marshal(map[string]string{"file_path": argument})
	thinking := ""
	if think {
		thinking = fmt.Sprintf(`{"type":"thinking","thinking":"hm %s","signature":"c2ln"},`, name)
	}
	role := map[byte]string{'u': "user", 'k': "user", 'm': "user", 'a': "assistant", 's': "system"}[name[0]]
	if name[0] == 'n' {
		text = unchanged
	}
	say := func(format string, a ...any) [][]byte { return [][]byte{fmt.Appendf(nil, format, a...)} }
	switch p.ask.format {
	case wire.Chat:
		switch name[0] {
		case 'c':
			return say(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, id, tool, args)
		case 'r', 'n':
			return say(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, text)
		}
		return say(`{"role":%q,"content":%q}`, role, text)
	case wire.Responses:
		switch name[0] {
		case 't':
			return say(`{"type":"compaction_trigger"}`)
		case 'c':
			return say(`{"type":"function_call","call_id":%q,"name":%q,"arguments":%q}`, id, tool, args)
		case 'r', 'n':
			return say(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, text)
		}
		return say(`{"type":"message","role":%q,"content":%q}`, role, text)
	}
	switch name[0] {
	case 'c':
		return say(`{"role":"assistant","content":[%s{"type":"tool_use","id":%q,"name":%q,"input":%s%s}]}`, thinking,
			id, tool, args, mark)
	case 'r', 'n':
		return say(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q%s}]}`, id, text, mark)
	}
	return say(`{"role":%q,"content":[%s{"type":"text","text":%q%s}]}`, role, thinking, text, mark)
}

// tell describes what became of a call.
func (p *play) tell(name string, c *call, err error) string {
	p.t.Helper()
	if err != nil {
		return fmt.Sprintf("%s: %v\n", name, err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s", name, c.Action)
	if c.New {
		fmt.Fprintf(&out, ", new")
	}
	if c.Why != "" {
		fmt.Fprintf(&out, ", %s", c.Why)
	}
	if problems := judge(c.body.Format, c.Body); len(problems) > 0 {
		fmt.Fprintf(&out, ", INVALID %v", problems)
	}
	if c.After > c.Budget && c.Why == "" {
		fmt.Fprintf(&out, ", %d tokens OVER %d", c.After, c.Budget)
	}
	shown, err := wire.Read(c.Body, c.body.Format, wire.Limits{})
	if err != nil {
		p.t.Fatal(err)
	}
	came := map[string]bool{}
	for i := range c.body.Messages {
		came[plain(p.t, c.body.Format, c.body.Messages[i].Raw)] = true
	}
	if got, want := systemOf(shown), systemOf(c.body); got != want {
		fmt.Fprintf(&out, "\n  system: %s", got)
	}
	var says strings.Builder
	out.WriteString("\n ")
	for i := range shown.Messages {
		m := &shown.Messages[i]
		who := nameOf(m)
		out.WriteString(" " + who)
		if !came[plain(p.t, c.body.Format, m.Raw)] {
			out.WriteString("!")
		}
		for j := range m.Parts {
			part := &m.Parts[j]
			if part.Kind == chat.Thinking {
				out.WriteString("*")
			}
			text := part.Text.String()
			if part.Kind == chat.Result {
				text = resultText(part)
			}
			if strings.HasPrefix(text, "[Oriel") {
				for n, line := range strings.Split(text, "\n") {
					if n == 0 {
						line = who + ": " + line
					} else {
						line = "  " + line
					}
					if runes := []rune(line); len(runes) > 110 {
						line = string(runes[:110]) + "…"
					}
					fmt.Fprintf(&says, "  %s\n", line)
				}
			} else if part.Kind == chat.Result && who[0] == 'r' && !strings.HasPrefix(text, who) {
				fmt.Fprintf(&says, "  %s: %s\n", who, firstWord(text))
			}
		}
		switch {
		case strings.Contains(string(m.Raw), `"ttl":"1h"`):
			out.WriteString(`"`)
		case cached(m):
			out.WriteString("'")
		}
	}
	return out.String() + "\n" + says.String()
}

// nameOf is the word that a message was made of.
func nameOf(m *chat.Message) string {
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case chat.Call:
			return "c" + p.ID[2:]
		case chat.Result:
			return "r" + p.ID[2:]
		case chat.Text:
			if text := p.Text.String(); !strings.HasPrefix(text, "[Oriel") {
				return strings.TrimSuffix(firstWord(text), ".")
			}
		}
	}
	return "?"
}

func firstWord(s string) string {
	if strings.HasPrefix(s, "File unchanged") {
		return "(unchanged)"
	}
	w, _, _ := strings.Cut(s, " ")
	return w
}

func systemOf(b *wire.Body) string {
	text := ""
	for i := range b.System {
		text += b.System[i].Text.String()
	}
	return text
}
