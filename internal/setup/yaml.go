package setup

import (
	"errors"
	"regexp"
	"strings"
)

// yamlDocument is YAML of which only plain keys at the top are changed.
type yamlDocument struct {
	text  string
	lines []string // with their ends
}

func parseYAML(text string) (Document, error) {
	if strings.Contains(text, "\n---") || strings.HasPrefix(text, "---") && strings.Contains(text[3:], "\n...") {
		return nil, errors.New("it has several documents")
	}
	return &yamlDocument{text, strings.SplitAfter(text, "\n")}, nil
}

// key finds the line of a key; value is what stands behind the colon.
func (d *yamlDocument) key(path []string) (line int, value string, found bool) {
	want := regexp.MustCompile(`^["']?` + regexp.QuoteMeta(path[0]) + `["']?\s*:[ \t]*(.*?)\s*$`)
	for i, line := range d.lines {
		if m := want.FindStringSubmatch(line); m != nil {
			return i, m[1], true
		}
	}
	return 0, "", false
}

func (d *yamlDocument) Get(path []string) (string, bool, error) {
	i, value, ok := d.key(path)
	if ok && (value == "" || strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") ||
		strings.Contains(value, " #")) {
		return "", false, errors.New(path[0] + " is written in a form that is not changed here")
	}
	if ok && i+1 < len(d.lines) && strings.HasPrefix(d.lines[i+1], " ") && strings.TrimSpace(d.lines[i+1]) != "" {
		return "", false, errors.New(path[0] + " is written in a form that is not changed here")
	}
	return value, ok, nil
}

func (d *yamlDocument) Set(path []string, value string) (string, error) {
	if _, _, err := d.Get(path); err != nil {
		return "", err
	}
	eol := lineEnd(d.text)
	line := path[0] + ": " + value + eol
	if i, _, ok := d.key(path); ok {
		return strings.Join(d.lines[:i], "") + line + strings.Join(d.lines[i+1:], ""), nil
	}
	before := d.text
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += eol
	}
	return before + line, nil
}

func (d *yamlDocument) Empty([]string) bool { return false }

func (d *yamlDocument) Remove(path []string) (string, error) {
	i, _, ok := d.key(path)
	if !ok {
		return "", errNoMember
	}
	return strings.Join(d.lines[:i], "") + strings.Join(d.lines[i+1:], ""), nil
}
