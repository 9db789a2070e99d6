package quality

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// touch is a tool call with its result.
type touch struct {
	does   string // "read", "change", "run"
	about  string // file or command
	result *chat.Part
	failed bool
	whole  bool // a change that replaces the file and needs nothing of it
	args   string
}

// verbs are what tools of common agents do, by their names in lower case.
var verbs = map[string]string{
	"read": "read", "read_file": "read", "view": "read", "open_file": "read",
	"edit": "change", "multiedit": "change", "notebookedit": "change", "write": "change", "write_file": "change",
	"edit_file": "change", "str_replace": "change", "replace_in_file": "change",
	"bash": "run", "shell": "run", "exec_command": "run", "run_command": "run", "execute_command": "run",
	"run_shell_command": "run",
}

// touchOf reads a call of a tool; ok is false for tools that neither read, change nor run
// something that can be named.
func touchOf(p *chat.Part) (t touch, ok bool) {
	var a struct {
		Path     string          `json:"file_path"`
		Short    string          `json:"path"`
		Camel    string          `json:"filePath"`
		Notebook string          `json:"notebook_path"`
		Command  json.RawMessage `json:"command"`
		Cmd      json.RawMessage `json:"cmd"`
	}
	args := p.Arguments()
	if json.Unmarshal([]byte(args), &a) != nil {
		return touch{}, false
	}
	name := strings.ToLower(p.Name)
	t = touch{does: verbs[name], about: cmp.Or(a.Path, a.Short, a.Camel, a.Notebook), args: args,
		whole: strings.HasPrefix(name, "write")}
	if t.does == "run" {
		t.about = string(a.Command) + string(a.Cmd)
	}
	return t, t.does != "" && t.about != ""
}

// touches lists the calls of a history that have a result.
func touches(messages []chat.Message) []touch {
	results := map[string]*chat.Part{}
	for i := range messages {
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.Kind == chat.Result {
				results[p.ID] = p
			}
		}
	}
	var all []touch
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Kind != chat.Call || results[p.ID] == nil {
				continue
			}
			if t, ok := touchOf(p); ok {
				t.result = results[p.ID]
				t.failed = t.result.IsError
				all = append(all, t)
			}
		}
	}
	return all
}

// needed adds what a reply needs of the history, and whether the window contained it.
func (m *Measures) needed(came, sent *wire.Body, reply []chat.Message, cut bool) {
	var before []touch
	var v *shownTexts
	for i := range reply {
		for j := range reply[i].Parts {
			p := &reply[i].Parts[j]
			if p.Kind != chat.Call {
				continue
			}
			t, ok := touchOf(p)
			if !ok {
				continue
			}
			if v == nil {
				before, v = touches(came.Messages), newShownTexts(sent)
			}
			last, changed := newest(before, t)
			if last == nil {
				continue
			}
			shown := v.shows(last)
			back := !shown && v.covers(t, last)
			if t.does == "change" && !t.whole || t.does == "read" && !changed {
				m.Needed++
				if !shown {
					m.Missing++
				}
				if back {
					m.Back++
				}
			}
			if cut && t.does != "change" {
				m.Again++
				if shown || back {
					m.Held++
				}
			}
		}
	}
}

// newest returns the last result that a call refers to: the last read of a
// file, or the last run of a command. changed reports that the file was
// changed since.
func newest(before []touch, t touch) (last *touch, changed bool) {
	for i := range before {
		b := &before[i]
		switch {
		case b.failed || b.about != t.about:
		case b.does == "change":
			changed = true
		case b.does == t.does || b.does == "read" && t.does == "change":
			last, changed = b, false
		}
	}
	return last, changed
}

// shownTexts is what a view shows.
type shownTexts struct {
	results map[string]string // by id
	lines   map[string]bool
	body    *wire.Body
}

func newShownTexts(b *wire.Body) *shownTexts {
	s := &shownTexts{results: map[string]string{}, body: b}
	for i := range b.Messages {
		for j := range b.Messages[i].Parts {
			if p := &b.Messages[i].Parts[j]; p.Kind == chat.Result {
				s.results[p.ID] = text(p)
			}
		}
	}
	return s
}

// shows reports whether a result is in view unchanged.
func (s *shownTexts) shows(t *touch) bool {
	got, ok := s.results[t.result.ID]
	return ok && got == text(t.result)
}

// covers reports whether the view has elsewhere what a call needs: for an edit
// the lines that it replaces, otherwise nine in ten lines of the result.
func (s *shownTexts) covers(t touch, last *touch) bool {
	if s.lines == nil {
		s.lines = map[string]bool{}
		for i := range s.body.Messages {
			for j := range s.body.Messages[i].Parts {
				p := &s.body.Messages[i].Parts[j]
				if p.Kind == chat.Text || p.Kind == chat.Result {
					for _, l := range lines(text(p)) {
						s.lines[l] = true
					}
				}
			}
		}
	}
	want, share := lines(text(last.result)), .9
	if t.does == "change" {
		var a struct {
			Old   string `json:"old_string"`
			Edits []struct {
				Old string `json:"old_string"`
			} `json:"edits"`
		}
		if json.Unmarshal([]byte(t.args), &a) != nil {
			return false
		}
		for _, e := range a.Edits {
			a.Old += "\n" + e.Old
		}
		want, share = lines(a.Old), 1
	}
	has := 0
	for _, l := range want {
		if s.lines[l] {
			has++
		}
	}
	return len(want) > 0 && float64(has) >= share*float64(len(want))
}

// numbered matches the line number that Claude Code puts before each line of a
// file.
var numbered = regexp.MustCompile(`^\s*\d+(→|\t)`)

// lines returns the meaningful lines of a text, without numbers and
// indentation.
func lines(text string) []string {
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		if l = strings.TrimSpace(numbered.ReplaceAllString(l, "")); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func text(p *chat.Part) string {
	if p.Parts == nil {
		return p.Text.String()
	}
	var b strings.Builder
	for i := range p.Parts {
		b.WriteString(p.Parts[i].Text.String())
	}
	return b.String()
}

// Needs measures what the reply of one call needs of the history, and nothing else: the fields
// Needed, Missing, Back, Again and Held. cut reports that something was left out.
func Needs(came, sent *wire.Body, reply []chat.Message, cut bool) (m Measures) {
	m.needed(came, sent, reply, cut)
	return m
}
