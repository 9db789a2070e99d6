package recall

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/timeline"
)

// A Reader turns entries of a history into messages. It remembers tool calls,
// so that results carry the names of their tools. It reads the entries of one
// conversation in order, from one goroutine.
type Reader struct {
	// Conversation is set in all messages.
	Conversation string

	calls map[string]string // id → description of the call
}

// Read returns the message of an entry, and false if the entry contains
// nothing that was said.
func (r *Reader) Read(e *timeline.Entry) (Message, bool) {
	c, err := e.Chat()
	if err != nil {
		return Message{}, false
	}
	m := r.Chat(&c)
	m.Ref, m.Time = e.Ref, e.Time
	if m.Role == "" {
		m.Role = e.Role
	}
	return m, m.Text != "" || len(m.Tools) > 0 || len(m.Given) > 0
}

// Chat returns the words of a message. For a tool call these are the tool, its
// main argument and the other arguments; for a result also its first and last
// lines, lines that report errors, and lines that name a part of a file.
// Images, recordings and encoded data have no words, nor have calls of Oriel's own
// tools and their results.
func (r *Reader) Chat(c *chat.Message) Message {
	m := Message{Conversation: r.Conversation, Role: string(c.Role), Name: c.Name}
	var said []string
	for i := range c.Parts {
		p := &c.Parts[i]
		switch p.Kind {
		case chat.Text, chat.Refusal:
			text := p.Text.String()
			if head := strings.TrimSpace(text); head != "" &&
				!(c.Role == chat.User && strings.HasPrefix(head, "<system-reminder>")) {
				said = append(said, text)
			}
		case chat.Document:
			if p.Media != nil && len(p.Media.Text) > 0 {
				m.Given = append(m.Given, p.Media.Text.String())
			}
		case chat.Call:
			if r.calls == nil {
				r.calls = map[string]string{}
			}
			if prompt.OwnCall(p) != "" {
				r.calls[p.ID] = ownCall
				continue
			}
			what, all := callWords(p)
			r.calls[p.ID] = what
			m.Tools = append(m.Tools, all)
		case chat.Result:
			if text := r.resultWords(p); text != "" {
				m.Given = append(m.Given, text)
			}
		}
	}
	m.Text = strings.Join(said, "\n")
	if m.Text == "" && len(m.Given) > 0 && m.Role == string(chat.User) {
		m.Role = string(chat.Tool) // nothing of it is the user's
	}
	return m
}

// mainArguments are the names of the arguments that describe a call best.
var mainArguments = []string{"file_path", "path", "notebook_path", "command", "pattern", "query", "url", "file", "cmd",
	"description", "prompt"}

// callWords describes a call: briefly, and with all its arguments.
func callWords(p *chat.Part) (what, all string) {
	var args map[string]any
	if err := json.Unmarshal([]byte(p.Arguments()), &args); err != nil {
		args = map[string]any{"": p.Arguments()}
	}
	main := ""
	for _, key := range mainArguments {
		if v, ok := args[key].(string); ok && v != "" {
			main = v
			delete(args, key)
			break
		}
	}
	what = strings.TrimSpace(p.Name + " " + firstLine(main, 200))
	var b strings.Builder
	b.WriteString(p.Name + " " + excerpt(main))
	for _, key := range slices.Sorted(maps.Keys(args)) {
		text, ok := args[key].(string)
		if !ok {
			raw, _ := json.Marshal(args[key])
			text = string(raw)
		}
		if text = excerpt(text); text != "" {
			b.WriteString("\n" + text)
		}
	}
	return what, b.String()
}

// ownCall stands for a call of Oriel's own tools. It and its result repeat what was said
// elsewhere, or ask for it.
const ownCall = "\x00"

func (r *Reader) resultWords(p *chat.Part) string {
	if r.calls[p.ID] == ownCall || prompt.OwnTool(p.Name) != "" {
		delete(r.calls, p.ID)
		return ""
	}
	text := p.Text.String()
	for i := range p.Parts {
		if q := &p.Parts[i]; q.Kind == chat.Text {
			text += "\n" + q.Text.String()
		}
	}
	text = excerpt(text)
	if text == "" {
		return ""
	}
	what := r.calls[p.ID]
	delete(r.calls, p.ID) // it is answered, and ids may be reused
	if what == "" {
		what = p.Name
	}
	if p.IsError {
		what += " (error)"
	}
	if what = strings.TrimSpace(what); what != "" {
		return what + "\n" + text
	}
	return text
}

