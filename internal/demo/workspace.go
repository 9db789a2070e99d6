package demo

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

//go:embed harbor.txt
var harbor string

// workspace is the agent's folder of files, with the outputs of commands.
type workspace struct {
	paths []string // in the order of the listing
	files map[string]string
	// prints are the outputs of a command, run after run; the last one repeats.
	prints map[string][]string
}

func newWorkspace() (*workspace, error) {
	w := &workspace{files: map[string]string{}, prints: map[string][]string{}}
	for name, text := range sections(harbor) {
		command, ok := strings.CutPrefix(name, "$ ")
		if !ok {
			w.paths = append(w.paths, name)
			w.files[name] = text
			continue
		}
		t, err := template.New(name).Funcs(outputs).Parse(text)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		if err := t.Execute(&b, nil); err != nil {
			return nil, err
		}
		w.prints[command] = append(w.prints[command], b.String())
	}
	return w, nil
}

// sections iterates over the parts of a text that begin with a line "-- name --".
func sections(text string) func(func(name, text string) bool) {
	return func(yield func(string, string) bool) {
		name, begin, at := "", 0, 0
		for line := range strings.Lines(text) {
			if next, ok := strings.CutPrefix(strings.TrimSuffix(line, " --\n"), "-- "); ok &&
				strings.HasSuffix(line, " --\n") {
				if name != "" && !yield(name, text[begin:at]) {
					return
				}
				name, begin = next, at+len(line)
			}
			at += len(line)
		}
		if name != "" {
			yield(name, text[begin:])
		}
	}
}

// arguments are the arguments of all tools.
type arguments struct {
	Path    string `json:"path,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	Old     string `json:"old_string,omitempty"`
	New     string `json:"new_string,omitempty"`
	Command string `json:"command,omitempty"`
}

// label returns a call in readable form.
func (a *arguments) label(tool string) string {
	switch tool {
	case "read_file":
		return "read " + a.Path
	case "edit_file":
		return "edit " + a.Path
	case "search":
		return "search " + a.Pattern
	}
	return a.Command
}

// do runs a tool.
func (w *workspace) do(tool, args string) (string, error) {
	var a arguments
	if err := json.Unmarshal([]byte(args), &a); err != nil {
		return "", err
	}
	switch tool {
	case "read_file":
		return w.read(a.Path)
	case "search":
		return w.search(a.Pattern, a.Path)
	case "edit_file":
		return w.edit(a.Path, a.Old, a.New)
	case "run":
		return w.run(a.Command)
	}
	return "", fmt.Errorf("unknown tool %q", tool)
}

func (w *workspace) read(path string) (string, error) {
	text, ok := w.files[path]
	if !ok {
		return "", fmt.Errorf("%s: no such file", path)
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		fmt.Fprintf(&b, "%5d\t%s", n, line)
	}
	return b.String(), nil
}

func (w *workspace) search(pattern, under string) (string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		re = regexp.MustCompile(regexp.QuoteMeta(pattern))
	}
	var b strings.Builder
	for _, path := range w.paths {
		if under != "." && !strings.HasPrefix(path, under+"/") {
			continue
		}
		n := 0
		for line := range strings.Lines(w.files[path]) {
			if n++; re.MatchString(line) {
				fmt.Fprintf(&b, "%s:%d: %s\n", path, n, strings.TrimSpace(line))
			}
		}
	}
	if b.Len() == 0 {
		return "nothing found", nil
	}
	return b.String(), nil
}

func (w *workspace) edit(path, before, after string) (string, error) {
	text, ok := w.files[path]
	if !ok || strings.Count(text, before) != 1 {
		return "", fmt.Errorf("%s does not have this text once", path)
	}
	at := 1 + strings.Count(text[:strings.Index(text, before)], "\n")
	w.files[path] = strings.Replace(text, before, after, 1)
	return fmt.Sprintf("%s changed at line %d", path, at), nil
}

func (w *workspace) run(command string) (string, error) {
	runs := w.prints[command]
	if len(runs) == 0 {
		return "", errors.New("sh: this machine does not have that")
	}
	if len(runs) > 1 {
		w.prints[command] = runs[1:]
	}
	if strings.TrimSpace(runs[0]) == "" {
		return "(no output)", nil
	}
	return runs[0], nil
}
