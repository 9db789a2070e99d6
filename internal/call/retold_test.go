package call_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// mover is an agent that changes its history between calls.
type mover struct {
	path   string
	format wire.Format
	header []string
	tools  bool // the model calls a tool until it is asked something
	short  bool // the last request fits without a cut, so nothing is recalled
	// body is what the agent sends when it has these messages of its history, of which the
	// last are new.
	body func(k int, history []map[string]any) map[string]any
}

// object makes messages readable here.
type object = map[string]any

// chatNote is the reminder that aider sends behind the newest question, and filesNote is
// what it sends before it.
const chatNote = "# *SEARCH/REPLACE block* rules: every block must begin with the path of the file, alone on a line. " +
	"Only edit files that were added to the chat. ONLY EVER RETURN CODE IN A *SEARCH/REPLACE BLOCK*!"

func filesNote() []object {
	return []object{
		{"role": "user",
			"content": "I have *added these files to the chat* so you can go ahead and edit them.\n\nharbour.py\n```\ndef tide(hour): return hour * 3\n```"},
		{"role": "assistant", "content": "Ok, any changes I propose will be to those files."},
	}
}

func noted(history []object, notes ...object) []object {
	last := len(history) - 1
	return append(append(append([]object{}, history[:last]...), notes...), history[last])
}

// infoNote is what Goose puts before the newest reply.
func infoNote(k int) string {
	return fmt.Sprintf(
		"<info-msg>\nIt is currently 2026-11-17 12:%02d:00\nWorking directory: /home/ann/harbour\n</info-msg>", k)
}

// newestReply returns where the last reply is.
func newestReply(history []object) int {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i]["role"] == "assistant" || history[i]["type"] == "function_call" {
			if i > 0 && history[i-1]["type"] == "reasoning" {
				i--
			}
			return i
		}
	}
	return 0
}

var movers = map[string]mover{
	"aider, a reminder behind the question": {path: "/v1/chat/completions", format: wire.Chat,
		body: func(_ int, h []object) object {
			list := append(noted(h, filesNote()...), object{"role": "system", "content": chatNote})
			return object{"model": "gpt-4o",
				"messages": append([]object{{"role": "system", "content": "Act as an expert software developer."}},
					list...)}
		}},
	"aider with a name": {path: "/v1/chat/completions", format: wire.Chat,
		header: []string{"X-Oriel-Conversation", "chat-1"}, body: func(_ int, h []object) object {
			list := append(noted(h, filesNote()...), object{"role": "system", "content": chatNote})
			return object{"model": "gpt-4o", "messages": list}
		}},
	"aider, a reminder in the question": {path: "/v1/messages", format: wire.Anthropic,
		body: func(_ int, h []object) object {
			list := noted(h, filesNote()...)
			last := list[len(list)-1]
			list[len(list)-1] = object{"role": "user", "content": fmt.Sprint(last["content"], "\n\n", chatNote)}
			return object{"model": "claude-sonnet-4-5", "max_tokens": 1000,
				"system": "Act as an expert software developer.", "messages": list}
		}},
	"goose, Responses": {path: "/v1/responses", format: wire.Responses, tools: true,
		body: func(k int, h []object) object {
			at := newestReply(h)
			note := object{"role": "user", "content": []object{{"type": "input_text", "text": infoNote(k)}}}
			list := append(append(append([]object{}, h[:at]...), note), h[at:]...)
			if at <= 1 { // it is one message with the question
				texts := []object{{"type": "input_text", "text": infoNote(k)},
					{"type": "input_text", "text": h[0]["content"]}}
				if at == 1 {
					texts[0], texts[1] = texts[1], texts[0]
				}
				list = append([]object{{"role": "user", "content": texts}}, h[1:]...)
			}
			return object{"model": "gpt-5", "store": false, "instructions": "You are a general-purpose AI agent.",
				"input": list}
		}},
	"goose, Messages": {path: "/v1/messages", format: wire.Anthropic, tools: true,
		body: func(k int, h []object) object {
			at := max(newestReply(h), 1) - 1 // the message before the reply has it
			list := append([]object{}, h...)
			note := object{"type": "text", "text": infoNote(k)}
			switch content := h[at]["content"].(type) {
			case string:
				list[at] = object{"role": "user", "content": []object{{"type": "text", "text": content}, note}}
			case []object:
				list[at] = object{"role": "user", "content": append(content[:1:1], note)}
			}
			return object{"model": "claude-sonnet-4-5", "max_tokens": 1000,
				"tools":  []object{{"name": "read", "input_schema": object{"type": "object"}}},
				"system": "You are a general-purpose AI agent.", "messages": list}
		}},
	"copilot, without its reasoning": {path: "/v1/responses", format: wire.Responses, tools: true,
		body: func(k int, h []object) object {
			var list []object
			for _, m := range h {
				if m["type"] != "reasoning" || k < moverCalls-1 {
					list = append(list, m)
				}
			}
			return object{"model": "gpt-5", "store": false, "instructions": "You are the GitHub Copilot CLI.",
				"input": list}
		}},
	"qwen, whose first message changed": {path: "/v1/chat/completions", format: wire.Chat, tools: true,
		body: func(k int, h []object) object {
			list := append([]object{{"role": "system", "content": "You are Qwen Code."}}, h...)
			if k < moverCalls-1 {
				list[1] = object{"role": "user", "content": []object{
					{"type": "text", "text": "<system-reminder>\nThe folder has 12 files.\n</system-reminder>"},
					{"type": "text", "text": h[0]["content"]}}}
			}
			return object{"model": "gpt-5", "messages": list}
		}},
	"gemini, whose results were rewritten a request before": {path: "/v1beta/models/gemini-2.5-pro:generateContent", format: wire.Gemini,
		tools: true, body: func(k int, h []object) object { return object{"contents": resumed(h, k >= moverCalls-2)} }},
	"a summary in front": {path: "/v1/chat/completions", format: wire.Chat, tools: true, short: true,
		body: func(k int, h []object) object {
			list := append([]object{}, h...)
			if k >= moverCalls-1 {
				list = append([]object{{"role": "user",
					"content": "Summary of the work so far: the logs of the harbour were read one by one."}},
					h[newestReply(h[:len(h)-6]):]...)
			}
			return object{"model": "gpt-5", "messages": list}
		}},
}

