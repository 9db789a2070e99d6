package window

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
)

// result is one tool result of a history with what is known of its call.
type result struct {
	message, part, exchange int
	callMessage, callPart   int
	tool                    string
	// kind and about are the call's main argument: "path" and "src/a.go".
	kind, about string
	// whole is all arguments, which distinguishes calls with the same main
	// argument.
	whole string
	// recallTool is that of the history.
	recallTool string
}

// results lists the tool results of a history, oldest first.
func results(h *History) []result {
	type call struct {
		name, args    string
		message, part int
	}
	calls := map[string]call{}
	named := map[string][]call{} // those of the newest message that came without ids
	messages := chat.Identified(h.Messages)
	var out []result
	for e, x := range h.Cuts.Exchanges {
		for i := x.Start; i < x.End; i++ {
			if messages[i].Role == chat.Assistant {
				clear(named)
			}
			for j := range messages[i].Parts {
				p := &messages[i].Parts[j]
				switch p.Kind {
				case chat.Call:
					if h.Messages[i].Parts[j].ID == "" {
						named[p.Name] = append(named[p.Name], call{p.Name, p.Arguments(), i, j})
					}
					calls[p.ID] = call{p.Name, p.Arguments(), i, j}
				case chat.Result:
					if p.Hosted {
						continue // the provider's own, in the assistant's turn
					}
					c, ok := calls[p.ID]
					if all := named[p.Name]; len(all) > 0 && (p.ID == "" || !ok) {
						c, named[p.Name] = all[0], all[1:]
					}
					r := result{message: i, part: j, exchange: e, tool: c.name, whole: c.args, callMessage: c.message,
						callPart: c.part, recallTool: h.recallTool}
					if r.tool == "" {
						r.tool = p.Name
					}
					r.kind, r.about = condense.MainArgument(c.name, c.args)
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// reads reports, from the words of its name, whether a tool shows a file and
// changes nothing.
func (r *result) reads() bool {
	if r.kind != "path" {
		return false
	}
	shows := false
	for _, word := range nameWords(r.tool) {
		switch word {
		case "read", "view", "cat", "open", "show", "get", "fetch", "load":
			shows = true
		case "write", "edit", "create", "update", "delete", "remove", "replace", "insert", "append", "patch", "save",
			"upload", "move":
			return false
		}
	}
	return shows
}

// nameWords returns the words of a tool's name: read_file, ReadFile and
// fs.read contain "read", thread does not.
func nameWords(name string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	lower := false
	for _, c := range name {
		if !unicode.IsLetter(c) || lower && unicode.IsUpper(c) {
			flush()
		}
		if unicode.IsLetter(c) {
			word = append(word, c)
		}
		lower = unicode.IsLower(c)
	}
	flush()
	return words
}

// wholeFile reports whether a call read its whole file: it names the file and
// nothing that could be a range.
func (r *result) wholeFile() bool {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(r.whole), &args) != nil {
		return false
	}
	for name := range args {
		switch name {
		case "file_path", "path", "file", "filename", "filepath", "absolute_path", "target_file", "uri", "description",
			"explanation", "encoding":
		default:
			return false
		}
	}
	return true
}

// shows reports whether a result contains what was asked for, and is not an
// error, a stub or a note that refers to an earlier result.
func (r *result) shows(h *History) bool {
	p := &h.Messages[r.message].Parts[r.part]
	if p.IsError || isStub(p) {
		return false
	}
	if len(p.Text) > 800 || len(p.Raw) > 1200 {
		return true // no note is that long
	}
	text := strings.ToLower(partText(p))
	for _, word := range []string{"unchanged", "no such file", "not exist", "not found", "enoent", "permission denied",
		"is a directory"} {
		if strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// stubMark begins every stub, so that a second pass recognises it.
const stubMark = prompt.Note

// stub returns a text that describes a masked result and says that the tool
// can be run again.
func (r *result) stub(tokens int, why string) string {
	name := quote.Label(clip.To(r.tool, clip.Name))
	if name == "" {
		name = "tool"
	}
	about := r.about
	if runes := []rune(about); len(runes) > 120 {
		about = string(runes[:119]) + "…"
	}
	about = quote.Disarm(strings.Join(strings.Fields(about), " "))
	if about != "" {
		about = " " + about
	}
	if r.recallTool != "" {
		return fmt.Sprintf(prompt.StubTool, name, about, tokens, why, r.recallTool)
	}
	return fmt.Sprintf(prompt.Stub, name, about, tokens, why)
}

// longestStub is more than any stub has, in bytes.
const longestStub = 2 << 10

// isStub reports whether a result was masked before, or is as short as a stub: a page that
// only begins like one can be masked.
func isStub(p *chat.Part) bool {
	return len(p.Text) <= longestStub && strings.HasPrefix(string(p.Text), `"`+stubMark)
}

// maskable reports whether a result may be masked: not pinned, not already a
// stub, and nothing that later calls depend on.
func maskable(h *History, r result, s *settings) bool {
	p := &h.Messages[r.message].Parts[r.part]
	if h.Pinned[r.message] || slices.Contains(s.KeepTools, r.tool) || isStub(p) || !replaceable(p) {
		return false
	}
	for k := range p.Parts {
		if p.Parts[k].Kind == chat.Catalog {
			return false
		}
	}
	return true
}

// replaceable reports whether a result can be replaced by text: some results
// of the provider's own tools need a form that text does not have.
func replaceable(p *chat.Part) bool {
	switch p.Type {
	case "", "tool_result", "tool", "function", "function_call_output", "custom_tool_call_output":
		return !p.Hosted
	}
	return strings.HasSuffix(p.Type, "_output") && p.Text != nil && p.Parts == nil
}
