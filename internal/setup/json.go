package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// jsonDocument is JSON with comments and trailing commas.
type jsonDocument struct {
	text string
	root *jsonValue
}

// jsonValue is a value with where it stands.
type jsonValue struct {
	begin, end int
	object     bool
	members    []jsonMember
}

type jsonMember struct {
	name       string
	begin, end int // from its name to the end of its value
	value      *jsonValue
}

func (v *jsonValue) member(name string) *jsonMember {
	for i := range v.members {
		if v.members[i].name == name {
			return &v.members[i]
		}
	}
	return nil
}

func parseJSON(text string) (Document, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	p := &jsonParser{text: text}
	if strings.HasPrefix(text, "\ufeff") {
		p.at = len("\ufeff")
	}
	root, err := p.value(0)
	if err == nil {
		err = p.space()
	}
	if err == nil && p.at < len(text) {
		err = p.wrong("something after the end")
	}
	if err != nil {
		return nil, err
	}
	if !root.object {
		return nil, errors.New("it is not a JSON object")
	}
	return &jsonDocument{text, root}, nil
}

type jsonParser struct {
	text string
	at   int
}

func (p *jsonParser) wrong(what string) error {
	return fmt.Errorf("line %d: %s", strings.Count(p.text[:min(p.at, len(p.text))], "\n")+1, what)
}

// space skips white space and comments.
func (p *jsonParser) space() error {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			p.at++
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			p.at += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest, "*/")
			if n < 0 {
				return p.wrong("a comment does not end")
			}
			p.at += n + 2
		default:
			return nil
		}
	}
	return nil
}

const maxDepth = 200

func (p *jsonParser) value(depth int) (*jsonValue, error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at >= len(p.text) {
		return nil, p.wrong("a value is missing")
	}
	v := &jsonValue{begin: p.at}
	var err error
	switch c := p.text[p.at]; {
	case depth > maxDepth:
		return nil, p.wrong("too deeply nested")
	case c == '{':
		v.object = true
		err = p.list(v, '}', depth)
	case c == '[':
		err = p.list(v, ']', depth)
	case c == '"':
		_, err = p.str()
	default:
		n := strings.IndexAny(p.text[p.at:], " \t\r\n,]}/")
		if n < 0 {
			n = len(p.text) - p.at
		}
		if !json.Valid([]byte(p.text[p.at : p.at+n])) {
			return nil, p.wrong("this is not JSON")
		}
		p.at += n
	}
	v.end = p.at
	return v, err
}

func (p *jsonParser) str() (string, error) {
	for i := p.at + 1; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			var s string
			if err := json.Unmarshal([]byte(p.text[p.at:i+1]), &s); err != nil {
				return "", p.wrong("a string that cannot be read")
			}
			p.at = i + 1
			return s, nil
		}
	}
	return "", p.wrong("a string does not end")
}

// list reads the members of an object or the elements of a list.
func (p *jsonParser) list(v *jsonValue, end byte, depth int) error {
	for p.at++; ; {
		if err := p.space(); err != nil {
			return err
		}
		if p.at < len(p.text) && p.text[p.at] == end {
			p.at++
			return nil
		}
		m := jsonMember{begin: p.at}
		if v.object {
			if p.at >= len(p.text) || p.text[p.at] != '"' {
				return p.wrong("the name of a member is missing")
			}
			var err error
			if m.name, err = p.str(); err != nil {
				return err
			}
			if err := p.space(); err != nil {
				return err
			}
			if p.at >= len(p.text) || p.text[p.at] != ':' {
				return p.wrong("a colon is missing")
			}
			p.at++
		}
		var err error
		if m.value, err = p.value(depth + 1); err != nil {
			return err
		}
		m.end = p.at
		v.members = append(v.members, m)
		if err := p.space(); err != nil {
			return err
		}
		switch {
		case p.at < len(p.text) && p.text[p.at] == ',':
			p.at++
		case p.at < len(p.text) && p.text[p.at] == end:
		default:
			return p.wrong("a comma or an end is missing")
		}
	}
}

// find returns the value at a path, or the deepest one on the way and what is missing.
func (d *jsonDocument) find(path []string) (v *jsonValue, rest []string) {
	v = d.root
	for i, name := range path {
		m := v.member(name)
		if !v.object || m == nil {
			return v, path[i:]
		}
		v = m.value
	}
	return v, nil
}

// twice returns the first name on a path that its object has more than once. Which of them
// counts depends on the program that reads the file.
func (d *jsonDocument) twice(path []string) (name []string, ok bool) {
	v := d.root
	for i, name := range path {
		m := v.member(name)
		if !v.object || m == nil {
			return nil, false
		}
		if slices.ContainsFunc(v.members, func(n jsonMember) bool { return n.name == name && n.begin != m.begin }) {
			return path[:i+1], true
		}
		v = m.value
	}
	return nil, false
}