// resumed returns the contents of a history, with its results in other words if it was read again.
func resumed(history []object, again bool) (list []object) {
	for _, m := range history {
		if text, ok := m["content"].(string); ok {
			m = object{"role": "user", "parts": []object{{"text": text}}}
		}
		raw, err := json.Marshal(m)
		must(err)
		if again {
			raw = []byte(strings.ReplaceAll(string(raw), `"output":"`, `"output":"Output: `))
		}
		var one object
		must(json.Unmarshal(raw, &one))
		list = append(list, one)
	}
	return list
}

const (
	moverCalls  = 24
	moverBudget = 6000
)

// SPEC D1, E1: a client that moves notes, changes its first message or drops reasoning has one
// conversation, which stays within its budget and from which it is reminded.
func TestAHistoryToldAnewIsTheSameConversation(t *testing.T) {
	for name, m := range movers {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			library := recall.NewLibrary(store, recall.LibraryOptions{})
			t.Cleanup(func() { library.Close() })
			b := start(t, store, moving(m.tools), func(o *call.TestOptions) {
				o.Profile, o.Recall = "thrifty",
					library
			})
			last := m.run(b, library)
			all, err := store.Conversations(ctx, timeline.Local)
			if err != nil || len(all) != 1 {
				t.Errorf("%d conversations: %v", len(all), err)
			}
			calls := b.told(oriel.EventCall)
			for i, e := range calls {
				if e.Thread != "continued" && e.Thread != "trimmed" && i > 0 {
					t.Errorf("call %d is %s", i, e.Thread)
				}
				if i > 2 && e.TokensAfter > moverBudget {
					t.Errorf("call %d: %d tokens of %d were sent", i, e.TokensAfter, e.TokensBefore)
				}
			}
			if end := calls[len(calls)-1]; end.TokensBefore < 2*moverBudget && !m.short {
				t.Errorf("only %d tokens", end.TokensBefore)
			}
			if cuts := len(b.told(oriel.EventCut)); cuts == 0 || cuts > moverCalls/2 {
				t.Errorf("%d cuts in %d calls", cuts, len(calls))
			}
			if !strings.Contains(last, "6543") && !m.short {
				t.Errorf("it is not reminded of the port: %s", last)
			}
		})
	}
}

// run has a conversation and returns what was sent with the last question, which asks for
// something at its beginning.
func (m *mover) run(b *bench, library *recall.Library) string {
	var history []object
	for k := range moverCalls {
		said := len(history)
		switch {
		case k == moverCalls-1:
			history = append(history,
				object{"role": "user", "content": "On which port does the staging database of project Heron listen?"})
		case k == 0 && m.tools:
			history = append(history,
				object{"role": "user", "content": "Read the logs of the harbour one after another."})
		case !m.tools:
			history = append(history,
				object{"role": "user", "content": fmt.Sprintf("Explain function number %d of harbour.py. %s", k,
					fact(k))})
		}
		if m.format == wire.Responses && len(history) > said {
			history[said]["type"] = "message"
		}
		body, err := json.Marshal(m.body(k, history))
		must(err)
		resp, answer := b.send(m.path, body, append([]string{"X-Oriel-Budget", fmt.Sprint(moverBudget)},
			m.header...)...)
		if resp.StatusCode != http.StatusOK {
			b.t.Fatalf("%s: %s", resp.Status, answer)
		}
		reply := readReply(b.t, m.format, false, answer)
		a := agent{format: m.format}
		a.echo(reply, func(id string) string { return fmt.Sprint(fact(k), logLines(k)) })
		for _, raw := range a.list {
			var one object
			must(json.Unmarshal(raw, &one))
			if parts, ok := one["content"].([]any); ok && one["role"] == "user" {
				one["content"] = []object{parts[0].(object)}
			}
			history = append(history, one)
		}
		b.settle(k + 1)
		must(library.Wait(ctx))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.bodies[len(b.bodies)-1])
}

func fact(k int) string {
	if k != 3 {
		return ""
	}
	return "The staging database of project Heron listens on port 6543, behind pgbouncer. "
}

func logLines(k int) string {
	return strings.Repeat(fmt.Sprintf("pier %d: the crane number %d has moved a crate to the quay; ", k, k*7)+"\n", 60)
}

// moving calls a tool with an id of a provider's kind, or explains at length.
func moving(tools bool) func(*fakemodel.Request) fakemodel.Answer {
	calls := 0
	return func(r *fakemodel.Request) fakemodel.Answer {
		calls++
		a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", calls), Input: len(r.Data()) / 4, Output: 20}
		switch {
		case !tools:
			a.Text = fmt.Sprintf("Function number %d: %s", calls,
				strings.Repeat(fmt.Sprintf("it adds %d to the hour of the tide; ", calls*3), 60))
		case calls < moverCalls-1:
			a.Thinking = fmt.Sprint("What is next after ", calls, "?")
			id := timeline.HashOf([]byte(fmt.Sprint(calls))).String()[:24]
			a.Calls = []fakemodel.Call{{ID: "call_" + id, Name: "read",
				Arguments: fmt.Sprintf(`{"path":"/log/%d"}`, calls)}}
		default:
			a.Text = "All logs are read."
		}
		return a
	}
}
