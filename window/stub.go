package window

import (
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
)

// result is one tool result of a history and what is known of its call.
type result struct {
	message, part, exchange int
	callMessage, callPart   int
	tool                    string
	// kind and about are the call's main argument: "path" and "src/a.go".
	kind, about string
	// whole tells calls with the same main argument apart: all arguments.
	whole string
	// partial says that a read was of a part of its file.
	partial bool
}

// results lists the tool results of a history, oldest first.
func results(h *History) []result {
	type call struct {
		name, args    string
		message, part int
	}
	calls := map[string]call{}
	var out []result
	for e, x := range h.Cuts.Exchanges {
		for i := x.Start; i < x.End; i++ {
			for j := range h.Messages[i].Parts {
				p := &h.Messages[i].Parts[j]
				switch p.Kind {
				case chat.Call:
					calls[p.ID] = call{p.Name, p.Arguments(), i, j}
				case chat.Result:
					if p.Hosted {
						continue // the provider's own, in the assistant's turn
					}
					c := calls[p.ID]
					r := result{message: i, part: j, exchange: e, tool: c.name, whole: c.args, callMessage: c.message, callPart: c.part}
					if r.tool == "" {
						r.tool = p.Name
					}
					r.kind, r.about = condense.MainArgument(c.name, c.args)
					r.partial = strings.Contains(c.args, `"offset"`) || strings.Contains(c.args, `"limit"`) || strings.Contains(c.args, `"view_range"`)
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// reads reports whether a tool shows a file and changes nothing.
func (r *result) reads() bool {
	if r.kind != "path" {
		return false
	}
	name := strings.ToLower(r.tool)
	for _, word := range []string{"read", "view", "cat", "open", "show", "get", "fetch", "load"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// stubMark opens every stub, so that a second pass knows one.
const stubMark = "[Oriel: "

// stub says what a masked result was and that the tool can be run again.
func (r *result) stub(tokens int, why string) string {
	name := r.tool
	if name == "" {
		name = "tool"
	}
	about := r.about
	if runes := []rune(about); len(runes) > 120 {
		about = string(runes[:119]) + "…"
	}
	about = strings.Join(strings.Fields(about), " ")
	if about != "" {
		about = " " + about
	}
	return fmt.Sprintf("%sthe result of %s%s (%d tokens) is left out; %s. Run it again if you need it.]", stubMark, name, about, tokens, why)
}

// isStub reports whether a result has been masked before.
func isStub(p *chat.Part) bool {
	return strings.HasPrefix(string(p.Text), `"`+stubMark)
}

// maskable reports whether a result may be masked: not pinned, not already a
// stub, and nothing that later calls depend on.
func maskable(h *History, r result) bool {
	p := &h.Messages[r.message].Parts[r.part]
	if h.Pinned[r.message] || isStub(p) || !replaceable(p) {
		return false
	}
	for k := range p.Parts {
		if p.Parts[k].Kind == chat.Catalog {
			return false
		}
	}
	return true
}

// replaceable reports whether a result can say something else: the protocols want
// some of the provider's own in a shape that no text has.
func replaceable(p *chat.Part) bool {
	switch p.Type {
	case "", "tool_result", "tool", "function", "function_call_output", "custom_tool_call_output":
		return !p.Hosted
	}
	return strings.HasSuffix(p.Type, "_output") && p.Text != nil && p.Parts == nil
}
