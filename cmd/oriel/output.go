package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/oriel-context/oriel/internal/term/lines"
)

// logLines returns a writer of log lines to w that never blocks a call: lines
// that nobody reads are dropped and counted.
func logLines(w io.Writer) *lines.Writer {
	return lines.New(w, lines.Options{Note: missingLines})
}

// missingLines returns the log line that reports how many are missing.
func missingLines(n int64) []byte {
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b,
		nil)).Warn("lines of this log are missing: nobody read them, or they could not be written", "lines", n)
	return b.Bytes()
}

// tellWait is how long a program's last output may take to be written.
var tellWait = 5 * time.Second

// tell writes a program's last output to a person. A stopped terminal or a
// pipe that nobody reads does not keep the program from ending.
func tell(w io.Writer, text []byte) {
	if len(text) == 0 {
		return
	}
	q := lines.New(w, lines.Options{Limit: len(text)})
	q.Write(text)
	q.Close(tellWait)
}

// printJSON prints one value for programs.
func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return &failure{err}
	}
	return nil
}
