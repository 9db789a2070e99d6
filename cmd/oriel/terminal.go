package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// wrapper is a writer that passes on to another one what it gets.
type wrapper interface{ Unwrap() io.Writer }

// terminalFile returns the terminal behind a reader or writer; nil if it is none.
func terminalFile(stream any) *os.File {
	if w, ok := stream.(wrapper); ok {
		stream = w.Unwrap()
	}
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(stream any) bool { return terminalFile(stream) != nil }

// style formats words for a terminal; the zero value leaves them plain.
type style struct{ on bool }

// styleFor returns a plain style unless out is a terminal that supports
// colour.
func styleFor(out io.Writer) style {
	return style{on: isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// terminalWidth returns the columns of the terminal behind out, within the
// limits of tables, or 80 if it is not a terminal.
func terminalWidth(out io.Writer) int {
	if f := terminalFile(out); f != nil {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return max(w, 40)
		}
	}
	return 80
}

func (s style) code(code, text string) string {
	if !s.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string { return s.code("1", text) }
