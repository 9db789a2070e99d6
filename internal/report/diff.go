package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Change is what two bodies differ in, or a stretch of messages that both have.
type Change struct {
	// Op is "same", "removed", "added" or "changed".
	Op string `json:"op"`
	// First is the position of the first message in the body that has it, in the second one if both
	// have it, from 1 on; 0 for what is not a message.
	First int `json:"first"`
	// Last is the position of the last message.
	Last int `json:"last"`
	// Tokens is the size of what stands there.
	Tokens int `json:"tokens"`
	// TokensBefore is the size of what was changed in the first body.
	TokensBefore int `json:"tokens_before,omitempty"`
	// Role is that of the first message, or "field", "system" or "tool".
	Role string `json:"role"`
	// Name is that of a field or a tool, or the number of a part of the system prompt.
	Name string `json:"name,omitempty"`
	// Text is what the first of the messages says; for a field it is its value.
	Text string `json:"text"`
	// Lines are the lines in which the two forms of what was changed differ.
	Lines []LineChange `json:"lines,omitempty"`
}

// LineChange is a line that only one of two forms has. Op is "removed" or "added".
type LineChange struct {
	Op   string `json:"op"`
	Text string `json:"text"`
}

// Diff compares two bodies: fields by name, the system prompt by parts, tools by name, and
// messages. Cache marks make no difference.
func Diff(before, after []byte) ([]Change, error) {
	a, err := readBody(before)
	if err != nil {
		return nil, err
	}
	b, err := readBody(after)
	if err != nil {
		return nil, err
	}
	named := func(x, y *bodyPart) bool { return x.name == y.name }
	out := changes(a.fields, b.fields, named)
	out = append(out, changes(a.system, b.system, func(*bodyPart, *bodyPart) bool { return true })...)
	out = append(out, changes(a.tools, b.tools, named)...)
	out = slices.DeleteFunc(out, func(c Change) bool { return c.Op == "same" })
	return append(out, changes(a.messages, b.messages, sameMessage)...), nil
}

// sentBody is a body as Diff compares it.
type sentBody struct{ fields, system, tools, messages []bodyPart }

// bodyPart is a field, a part of the system prompt, a tool or a message.
type bodyPart struct {
	sum    timeline.Hash // of its bytes
	at     int           // position of a message, from 1 on
	role   string
	name   string
	text   string
	tokens int
	lines  func() []string
	// message is nil for what is not one.
	message *chat.Message
}

func readBody(body []byte) (*sentBody, error) {
	read, err := wire.Read(body, wire.Auto, wire.Limits{})
	if err != nil {
		return nil, fmt.Errorf("read a body that was sent: %w", err)
	}
	counter := TextCounter()
	c := &sentBody{}
	p := read.Format.Protocol()
	for _, m := range read.Members() {
		if m.Name != p.List && m.Name != p.System && !slices.Contains(p.Tools, m.Name) {
			c.fields = append(c.fields, bodyPart{sum: timeline.HashOf(compacted(m.Raw)), role: "field", name: m.Name,
				text: string(m.Raw), lines: func() []string { return jsonLines(m.Raw) }})
		}
	}
	slices.SortStableFunc(c.fields, func(a, b bodyPart) int { return cmp.Compare(a.name, b.name) })
	for i := range read.System {
		text, name := cmp.Or(read.System[i].Text.String(), string(read.System[i].Raw)), ""
		if len(read.System) > 1 {
			name = strconv.Itoa(i + 1)
		}
		c.system = append(c.system, bodyPart{sum: timeline.HashOf([]byte(text)), role: "system", name: name, text: text,
			tokens: counter.Text(text).Tokens, lines: func() []string { return strings.Split(text, "\n") }})
	}
	for i := range read.Tools {
		c.tools = append(c.tools, toolPart(counter, &read.Tools[i]))
	}
	for i := range read.Messages {
		c.messages = append(c.messages, messagePart(counter, read.Format, &read.Messages[i], i+1))
	}
	return c, nil
}

func toolPart(counter *token.Counter, t *chat.ToolDef) bodyPart {
	var own struct{ Type, Description string }
	json.Unmarshal(t.Raw, &own) // what is not there stays empty
	raw := withoutCacheMark(t.Raw)
	return bodyPart{sum: timeline.HashOf(raw), role: "tool", name: cmp.Or(t.Name, own.Type), text: own.Description,
		tokens: counter.Tool(t).Tokens, lines: func() []string { return jsonLines(raw) }}
}

// withoutCacheMark returns a tool without its cache mark, its members in alphabetical order.
func withoutCacheMark(raw []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	delete(members, "cache_control")
	bare, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return bare
}

func messagePart(counter *token.Counter, format wire.Format, m *chat.Message, at int) bodyPart {
	raw := m.Raw
	if bare, _, err := wire.WithoutCacheMarks(format, raw); err == nil {
		raw = bare
	}
	return bodyPart{sum: timeline.HashOf(compacted(raw)), at: at, role: speaker(string(m.Role), m),
		text: timeline.Words(m), tokens: Tokens(counter, m), lines: func() []string { return jsonLines(raw) },
		message: m}
}

