package view

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire"
)

// needs counts what an agent needs again, and whether its view contained it.
type needs struct {
	// needed counts edits of files that were read before, and reads of files
	// that were read before and not changed since. missing counts those whose
	// newest read was not in view, and back those of the missing ones for
	// which another text in the view has what was needed.
	needed, missing, back int
	// again counts reads of files that were read before and runs of commands
	// that were run before, after a cut. held counts those whose newest result
	// was in view unchanged or in another form.
	again, held int
}

func (n *needs) add(o needs) {
	n.needed, n.missing, n.back = n.needed+o.needed, n.missing+o.missing, n.back+o.back
	n.again, n.held = n.again+o.again, n.held+o.held
}

// touch is a tool call with its result.
type touch struct {
	does   string // "read", "change", "run"
	about  string // file or command
	result *chat.Part
	failed bool
	args   string
}

func touchOf(p *chat.Part) (touch, bool) {
	var a struct {
		Path     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Command  string `json:"command"`
	}
	args := p.Arguments()
	if json.Unmarshal([]byte(args), &a) != nil {
		return touch{}, false
	}
	t := touch{about: a.Path + a.Notebook, args: args}
	switch p.Name {
	case "Read":
		t.does = "read"
	case "Edit", "MultiEdit", "NotebookEdit", "Write":
		t.does = "change"
	case "Bash":
		t.does, t.about = "run", a.Command
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

// look judges the reply to a call: what it needs of the history, and whether
// the view contained it.
func look(body *wire.Body, view []byte, reply chat.Message, cut bool) (n needs, err error) {
	var before []touch
	var v *sight
	for j := range reply.Parts {
		p := &reply.Parts[j]
		if p.Kind != chat.Call {
			continue
		}
		t, ok := touchOf(p)
		if !ok {
			continue
		}
		if before == nil {
			before = touches(body.Messages)
			if v, err = newSight(view, body.Format); err != nil {
				return n, err
			}
		}
		last, changed := newest(before, t)
		if last == nil {
			continue
		}
		shown := v.shows(last)
		back := !shown && v.says(t, last)
		if t.does == "change" && p.Name != "Write" || t.does == "read" && !changed {
			n.needed++
			if !shown {
				n.missing++
			}
			if back {
				n.back++
			}
		}
		if cut && t.does != "change" {
			n.again++
			if shown || back {
				n.held++
			}
		}
	}
	return n, nil
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

// sight is what a view shows.
type sight struct {
	results map[string]string // by id
	lines   map[string]bool
	body    *wire.Body
}

func newSight(view []byte, f wire.Format) (*sight, error) {
	b, err := wire.Read(view, f, wire.Limits{})
	if err != nil {
		return nil, err
	}
	s := &sight{results: map[string]string{}, body: b}
	for i := range b.Messages {
		for j := range b.Messages[i].Parts {
			if p := &b.Messages[i].Parts[j]; p.Kind == chat.Result {
				s.results[p.ID] = text(p)
			}
		}
	}
	return s, nil
}

// shows reports whether a result is in view unchanged.
func (s *sight) shows(t *touch) bool {
	got, ok := s.results[t.result.ID]
	return ok && got == text(t.result)
}

// says reports whether the view has elsewhere what a call needs: for an edit
// the lines that it replaces, otherwise nine in ten lines of the result.
func (s *sight) says(t touch, last *touch) bool {
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
