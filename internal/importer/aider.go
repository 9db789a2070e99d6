package importer

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// aiderFile is the name of aider's chat history.
const aiderFile = ".aider.chat.history.md"

// aiderStart begins the line with which aider begins a chat in its history.
const aiderStart = "# aider chat started at "

// readAider reads aider's chat history, .aider.chat.history.md. Each chat in it is a
// conversation of its own. Lines that begin with #### are the person's, lines that begin
// with > aider's own, and all others the model's. Lines of the model may begin alike, but
// only aider ends lines with two spaces. In a chat without these spaces the beginnings of
// lines decide.
func readAider(ctx context.Context, s *source, r io.Reader, to taker) error {
	stripped, err := s.strippedChats(ctx)
	if err != nil {
		return err
	}
	a := &aiderReader{ctx: ctx, to: to, label: s.label, name: s.label, when: s.modified, stripped: stripped}
	if filepath.Base(s.path) == aiderFile {
		a.project = filepath.Dir(absolute(s.path))
	}
	in := &aiderLines{l: newLines(r)}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := in.next()
		if err == io.EOF {
			return a.end()
		}
		if err == errLong {
			to.broken(in.l.n, err.Error())
			continue
		}
		if err != nil {
			return err
		}
		if err := a.line(line); err != nil {
			return err
		}
	}
}

// strippedChats reports of each chat, by its number, whether an editor or git has stripped
// the spaces from its lines, so that none of the person's ends with them. Number 0 is what
// precedes the first chat.
func (s *source) strippedChats(ctx context.Context) ([]bool, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stripped, spaces := []bool{false}, false
	for l := newLines(f); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, err := l.next()
		if err == errLong {
			continue
		}
		if err != nil { // reading it again reports what is wrong
			return stripped, nil
		}
		if bytes.HasPrefix(line, []byte(aiderStart)) {
			stripped, spaces = append(stripped, false), false
		}
		if bytes.HasPrefix(line, []byte("####")) {
			spaces = spaces || bytes.HasSuffix(bytes.TrimRight(line, "\r"), []byte("  "))
			stripped[len(stripped)-1] = !spaces
		}
	}
}

// aiderLines reads lines, including blank ones, which separate paragraphs.
type aiderLines struct {
	l      *lineReader
	held   []byte
	blanks int
}

func (a *aiderLines) next() ([]byte, error) {
	if a.held == nil {
		before := a.l.n
		line, err := a.l.next()
		if err != nil {
			return nil, err
		}
		a.held, a.blanks = bytes.Clone(line), a.l.n-before-1
	}
	if a.blanks > 0 {
		a.blanks--
		return nil, nil
	}
	line := a.held
	a.held = nil
	return line, nil
}

// aiderReader collects the lines of one author.
type aiderReader struct {
	ctx         context.Context
	to          taker
	label, name string
	project     string
	when        time.Time
	stripped    []bool // see strippedChats
	chat        int    // the number of the chat
	role        string
	raw         []byte
	blanks      int  // since the last line
	open        bool // the last line is aider's own, and not the last of what it said
}

func (a *aiderReader) line(line []byte) error {
	text := string(bytes.TrimRight(line, "\r"))
	if text == "" {
		a.blanks++
		return nil
	}
	if at, ok := strings.CutPrefix(text, aiderStart); ok {
		if err := a.end(); err != nil {
			return err
		}
		at = strings.ToValidUTF8(strings.TrimSpace(at), "\ufffd")
		a.name, a.role, a.open = a.label+" "+at, "", false
		a.chat++
		if !fits(a.name, timeline.MaxName) {
			a.name = a.label
		}
		if t, err := time.ParseInLocation(time.DateTime, at, time.Local); err == nil {
			a.when = t
		}
		return a.to.begin(a.ctx, a.name, a.project)
	}
	role := a.author(text)
	if role != a.role || len(a.raw)+1+a.blanks+len(line) > maxLine { // no store accepts more
		if err := a.end(); err != nil {
			return err
		}
		a.role = role
	}
	if len(a.raw) > 0 {
		a.raw = append(a.raw, bytes.Repeat([]byte{'\n'}, 1+a.blanks)...)
	}
	a.raw, a.blanks = append(a.raw, line...), 0
	return nil
}

// author returns the role of the author of a line.
func (a *aiderReader) author(text string) string {
	own := a.role == "" || a.role == timeline.RoleMeta // the line before is aider's
	last := strings.HasSuffix(text, "  ") || a.chat < len(a.stripped) && a.stripped[a.chat]
	switch {
	case strings.HasPrefix(text, "####") && (last || own):
		a.open = false
		return "user"
	case a.open:
		a.open = !last
		return timeline.RoleMeta
	case strings.HasPrefix(text, ">") && (last || own && a.blanks == 0 || a.role == ""):
		a.open = !last
		return timeline.RoleMeta
	}
	return "assistant"
}

// end stores the collected lines.
func (a *aiderReader) end() error {
	raw := a.raw
	a.raw, a.blanks = nil, 0
	if len(raw) == 0 {
		return nil
	}
	return a.to.take(a.ctx, a.name,
		asMessage(timeline.Message{Raw: raw, Format: timeline.FormatAider, Role: a.role, Time: a.when}))
}
