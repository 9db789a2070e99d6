package composition

import (
	"cmp"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/token"
)

// Kind is what a part of a request is.
type Kind string

const (
	System   Kind = "system"   // the system prompt, and system messages among the others
	Tools    Kind = "tools"    // definitions; Name is the MCP server, empty for the agent's own
	Memory   Kind = "memory"   // memory files; Name is the path
	People   Kind = "people"   // people's words
	Agent    Kind = "agent"    // what an agent program put beside them
	Model    Kind = "model"    // the model's words
	Calls    Kind = "calls"    // calls of tools; Name is the tool
	Thinking Kind = "thinking" // the model's thinking
	Results  Kind = "results"  // results of tools; Name is the tool
	Media    Kind = "media"    // images, documents, audio
	Digest   Kind = "digest"   // digests and summaries, by Oriel or an agent
	Recalled Kind = "recalled" // what Oriel brought back
	Notes    Kind = "notes"    // notes of Oriel about what is left out
	Other    Kind = "other"    // what is not known
	Overhead Kind = "overhead" // what the provider adds around messages
	Free     Kind = "free"     // what the model could still take
)

// piece is a stretch of a request.
type piece struct {
	kind   Kind
	group  string // a server, tool or file; empty for none
	name   string // of a tool
	id     int64  // of its message; 0 for none
	tokens int
	text   string // how it begins
}

// begins is how much is kept of a text.
const begins = 300

// decompose returns the pieces of a request, whose tokens add up to b.Total. ids are those
// of the messages.
func decompose(r *chat.Request, c *token.Counter, b token.Breakdown, ids []int64) []piece {
	var all []piece
	all = append(all, system(r, c, b.System)...)
	all = append(all, tools(r, c, b.Tools)...)
	called := map[string]string{} // tools by the ids of calls
	for i := range r.Messages {
		pieces := message(&r.Messages[i], c, called)
		if len(pieces) == 0 {
			pieces = []piece{{kind: Other, group: r.Messages[i].Type}}
		}
		spread(pieces, b.Messages[i])
		for k := range pieces {
			if i < len(ids) {
				pieces[k].id = ids[i]
			}
		}
		all = append(all, pieces...)
	}
	return append(all, piece{kind: Overhead, tokens: b.Overhead})
}

func system(r *chat.Request, c *token.Counter, total int) []piece {
	var out []piece
	for i := range r.System {
		out = append(out, piece{kind: System, tokens: c.Part(&r.System[i]).Tokens, text: r.System[i].Text.String()})
	}
	return spread(out, total)
}

func tools(r *chat.Request, c *token.Counter, total int) []piece {
	var out []piece
	for i := range r.Tools {
		t := &r.Tools[i]
		out = append(out, piece{kind: Tools, group: Server(t.Name), name: t.Name, tokens: c.Tool(t).Tokens})
	}
	return spread(out, total)
}

// Server returns the MCP server of a tool, empty for a tool of the agent itself.
func Server(tool string) string {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		if server, _, ok := strings.Cut(rest, "__"); ok {
			return server
		}
	}
	return ""
}

// message returns the pieces of a message, with the weights by which its tokens are spread.
func message(m *chat.Message, c *token.Counter, called map[string]string) (out []piece) {
	words := m.Words()
	for j := range m.Parts {
		p := &m.Parts[j]
		n := c.Part(p).Tokens
		switch p.Kind {
		case chat.Text, chat.Refusal:
			out = append(out, text(m, p.Text.String(), words[j], p.Inserted(), n, c)...)
		case chat.Thinking:
			out = append(out, piece{kind: Thinking, tokens: n, text: p.Text.String()})
		case chat.Compaction:
			out = append(out, piece{kind: Digest, tokens: n, text: p.Text.String()})
		case chat.Call:
			called[p.ID] = p.Name
			_, about := condense.MainArgument(p.Name, p.Arguments())
			out = append(out, piece{kind: Calls, group: p.Name, name: p.Name, tokens: n,
				text: cmp.Or(about, p.Arguments())})
		case chat.Result:
			tool := p.Name
			if tool == "" {
				tool = called[p.ID]
			}
			out = append(out, piece{kind: Results, group: tool, name: tool, tokens: n, text: resultText(p)})
		case chat.Image, chat.Document, chat.Audio:
			out = append(out, piece{kind: Media, group: p.Type, tokens: n})
		case chat.Catalog:
			out = append(out, piece{kind: Tools, tokens: n})
		default:
			out = append(out, piece{kind: Other, group: p.Type, tokens: n})
		}
	}
	return out
}

// text returns the pieces of a text, which takes n tokens; words are the person's own.
func text(m *chat.Message, s, words string, inserted bool, n int, c *token.Counter) []piece {
	whole := piece{tokens: n, text: s}
	switch {
	case inserted && condense.IsSummary(s):
		whole.kind = Digest
	case inserted && (strings.HasPrefix(s, prompt.Recalled) || strings.HasPrefix(s, prompt.StandingTitle)):
		whole.kind = Recalled
	case inserted:
		whole.kind = Notes
	case m.Role == chat.Assistant:
		whole.kind = Model
	case m.Role == chat.System || m.Role == chat.Developer:
		whole.kind = System
	case m.Role == chat.Tool || m.Role == chat.Function:
		whole.kind, whole.group, whole.name = Results, m.Name, m.Name
	case condense.IsForeign(s):
		whole.kind = Digest
	default:
		return user(s, words, n, c)
	}
	return []piece{whole}
}

// user returns the pieces of a text of role user: memory files, people's words, and what
// the agent put beside them.
func user(s, words string, n int, c *token.Counter) []piece {
	var out []piece
	files := memoryFiles(s)
	rest := c.Text(s).Tokens
	for _, f := range files {
		tokens := c.Text(f.text).Tokens
		out = append(out, piece{kind: Memory, group: f.path, tokens: tokens, text: f.text})
		rest -= tokens
	}
	own := 0
	if words != "" && len(files) == 0 {
		own = min(c.Text(words).Tokens, max(rest, 0))
		out = append(out, piece{kind: People, tokens: own, text: words})
	}
	if rest -= own; rest > 0 {
		out = append(out, piece{kind: Agent, tokens: rest, text: s})
	}
	if len(out) == 0 {
		out = append(out, piece{kind: People, tokens: n, text: s})
	}
	return spread(out, n)
}

func resultText(p *chat.Part) string {
	if s := p.Text.String(); s != "" {
		return s
	}
	for i := range p.Parts {
		if q := &p.Parts[i]; q.Kind == chat.Text {
			return q.Text.String()
		}
	}
	return ""
}

// spread makes the tokens of the pieces add up to total, in proportion, and clips their
// texts. A piece that has tokens keeps at least one if total allows it.
func spread(pieces []piece, total int) []piece {
	tokens, sum := make([]int, len(pieces)), 0
	for i := range pieces {
		if t := pieces[i].text; len(t) > begins {
			pieces[i].text = strings.ToValidUTF8(t[:begins], "")
		}
		tokens[i] = pieces[i].tokens
		sum += tokens[i]
	}
	if sum == 0 && len(pieces) > 0 {
		tokens[len(pieces)-1] = 1
	}
	number.Split(tokens, total)
	for i := range pieces {
		pieces[i].tokens = tokens[i]
	}
	return pieces
}
