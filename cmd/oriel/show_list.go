package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

// messageList prints messages as they come.
type messageList struct {
	out    *bufio.Writer
	flags  *showFlags
	screen term.Screen
	n      int
	last   string            // the day that was printed
	called map[string]string // the tools of calls, by their ids
}

func newMessageList(out io.Writer, c *report.Conversation, o *showFlags, sc term.Screen) *messageList {
	l := &messageList{out: bufio.NewWriterSize(out, 1<<16), flags: o, screen: sc, called: map[string]string{}}
	if o.json {
		info, _ := json.Marshal(c) // cannot fail
		fmt.Fprintf(l.out, `{"conversation":%s,"messages":[`, info)
	}
	return l
}

// messageWithText is a message as --json has it.
type messageWithText struct {
	*report.Message
	Text string `json:"text"`
}

func (l *messageList) add(m *report.Message) error {
	if l.flags.json {
		if l.n++; l.n > 1 {
			l.out.WriteByte(',')
		}
		var b bytes.Buffer
		if err := printJSON(&b, messageWithText{m, m.Text}); err != nil {
			return err
		}
		_, err := l.out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		return err
	}
	if l.flags.whole {
		_ = l.name(m)
		return wholeMessage(l.out, m, l.screen, l.flags.full)
	}
	return l.row(m)
}

// name remembers the tools that a message calls, and names those of its results: not all
// protocols do.
func (l *messageList) name(m *report.Message) error {
	if m.Chat == nil {
		return nil
	}
	for i := range m.Chat.Parts {
		switch p := &m.Chat.Parts[i]; p.Kind {
		case chat.Call:
			l.called[p.ID] = p.Name
		case chat.Result:
			p.Name = cmp.Or(p.Name, l.called[p.ID])
		}
	}
	return nil
}

// row prints a message on one line. The columns are of fixed widths: a long history is not
// held for them.
func (l *messageList) row(m *report.Message) error {
	at := m.Time.Local()
	if day := at.Format("2006-01-02"); day != l.last {
		l.last = day
		fmt.Fprintf(l.out, "%s\n", l.screen.Style.Bold(day))
	}
	pin, tokens := " ", term.Thousands(m.Tokens)
	if m.Pinned {
		pin = "*"
	}
	if m.Role == timeline.RoleMeta {
		tokens = ""
	}
	words := cmp.Or(term.OneLine(m.Words(), max(120, l.screen.Width)), "(empty)")
	line := fmt.Sprintf("%6d%s %s  %-9s %7s  ", m.ID, pin, at.Format("15:04:05"), term.OneLine(m.By, 9), tokens)
	if l.screen.Width > 0 {
		line = fmt.Sprintf("%5d%s %s %-9s %6s  ", m.ID, pin, at.Format("15:04"), term.OneLine(m.By, 9), tokens)
		line += term.Clip(words, l.screen.Width-term.Cells(line))
	} else {
		line += term.OneLine(words, 120)
	}
	if m.Role == timeline.RoleMeta {
		line = l.screen.Style.Code("2", line)
	}
	_, err := fmt.Fprintln(l.out, line)
	return err
}

// end prints the branches; older ones are only counted.
func (l *messageList) end(branches []shownBranch, older int) error {
	if l.flags.json {
		list, err := json.Marshal(branches)
		if err != nil {
			return err
		}
		fmt.Fprintf(l.out, "],\"branches\":%s", list)
		if older > 0 {
			fmt.Fprintf(l.out, ",\"older_branches\":%d", older)
		}
		l.out.WriteString("}\n")
		return l.out.Flush()
	}
	if l.flags.branches && len(branches) == 0 {
		fmt.Fprintln(l.out, "\nno other branches")
	}
	for i, b := range branches {
		if i == 0 {
			fmt.Fprintln(l.out)
			if older > 0 {
				fmt.Fprintf(l.out, "%s, not listed (--branch 1 to %d)\n",
					term.Plural(older, "older branch", "older branches"), older)
			}
		}
		line := fmt.Sprintf("branch %d: leaves after message %d and ends at %d (--branch %d)", b.Branch, b.Shared,
			b.Last, b.Branch)
		if b.Words != "" {
			line += ": " + b.Words
		}
		if l.screen.Width > 0 {
			line = term.Clip(line, l.screen.Width)
		}
		fmt.Fprintln(l.out, line)
	}
	return l.out.Flush()
}
