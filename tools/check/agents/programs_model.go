package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/wire"
)

// The fact stands in the third part or question only; the last question asks for it.
const (
	fact     = "Note: the staging database of project Heron listens on port 6543, behind pgbouncer."
	needle   = "port 6543"
	question = "Which port does the staging database of Heron listen on? Answer from what you read."
)

// kind is what a request is for.
type kind int

const (
	turn    kind = iota // of the agent's loop or chat
	asks                // for the fact
	other               // of another session
	summary             // of the conversation, which replaces it
	aside               // a title and the like
)

// talk is a model that lets an agent read part by part, or explains when there are no tools.
type talk struct {
	parts int
	chat  bool // turns have no tools

	mu                     sync.Mutex // protects the fields below
	step, calls, summaries int
	input, read, output    int // what was reported
}

// shells are the arguments of shell tools, by the tool's name.
var shells = map[string]string{
	"Bash": "command", "bash": "command", "exec_command": "cmd", "shell": "command", "run_shell_command": "command",
	"run_commands": "commands", "terminal": "command", "read_part": "k",
	"Reader-read_part": "k", // Semantic Kernel, with the name of the plugin
}

// summaryWords are in requests for a summary: in the newest message, or in instructions that
// are followed by nothing but the history as one text.
var summaryWords = []string{
	"create a detailed summary of",                          // Claude Code, Copilot
	`"type":"compaction_trigger"`,                           // Codex
	"Summarize this session for continuation",               // Cline
	"provide a concise summary of our conversation so far",  // Continue
	"summarize this partial conversation about programming", // aider
}

// asideWords are in the instructions of agents that a program sends off on its own.
var asideWords = []string{"managed memory extraction subagent"}

// systemMessage reports whether a message or item is the system's.
func systemMessage(raw []byte) bool {
	var m struct{ Role string }
	return json.Unmarshal(raw, &m) == nil && (m.Role == "system" || m.Role == "developer")
}

// kind returns what a body is for.
func (t *talk) kind(body []byte) kind {
	var b struct {
		Messages, Contents []json.RawMessage
		Input              json.RawMessage // a list, or a text
		Tools              []struct {
			Name      string
			Function  struct{ Name string }
			Functions []struct{ Name string } `json:"functionDeclarations"`
			Also      []struct{ Name string } `json:"function_declarations"`
		}
	}
	if json.Unmarshal(body, &b) != nil {
		return aside
	}
	all := append(b.Messages, b.Contents...)
	var input []json.RawMessage
	if json.Unmarshal(b.Input, &input) == nil {
		all = append(all, input...)
	} else if len(b.Input) > 0 {
		all = append(all, fmt.Appendf(nil, `{"role":"user","content":%s}`, b.Input))
	}
	if len(all) == 0 {
		return aside
	}
	end := len(all)
	for end > 1 && systemMessage(all[end-1]) { // a reminder, which belongs to the message before it
		end--
	}
	last := all[end-1 : end]
	if len(all) == 2 {
		last = all
	}
	for _, raw := range last {
		if slices.ContainsFunc(summaryWords, func(words string) bool { return bytes.Contains(raw, []byte(words)) }) {
			return summary
		}
	}
	if slices.ContainsFunc(asideWords, func(words string) bool { return bytes.Contains(body, []byte(words)) }) {
		return aside
	}
	for _, raw := range slices.Backward(all) {
		var m struct{ Role, Type string }
		if json.Unmarshal(raw, &m) != nil || m.Role != "user" {
			continue
		}
		if bytes.Contains(raw, []byte(question)) {
			return asks
		}
		if bytes.Contains(raw, []byte(another)) {
			return other
		}
		if !bytes.Contains(raw, []byte("<info-msg>")) {
			break
		}
	}
	for _, tool := range b.Tools {
		if shells[tool.Name] != "" || shells[tool.Function.Name] != "" {
			return turn
		}
		for _, function := range slices.Concat(tool.Functions, tool.Also) {
			if shells[function.Name] != "" {
				return turn
			}
		}
	}
	if t.chat {
		return turn
	}
	return aside
}