// compacted returns JSON without white space between its values, which makes no difference.
func compacted(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// unescape makes lines of the texts in JSON.
var unescape = strings.NewReplacer(`\\`, `\\`, `\n`, "\n", `\t`, "\t", `\"`, `"`)

// jsonLines returns JSON in lines, with the lines of the texts in it.
func jsonLines(raw []byte) []string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		b.Write(raw)
	}
	return strings.Split(unescape.Replace(b.String()), "\n")
}

// alike is how many bytes at the beginning or the end of two messages are the same if one is a
// form of the other.
const alike = 24

// sameMessage reports whether y is likely to be another form of the message x: it has the
// same call or result, or begins or ends with the same words.
func sameMessage(x, y *bodyPart) bool {
	id := func(p *bodyPart) string {
		for i := range p.message.Parts {
			if id := p.message.Parts[i].ID; id != "" {
				return id
			}
		}
		return ""
	}
	if x.role != y.role || id(x) != id(y) {
		return false
	}
	n := min(len(x.text), len(y.text), alike)
	return id(x) != "" || n > 0 && (x.text[:n] == y.text[:n] || x.text[len(x.text)-n:] == y.text[len(y.text)-n:])
}

// changes compares two lists of parts. Of those that only one list has, between two that both
// have, a pair for which similar reports true is one part that was changed.
func changes(a, b []bodyPart, similar func(x, y *bodyPart) bool) (out []Change) {
	all := edits(sums(a), sums(b))
	for len(all) > 0 {
		n := 0
		for n < len(all) && all[n].op != "same" {
			n++
		}
		out = append(out, replaced(a, b, all[:n], similar)...)
		if all = all[n:]; len(all) == 0 {
			break
		}
		p := &b[all[0].at]
		if k := len(out) - 1; k >= 0 && out[k].Op == "same" {
			out[k].Last = p.at
			out[k].Tokens += p.tokens
		} else {
			out = append(out, p.change("same"))
		}
		all = all[1:]
	}
	return out
}

func sums(parts []bodyPart) []timeline.Hash {
	out := make([]timeline.Hash, len(parts))
	for i := range parts {
		out[i] = parts[i].sum
	}
	return out
}

// replaced returns the changes for a run of removals and additions.
func replaced(a, b []bodyPart, run []edit, similar func(x, y *bodyPart) bool) (out []Change) {
	var added []edit
	for _, e := range run {
		if e.op == "added" {
			added = append(added, e)
		}
	}
	add := func(upTo int) {
		for ; upTo > 0; upTo-- {
			out = append(out, b[added[0].at].change("added"))
			added = added[1:]
		}
	}
	for _, e := range run {
		if e.op == "added" {
			continue
		}
		old := &a[e.at]
		pair := slices.IndexFunc(added, func(e edit) bool { return similar(old, &b[e.at]) })
		if pair < 0 {
			out = append(out, old.change("removed"))
			continue
		}
		add(pair)
		now := &b[added[0].at]
		c := now.change("changed")
		c.TokensBefore, c.Lines = old.tokens, differing(old.lines(), now.lines())
		out, added = append(out, c), added[1:]
	}
	add(len(added))
	return out
}

func (p *bodyPart) change(op string) Change {
	text := p.text
	if p.message == nil && p.role != "field" {
		text = Line(text, maxWords)
	}
	return Change{Op: op, First: p.at, Last: p.at, Tokens: p.tokens, Role: p.role, Name: p.name, Text: text}
}

// differing returns the lines that only one of two texts has. A comma at the end, which
// depends on the line after it, makes no difference if there is another one.
func differing(a, b []string) (out []LineChange) {
	bare := func(lines []string) []string {
		out := make([]string, len(lines))
		for i, l := range lines {
			out[i] = strings.TrimSuffix(l, ",")
		}
		return out
	}
	x, y := bare(a), bare(b)
	if slices.Equal(x, y) {
		x, y = a, b
	}
	for _, e := range edits(x, y) {
		switch e.op {
		case "removed":
			out = append(out, LineChange{e.op, a[e.at]})
		case "added":
			out = append(out, LineChange{e.op, b[e.at]})
		}
	}
	return out
}

type edit struct {
	op string
	at int // in the list that has it
}

// maxEdits is how many elements of the differing middle of two lists are compared with one
// another; if there are more, the whole middle counts as replaced.
const maxEdits = 3000

// edits returns the fewest removals and additions that make b of a.
func edits[T comparable](a, b []T) (out []edit) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	for i := range head {
		out = append(out, edit{"same", i})
	}
	// common[i][j] is the length of the longest sequence that x[i:] and y[j:] share.
	common := make([][]int32, len(x)+1)
	if len(x)*len(y) <= maxEdits*maxEdits {
		for i := range common {
			common[i] = make([]int32, len(y)+1)
		}
		for i := len(x) - 1; i >= 0; i-- {
			for j := len(y) - 1; j >= 0; j-- {
				if x[i] == y[j] {
					common[i][j] = common[i+1][j+1] + 1
				} else {
					common[i][j] = max(common[i+1][j], common[i][j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && common[0] != nil && x[i] == y[j]:
			out = append(out, edit{"same", head + j})
			i, j = i+1, j+1
		case i < len(x) && (j == len(y) || common[0] == nil || common[i+1][j] >= common[i][j+1]):
			out = append(out, edit{"removed", head + i})
			i++
		default:
			out = append(out, edit{"added", head + j})
			j++
		}
	}
	for i := range tail {
		out = append(out, edit{"same", len(b) - tail + i})
	}
	return out
}
