package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// wrapper is a writer that passes on to another one what it gets.
type wrapper interface{ Unwrap() io.Writer }

// File returns the terminal behind a reader or writer; nil if it is none.
func File(stream any) *os.File {
	if w, ok := stream.(wrapper); ok {
		stream = w.Unwrap()
	}
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(stream any) bool { return File(stream) != nil }

// Style formats words for a terminal; the zero value leaves them plain.
type Style struct{ On bool }

// StyleOf returns a plain style unless out is a terminal that supports
// colour.
func StyleOf(out io.Writer) Style {
	return Style{On: IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Size returns the columns and rows of a terminal.
func Size(terminal *os.File) (width, height int, err error) { return term.GetSize(int(terminal.Fd())) }

// Width returns the columns of the terminal behind out, within the
// limits of tables, or 80 if it is not a terminal.
func Width(out io.Writer) int {
	if f := File(out); f != nil {
		if w, _, err := Size(f); err == nil && w > 0 {
			return max(w, 40)
		}
	}
	return 80
}

func (s Style) Code(code, text string) string {
	if !s.On {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) Bold(text string) string { return s.Code("1", text) }