func (d *jsonDocument) Get(path []string) (string, bool, error) {
	if name, ok := d.twice(path); ok {
		return "", false, fmt.Errorf("%s occurs twice: keep one of them", strings.Join(name, "."))
	}
	v, rest := d.find(path)
	switch {
	case len(rest) == 0:
		return d.text[v.begin:v.end], true, nil
	case !v.object:
		return "", false, fmt.Errorf("%s is not an object", strings.Join(path[:len(path)-len(rest)], "."))
	}
	return "", false, nil
}

func (d *jsonDocument) Empty(path []string) bool {
	v, rest := d.find(path)
	return len(rest) == 0 && v.object && len(v.members) == 0
}

func (d *jsonDocument) Set(path []string, value string) (string, error) {
	if _, _, err := d.Get(path); err != nil {
		return "", err
	}
	v, rest := d.find(path)
	if len(rest) == 0 {
		return d.text[:v.begin] + value + d.text[v.end:], nil
	}
	end, unit := lineEnd(d.text), d.unit()
	indent := d.indent(v.begin)
	inner := indent + unit
	if len(v.members) > 0 {
		if line := d.lineOf(v.members[0].begin); line != "" || d.startsLine(v.members[0].begin) {
			inner = line
		}
	}
	text := member(rest, value, inner, unit, end)
	if len(v.members) == 0 {
		return d.text[:v.begin] + "{" + d.comments(v) + end + inner + text + end + indent + d.text[v.end-1:], nil
	}
	last := v.members[len(v.members)-1].end
	if !d.startsLine(v.members[0].begin) { // all on one line
		return d.text[:last] + ", " + member(rest, value, "", "", " ") + d.text[last:], nil
	}
	comma, at := ",", d.afterComma(last)
	if at > last {
		comma = ""
	}
	if line := lineRest.FindString(d.text[at:]); strings.ContainsAny(line, "/") {
		at += len(line) // a comment about the member before
	}
	return d.text[:last] + comma + d.text[last:at] + end + inner + text + d.text[at:], nil
}

// lineRest matches the rest of a line that has nothing but a comment.
var lineRest = regexp.MustCompile(`^[ \t]*(?://[^\r\n]*|/\*[^\r\n]*\*/[ \t]*)?`)

// comments returns what is in an object without members.
func (d *jsonDocument) comments(v *jsonValue) string {
	inside := strings.TrimRight(d.text[v.begin+1:v.end-1], " \t\r\n")
	return inside
}

// member writes a member and the objects around its value.
func member(path []string, value, indent, unit, end string) string {
	name, _ := json.Marshal(path[0])
	if len(path) == 1 {
		return string(name) + ": " + value
	}
	inner := indent + unit
	return string(name) + ": {" + end + inner + member(path[1:], value, inner, unit, end) + end + indent + "}"
}

// startsLine reports whether only white space stands before a place in its line.
func (d *jsonDocument) startsLine(at int) bool {
	begin := strings.LastIndexByte(d.text[:at], '\n') + 1
	return begin > 0 && strings.TrimLeft(d.text[begin:at], " \t") == ""
}

// lineOf returns the white space at the beginning of the line of a place, if nothing else
// stands before the place.
func (d *jsonDocument) lineOf(at int) string {
	if !d.startsLine(at) {
		return ""
	}
	return d.text[strings.LastIndexByte(d.text[:at], '\n')+1 : at]
}

// indent returns the white space at the beginning of the line of a place.
func (d *jsonDocument) indent(at int) string {
	begin := strings.LastIndexByte(d.text[:at], '\n') + 1
	line := d.text[begin:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// unit returns by how much members are indented.
func (d *jsonDocument) unit() string {
	if len(d.root.members) > 0 && d.startsLine(d.root.members[0].begin) {
		if own := strings.TrimPrefix(d.lineOf(d.root.members[0].begin), d.indent(d.root.begin)); own != "" {
			return own
		}
	}
	return "  "
}

func (d *jsonDocument) Remove(path []string) (string, error) {
	parent, rest := d.find(path[:len(path)-1])
	if len(rest) > 0 {
		return "", errNoMember
	}
	name := path[len(path)-1]
	for i := range parent.members {
		m := &parent.members[i]
		if m.name != name {
			continue
		}
		switch {
		case len(parent.members) == 1:
			after := d.afterComma(m.end)
			return d.text[:parent.begin+1] + strings.TrimRight(d.text[parent.begin+1:m.begin],
				" \t\r\n") + strings.TrimLeft(d.text[after:parent.end-1], " \t\r\n") + d.text[parent.end-1:], nil
		case i == len(parent.members)-1:
			before := parent.members[i-1].end
			between := d.text[before:m.begin]
			if comma := d.afterComma(before); comma > before {
				between = d.text[before:comma-1] + d.text[comma:m.begin]
			}
			return d.text[:before] + strings.TrimRight(between, " \t\r\n") + d.text[m.end:], nil
		}
		return d.text[:m.begin] + d.text[parent.members[i+1].begin:], nil
	}
	return "", errNoMember
}

// afterComma returns the place after a comma that follows a place.
func (d *jsonDocument) afterComma(at int) int {
	p := &jsonParser{text: d.text, at: at}
	if p.space() == nil && p.at < len(d.text) && d.text[p.at] == ',' {
		return p.at + 1
	}
	return at
}