// Limits on what is kept of a result.
const (
	wholeResult = 1500 // in bytes; shorter results are kept whole
	firstLines  = 12
	lastLines   = 6
	errorLines  = 8
	titleLines  = 30
	longLine    = 240 // bytes kept of a line
)

// excerpt keeps the first and last lines of a text, and lines between them
// that report errors or name what follows. It leaves out encoded data.
func excerpt(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); !encoded(line) {
			lines = append(lines, line)
		}
	}
	kept := lines
	if len(text) > wholeResult && len(lines) > firstLines+lastLines {
		kept = slices.Clone(lines[:firstLines])
		errors, titles := 0, 0
		for _, line := range lines[firstLines : len(lines)-lastLines] {
			switch {
			case errors < errorLines && tellsError(line):
				kept = append(kept, line)
				errors++
			case titles < titleLines && isTitle(line):
				kept = append(kept, line)
				titles++
			}
		}
		kept = append(kept, lines[len(lines)-lastLines:]...)
	}
	var b strings.Builder
	for _, line := range kept {
		if len(text) > wholeResult {
			line = firstLine(line, longLine)
		}
		if strings.TrimSpace(line) != "" {
			b.WriteString(line + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// titleWords begin a line that names a part of a file.
var titleWords = map[string]bool{
	"func": true, "type": true, "class": true, "def": true, "fn": true, "pub": true, "impl": true, "interface": true,
	"struct": true, "enum": true, "export": true,
	"const": true, "var": true, "let": true, "function": true, "async": true, "public": true, "private": true,
	"protected": true, "static": true, "module": true,
	"package": true, "trait": true,
}

// isTitle reports whether an unindented line names a part of a file, such as a
// function, because queries use these names. Agents show files with numbered
// lines. Every line of a long result is tested, so there is no regular
// expression.
func isTitle(line string) bool {
	number := strings.TrimLeft(line, "\t\f\r ")
	if code := strings.TrimLeft(number, "0123456789"); len(code) < len(number) {
		if rest, ok := strings.CutPrefix(code, "→"); ok {
			line = rest
		} else if rest, ok := strings.CutPrefix(code, "\t"); ok {
			line = rest
		}
	}
	word, name, _ := strings.Cut(line, " ")
	if name == "" || strings.IndexByte("\t\n\f\r ", name[0]) >= 0 {
		return false
	}
	return titleWords[word] || word != "" && strings.Trim(word, "#") == ""
}

// errorWords are the words of lines that report errors, by their first letter.
var errorWords = [26][]string{
	'd' - 'a': {"denied"}, 'e' - 'a': {"error", "exception"}, 'f' - 'a': {"fail", "fatal"}, 'n' - 'a': {"not found"},
	'p' - 'a': {"panic"}, 't' - 'a': {"traceback"},
	'u' - 'a': {"undefined"},
}

// tellsError reports whether a line contains one of errorWords, in any case.
func tellsError(line string) bool {
	for i := range len(line) {
		letter := line[i] | 0x20
		if letter < 'a' || letter > 'z' {
			continue
		}
		for _, word := range errorWords[letter-'a'] {
			if len(line)-i >= len(word) && strings.EqualFold(line[i:i+len(word)], word) {
				return true
			}
		}
	}
	return false
}

// encoded reports whether a line is data rather than words: long, without
// spaces and in the alphabet of base64 or hex, or not text at all.
func encoded(line string) bool {
	if strings.ContainsRune(line, 0) || !utf8.ValidString(line) {
		return true
	}
	if len(line) < 120 {
		return false
	}
	spaces, letters := 0, 0
	for i := range len(line) {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			spaces++
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', c == '+', c == '/', c == '=', c == '-', c == '_':
			letters++
		}
	}
	return spaces*100 < len(line) && letters*100 > len(line)*95
}

// firstLine returns at most n bytes of the first line of a text.
func firstLine(text string, n int) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
