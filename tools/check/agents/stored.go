package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// checkStored returns what is missing in the history that the flags in store name,
// according to the program's own commands.
func checkStored(oriel string, f *folder, store ...string) (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	command := func(args ...string) []byte {
		cmd := exec.Command(oriel, append(args, store...)...)
		var bad bytes.Buffer
		cmd.Stderr = &bad
		out, err := cmd.Output()
		if err != nil {
			problem("oriel %s: %v: %s", args[0], err, bad.String())
		}
		return out
	}
	command("verify")
	var list struct {
		Conversations []struct {
			ID       string
			Messages int
		}
	}
	if err := json.Unmarshal(command("conversations", "--json"), &list); err != nil || len(list.Conversations) != 1 {
		problem("not one conversation but %d: %v, %v", len(list.Conversations), list.Conversations, err)
		return problems
	}
	asked, results := map[string]bool{}, map[string]string{}
	for line := range bytes.Lines(command("export", list.Conversations[0].ID)) {
		collect(line, asked, results)
	}
	lost, cut := 0, 0
	for i, out := range f.outputs {
		id := callID(i + 1)
		result, ok := results[id]
		if !asked[id] || !ok {
			lost++
		} else if !strings.Contains(result, strings.TrimSpace(out)) {
			cut++
		}
	}
	if lost+cut > 0 {
		problem("of %d calls, %d have no call or result in the history, %d not the whole result", len(f.outputs), lost,
			cut)
	}
	return problems
}

// collect records the calls and results of a message of either vendor.
func collect(line []byte, asked map[string]bool, results map[string]string) {
	type block struct {
		Type, ID string
		Call     string `json:"call_id"`
		Use      string `json:"tool_use_id"`
		Output   json.RawMessage
		Content  json.RawMessage
	}
	var m block
	if json.Unmarshal(line, &m) != nil {
		return
	}
	var blocks []block
	if json.Unmarshal(m.Content, &blocks) != nil {
		blocks = nil
	}
	for _, b := range append(blocks, m) {
		switch b.Type {
		case "tool_use":
			asked[b.ID] = true
		case "function_call":
			asked[b.Call] = true
		case "tool_result":
			results[b.Use] = text(b.Content)
		case "function_call_output":
			results[b.Call] = text(b.Output)
		}
	}
}

// text returns the text of a string or of a list of parts.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}
