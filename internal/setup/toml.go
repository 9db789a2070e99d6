package setup

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// tomlDocument is TOML. A path is the name of a table, or nothing for the top, and a key of
// it; keys of settings are plain words.
type tomlDocument struct {
	text  string
	lines []string // with their ends
	// inside marks lines that a string of several lines covers, from its second line on.
	inside []bool
}

func parseTOML(text string) (Document, error) {
	var all map[string]any
	if _, err := toml.Decode(text, &all); err != nil {
		return nil, err
	}
	d := &tomlDocument{text: text, lines: strings.SplitAfter(text, "\n")}
	if last := len(d.lines) - 1; d.lines[last] == "" {
		d.lines = d.lines[:last]
	}
	quote := ""
	for _, line := range d.lines {
		d.inside = append(d.inside, quote != "")
		for _, q := range []string{`"""`, "'''"} {
			if (quote == "" || quote == q) && strings.Count(line, q)%2 == 1 {
				if quote == "" {
					quote = q
				} else {
					quote = ""
				}
			}
		}
	}
	return d, nil
}

var tomlHeader = regexp.MustCompile(`^\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$`)

// region returns the lines of a table: the first after its header, and the one after its last.
// found is false if there is no such table; the top is always there.
func (d *tomlDocument) region(table []string) (first, end int, found bool) {
	want := strings.Join(table, ".")
	open := want == ""
	for i, line := range d.lines {
		if d.inside[i] {
			continue
		}
		m := tomlHeader.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		if open {
			return first, i, true
		}
		if strings.ReplaceAll(strings.ReplaceAll(m[1], `"`, ""), " ", "") == want &&
			!strings.HasPrefix(strings.TrimSpace(line), "[[") {
			open, first = true, i+1
		}
	}
	return first, len(d.lines), open
}

// key finds the line of a key, and where its value begins and ends in it.
func (d *tomlDocument) key(path []string) (line, begin, end int, found bool) {
	first, last, ok := d.region(path[:len(path)-1])
	if !ok {
		return 0, 0, 0, false
	}
	want := regexp.MustCompile(`^\s*"?` + regexp.QuoteMeta(path[len(path)-1]) +
		`"?\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#]+)`)
	for i := first; i < last; i++ {
		if m := want.FindStringSubmatchIndex(d.lines[i]); m != nil && !d.inside[i] {
			return i, m[2], m[3], true
		}
	}
	return 0, 0, 0, false
}

func (d *tomlDocument) Get(path []string) (string, bool, error) {
	if i, begin, end, ok := d.key(path); ok {
		return d.lines[i][begin:end], true, nil
	}
	// It may be there in another form.
	var all map[string]any
	if _, err := toml.Decode(d.text, &all); err != nil {
		return "", false, err
	}
	for k, name := range path {
		v, ok := all[name]
		if !ok {
			return "", false, nil
		}
		if k == len(path)-1 {
			return "", false, fmt.Errorf("%s is written in a form that is not changed here", strings.Join(path, "."))
		}
		if all, ok = v.(map[string]any); !ok {
			return "", false, fmt.Errorf("%s is not a table", strings.Join(path[:k+1], "."))
		}
		if _, _, header := d.region(path[:k+1]); k == len(path)-2 && !header {
			return "", false, fmt.Errorf("%s is written in a form that is not changed here",
				strings.Join(path[:k+1], "."))
		}
	}
	return "", false, nil
}

func (d *tomlDocument) Set(path []string, value string) (string, error) {
	if _, _, err := d.Get(path); err != nil {
		return "", err
	}
	eol := lineEnd(d.text)
	if i, begin, end, ok := d.key(path); ok {
		return strings.Join(d.lines[:i],
			"") + d.lines[i][:begin] + value + d.lines[i][end:] + strings.Join(d.lines[i+1:], ""), nil
	}
	table, line := path[:len(path)-1], path[len(path)-1]+" = "+value+eol
	first, end, ok := d.region(table)
	if !ok {
		before := d.text
		if before != "" {
			before = strings.TrimRight(before, "\r\n") + eol + eol
		}
		return before + "[" + strings.Join(table, ".") + "]" + eol + line, nil
	}
	// Behind the last line of the table that says anything.
	at := end
	for at > first && strings.TrimSpace(d.lines[at-1]) == "" {
		at--
	}
	if len(table) == 0 { // comments before the first table are about that table
		for at = end; at > first && (strings.TrimSpace(d.lines[at-1]) == "" ||
			strings.HasPrefix(strings.TrimSpace(d.lines[at-1]), "#")); at-- {
		}
	}
	before := strings.Join(d.lines[:at], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += eol
	}
	if rest := strings.Join(d.lines[at:], ""); len(table) == 0 && at == first && rest != "" &&
		strings.TrimSpace(d.lines[at]) != "" {
		return before + line + eol + rest, nil
	}
	return before + line + strings.Join(d.lines[at:], ""), nil
}

func (d *tomlDocument) Empty(path []string) bool {
	first, end, ok := d.region(path)
	return ok && len(path) > 0 && strings.TrimSpace(strings.Join(d.lines[first:end], "")) == ""
}

// Remove removes a key, or a table without keys.
func (d *tomlDocument) Remove(path []string) (string, error) {
	if i, _, _, ok := d.key(path); ok {
		return strings.Join(d.lines[:i], "") + strings.Join(d.lines[i+1:], ""), nil
	}
	if !d.Empty(path) {
		return "", errNoMember
	}
	first, end, _ := d.region(path)
	before := strings.Join(d.lines[:first-1], "")
	if end == len(d.lines) && strings.HasSuffix(before, "\n\n") {
		before = strings.TrimSuffix(before, "\n")
	}
	return before + strings.Join(d.lines[end:], ""), nil
}
