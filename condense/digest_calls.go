package condense

import (
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/quote"
)

// call collects a tool call and its outcome.
func (c *collector) call(e *event) {
	p := e.call.part
	a := readArguments(p.Name, p.Arguments())
	if a.hasTodo {
		c.todo, c.todoAt = a.todo, e.msg
		c.stillOpen = nil
		return
	}
	cmd := ""
	show, test := a.kind != "", false
	if a.kind == ArgCommand {
		cmd = quote.Disarm(tidy(a.value))
		show, test = kindOfCommand(cmd)
	} else if a.kind == ArgPath && a.changes {
		show = false
	}
	o := outcome{state: "no result"}
	switch r := e.call.result; {
	case r != nil:
		text := resultText(r)
		if a.kind != ArgCommand && !r.IsError && !startsAsError(text) {
			break // content, not a report
		}
		o = judge(text, r.IsError, show, test)
	case p.Hosted:
		o.state = ""
	}
	if e.call.result != nil && o.state == "no result" {
		o.state = ""
	}
	if o.said != "" {
		// The text is in a result, where a user's words look like a tool's.
		c.add(secDecisions, refusedCall+label(p.Name, a, 80)+": "+toolText(clipLine(oneLine(o.said), oneSentence)),
			e.msg, 2)
	}
	switch a.kind {
	case ArgCommand:
		c.command(cmd, e.msg, o, show, test)
		c.failure(cmd, "", e.msg, o, show)
	case ArgPath:
		for _, path := range a.paths {
			c.file(toolText(path), e.msg, a.changes, o)
		}
		c.failure("\x00"+a.value, label(p.Name, a, 120), e.msg, o, false)
	default:
		if p.Name != "" {
			looks := a.kind != "" || looking(p.Name)
			c.command(label(p.Name, a, 80), e.msg, o, looks, false)
		}
		c.failure("\x01"+p.Name+a.value, label(p.Name, a, 80), e.msg, o, false)
	}
}

// looking reports whether a tool's name means that it changes nothing.
func looking(name string) bool {
	lower := strings.ToLower(name[strings.LastIndex(name, "__")+1:])
	return anyPrefix(strings.TrimLeft(lower, "_"), lookNames)
}

var lookNames = []string{"get", "list", "search", "find", "read", "fetch", "view", "query", "calculate", "think",
	"check", "describe", "show", "toolsearch"}

// startsAsError reports whether a text begins like a failure, for tools without an error
// flag.
func startsAsError(text string) bool {
	head := strings.TrimSpace(text[:border(text, min(len(text), 100))])
	return strings.HasPrefix(head, "Error") || strings.HasPrefix(head, "error") || strings.HasPrefix(head, "ERROR") ||
		strings.HasPrefix(head, `{"error"`) || strings.HasPrefix(head, "Traceback") ||
		strings.HasPrefix(head, "Failed") || strings.HasPrefix(head, "<tool_use_error>")
}

// label names a call in few words.
func label(name string, a arguments, limit int) string {
	name = toolText(name)
	if a.value == "" {
		return name
	}
	return name + " " + toolText(clipLine(a.value, limit))
}

// toolText returns a tool's input or output on one line, with nothing in it that reads
// like a speaker's label.
func toolText(text string) string { return quote.Disarm(oneLine(text)) }

// refusedCall begins the line of a call whose result says that the user refused it.
const refusedCall = prompt.DigestRefused

func (c *collector) file(path string, at int, changes bool, o outcome) *file {
	f := c.files[path]
	if f == nil {
		f = &file{path: path, lastAt: at}
		c.files[path] = f
		c.fileList = append(c.fileList, f)
	}
	f.lastAt = at
	switch {
	case !changes:
		if !o.failed() {
			f.reads++
			f.readAt = at
		}
	case o.failed() || o.state == "refused by the user" || o.state == "no result":
		f.fails++
		f.lastFailed = true
	default:
		f.changes++
		f.lastFailed = false
	}
	return f
}

// shortCommand returns the form in which a command is shown.
func shortCommand(cmd string) string {
	line, _, more := strings.Cut(cmd, "\n")
	line = clipLine(strings.ReplaceAll(oneLine(line), "`", "'"), 140)
	if more && !strings.HasSuffix(line, "…") {
		line += " …"
	}
	return line
}

func (c *collector) command(cmd string, at int, o outcome, show, test bool) {
	short := shortCommand(cmd)
	if short == "" {
		return
	}
	k := c.commands[short]
	if k == nil {
		k = &command{text: short, show: show, test: test}
		c.commands[short] = k
		c.commandList = append(c.commandList, k)
	}
	k.runs++
	if o.failed() {
		k.fails++
	}
	k.last, k.at = o.state, at
}