func (t *talk) answer(r *fakemodel.Request) fakemodel.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", t.calls), CacheRead: tokens(r.Data()) / 2, Output: 20}
	if r.Format == wire.Ollama { // reports no cache
		a.CacheRead = 0
	}
	a.Input = tokens(r.Data()) - a.CacheRead
	t.input, t.read, t.output = t.input+a.Input+a.CacheRead, t.read+a.CacheRead, t.output+a.Output
	switch t.kind(r.Data()) {
	case summary:
		t.summaries++
		if bytes.Contains(r.Data(), []byte(`"type":"compaction_trigger"`)) {
			a.Compaction = "Y29tcGFjdGVk"
			return a
		}
		a.Text = "<analysis>\nThe parts were read one by one.\n</analysis>\n<summary>\nParts were read one after another, each with a command of its own.\n" +
			"The user wants all of them to be read, and may ask afterwards for something that one of them says.\n</summary>"
		return a
	case asks:
		return say(r, a, "That was in the third part.")
	case other:
		return say(r, a, "Ready.")
	case aside:
		a.Text = "Reading all parts"
		if bytes.Contains(r.Data(), []byte("unproductive_state_confidence")) { // Gemini CLI, whether it loops
			a.Text = `{"unproductive_state_analysis":"It reads part by part.","unproductive_state_confidence":0}`
		}
		return a
	}
	if t.step == t.parts {
		return say(r, a, fmt.Sprintf("All %d parts were read.", t.parts))
	}
	t.step++
	for _, tool := range r.Tools {
		argument := shells[tool.Name]
		if argument == "" {
			continue
		}
		a.Thinking = thought(r, fmt.Sprintf("Part %d is next.", t.step))
		command := any(fmt.Sprintf("cat parts/%d.txt", t.step))
		if argument == "k" {
			command = t.step
		}
		return act(r, a, &tool, command, t.step)
	}
	return say(r, a, partText(t.step, 30))
}

// act calls a shell with a command.
func act(r *fakemodel.Request, a fakemodel.Answer, tool *chat.ToolDef, command any, k int) fakemodel.Answer {
	argument := shells[tool.Name]
	arguments := map[string]any{argument: command}
	if argument == "commands" {
		arguments[argument] = []any{command}
	}
	for _, name := range required(tool.Raw) {
		switch name {
		case "description", "summary":
			arguments[name] = fmt.Sprintf("Print part %d", k)
		case "security_risk":
			arguments[name] = "LOW"
		}
	}
	raw, _ := json.Marshal(arguments)
	a.Calls = []fakemodel.Call{{ID: drawnID(r.Path, k), Name: tool.Name, Arguments: string(raw)}}
	return a
}

// say ends a turn with a text, in the way that the program's instructions ask for.
func say(r *fakemodel.Request, a fakemodel.Answer, text string) fakemodel.Answer {
	const submit = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
	a.Text = text
	for _, tool := range r.Tools {
		switch {
		case tool.Name == "final_answer": // smolagents
			raw, _ := json.Marshal(map[string]string{"answer": text})
			a.Calls = []fakemodel.Call{{ID: drawnID(r.Path, -len(r.Messages)), Name: tool.Name,
				Arguments: string(raw)}}
		case shells[tool.Name] == "command" && bytes.Contains(r.Data(), []byte(submit)): // mini-swe-agent
			return act(r, a, &tool, "echo "+submit, -len(r.Messages))
		}
	}
	if bytes.Contains(r.Data(), []byte("[[ ## completed ## ]]")) { // DSPy
		a.Text = "[[ ## answer ## ]]\n" + text + "\n\n[[ ## completed ## ]]"
	}
	return a
}

// thought returns a thought where the vendor would send one: Anthropic, Google and Ollama do if the
// request asks for it.
func thought(r *fakemodel.Request, text string) string {
	field := map[wire.Format]string{wire.Anthropic: "thinking", wire.Gemini: "generationConfig", wire.Ollama: "think"}
	for _, m := range r.Members() {
		if m.Name == field[r.Format] && (r.Format != wire.Gemini || bytes.Contains(m.Raw, []byte("includeThoughts"))) &&
			!bytes.Contains(m.Raw, []byte("disabled")) && string(m.Raw) != "false" {
			return text
		}
	}
	if field[r.Format] == "" {
		return text
	}
	return ""
}

// drawnID returns the id of the k-th call as the vendor of a path draws it.
func drawnID(path string, k int) string {
	drawn := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, "call ", k)))
	if strings.HasSuffix(path, "/messages") {
		return "toolu_01" + drawn[:22]
	}
	return "call_" + drawn[:24]
}

// required returns the arguments that a tool must have, in any vendor's words.
func required(tool []byte) []string {
	type schema struct{ Required []string }
	var t struct {
		InputSchema schema `json:"input_schema"`
		Parameters  schema
		Google      schema `json:"parametersJsonSchema"`
		Function    struct{ Parameters schema }
	}
	if json.Unmarshal(tool, &t) != nil {
		return nil
	}
	return slices.Concat(t.InputSchema.Required, t.Parameters.Required, t.Google.Required,
		t.Function.Parameters.Required)
}

// partText returns the k-th part, of some 20 tokens a line.
func partText(k, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d of part %d: the token of part %d is T%08x and nothing else.\n", i+1, k, k,
			uint32(k)*2654435761)
	}
	return b.String()
}

// writeParts writes the parts that a model lets an agent read.
func writeParts(work string, parts int) error {
	if err := os.MkdirAll(filepath.Join(work, "parts"), 0o755); err != nil {
		return err
	}
	for k := 1; k <= parts; k++ {
		text := partText(k, 55)
		if k == 3 {
			text = fact + "\n" + text
		}
		if err := os.WriteFile(filepath.Join(work, "parts", fmt.Sprintf("%d.txt", k)), []byte(text),
			0o644); err != nil {
			return err
		}
	}
	return nil
}
