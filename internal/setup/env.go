package setup

import (
	"errors"
	"strings"
)

// envDocument is a file of variables, a NAME=VALUE on a line.
type envDocument struct{ lines []string } // with their ends

func parseEnv(text string) Document { return &envDocument{strings.SplitAfter(text, "\n")} }

// line returns the last line that sets a variable, which is the one that counts.
func (d *envDocument) line(path []string) (at int, value string, found bool) {
	for i, line := range d.lines {
		name, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok && strings.TrimSpace(name) == path[0] {
			at, value, found = i, strings.TrimSpace(rest), true
		}
	}
	return at, value, found
}

func (d *envDocument) Get(path []string) (string, bool, error) {
	_, value, ok := d.line(path)
	if quote := value; ok && len(quote) > 0 && strings.Count(quote, quote[:1])%2 == 1 &&
		strings.ContainsAny(quote[:1], "\"'`") {
		return "", false, errors.New(path[0] + " is written in a form that is not changed here")
	}
	return value, ok, nil
}

func (d *envDocument) Set(path []string, value string) (string, error) {
	if _, _, err := d.Get(path); err != nil {
		return "", err
	}
	text := strings.Join(d.lines, "")
	line := path[0] + "=" + value + lineEnd(text)
	if i, _, ok := d.line(path); ok {
		return strings.Join(d.lines[:i], "") + line + strings.Join(d.lines[i+1:], ""), nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += lineEnd(text)
	}
	return text + line, nil
}

func (d *envDocument) Remove(path []string) (string, error) {
	i, _, ok := d.line(path)
	if !ok {
		return "", errNoMember
	}
	return strings.Join(d.lines[:i], "") + strings.Join(d.lines[i+1:], ""), nil
}

func (d *envDocument) Empty([]string) bool { return false }