// failure records an error under its source, or removes it when the same source succeeds.
func (c *collector) failure(source, name string, at int, o outcome, show bool) {
	source = clipLine(source, 200)
	if !o.failed() {
		if o.state == "refused by the user" || o.state == "no result" {
			return
		}
		for _, it := range c.sources[source] {
			if strings.HasPrefix(source, "\x00") || strings.HasPrefix(source, "\x01") {
				it.text = "" // the tool was misused first and then used correctly
			} else if !strings.HasSuffix(it.text, laterOK) {
				it.text += laterOK
			}
			it.weight = 0
		}
		delete(c.sources, source)
		return
	}
	if show {
		return // a search that found nothing, a file that is not there
	}
	for i, line := range o.lines {
		if i > 0 && name != "" {
			break // one line is enough for a misused tool
		}
		line = toolText(line)
		if name != "" {
			line = name + ": " + line
		}
		key := errorKey(line)
		it := c.errors[key]
		if it == nil {
			it = &item{section: secErrors}
			c.errors[key] = it
			c.errorList = append(c.errorList, it)
		}
		it.text, it.at, it.weight = line, at, 1
		if name != "" {
			it.weight = 0
		}
		c.sources[source] = append(c.sources[source], it)
	}
}

const laterOK = " (no longer)"

// errorKey returns the same key for lines that differ only in numbers.
func errorKey(line string) string {
	b := make([]byte, 0, len(line))
	for i := range len(line) {
		ch := line[i]
		if '0' <= ch && ch <= '9' {
			if n := len(b); n > 0 && b[n-1] == '0' {
				continue
			}
			ch = '0'
		}
		b = append(b, ch)
	}
	return string(b)
}

// finish turns files, commands and errors into items.
func (c *collector) finish() {
	c.folder = root(c.fileList)
	for _, f := range c.fileList {
		path := strings.TrimPrefix(f.path, c.folder)
		if quote.Disarm(path) != path {
			path = f.path // its end alone would read like a label
		}
		switch {
		case f.changes > 0 || f.fails > 0:
			text := path + ": changed " + times(f.changes)
			if f.changes == 0 {
				text = path + ": not changed, " + times(f.fails) + " tried"
			} else if f.lastFailed {
				text += ", newest change failed"
			}
			c.add(secChanged, text, f.lastAt, min(f.changes, 1))
		case f.reads > 1:
			c.add(secRead, path+" "+times(f.reads), f.readAt, 0)
		case f.reads == 1:
			c.add(secRead, path, f.readAt, 0)
		}
	}
	for _, k := range c.commandList {
		text := "`" + k.text + "`"
		if k.runs > 1 {
			text += " (" + strconv.Itoa(k.runs) + " runs"
			if k.fails > 0 {
				text += ", " + strconv.Itoa(k.fails) + " failed"
			}
			text += ")"
		}
		if k.last != "" {
			text += ": " + k.last
		}
		weight := 1
		switch {
		case k.show:
			weight = -1
		case k.test && k.fails > 0:
			weight = 3
		case k.test:
			weight = 2
		}
		c.add(secCommands, text, k.at, weight)
	}
	for _, it := range c.errorList {
		if it.text != "" {
			c.items = append(c.items, *it)
		}
	}
	c.items = append(c.items, c.stillOpen...)
	c.dedupe()
}

// dedupe keeps the newest of equal sentences of a section.
func (c *collector) dedupe() {
	seen := map[string]bool{}
	for i := len(c.items) - 1; i >= 0; i-- {
		it := &c.items[i]
		switch it.section {
		case secDecisions, secTask, secProgress, secAbout, secAgreed, secNames:
		default:
			continue
		}
		c.buf = plain(c.buf, it.text)
		key := string(c.buf)
		if seen[key] && it.weight < 3 {
			it.text = ""
		}
		seen[key] = true
	}
	kept := c.items[:0]
	for _, it := range c.items {
		if it.text != "" {
			kept = append(kept, it)
		}
	}
	c.items = kept
}

func times(n int) string { return strconv.Itoa(n) + "×" }

// deepest is the number of folders of a path that are considered.
const deepest = 32

// root returns a folder that contains most of the absolute paths, to be named once.
func root(files []*file) string {
	counts := map[string]int{}
	var dirs []string
	total := 0
	for _, f := range files {
		if !strings.HasPrefix(f.path, "/") {
			continue
		}
		total++
		slashes := 1
		for i := 1; i < len(f.path) && slashes < deepest; i++ {
			if f.path[i] != '/' {
				continue
			}
			if slashes++; slashes > 2 {
				dir := f.path[:i+1]
				if counts[dir] == 0 {
					dirs = append(dirs, dir)
				}
				counts[dir]++
			}
		}
	}
	best, most := "", 0
	for _, d := range dirs {
		// What omitting the folder saves, minus what paths elsewhere cost in clarity.
		if saved := (3*counts[d] - 2*total) * len(d); counts[d] > 1 && saved > most {
			best, most = d, saved
		}
	}
	return best
}
