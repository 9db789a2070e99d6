package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/lenient"
)

// errLong: a line that no store takes. The next one can be read.
var errLong = errors.New("a line of more than 256 MiB")

// maxLine is the longest line, in bytes. Tests have shorter ones.
var maxLine = timeline.MaxContent

// lineReader reads lines of any length up to that of the largest content.
type lineReader struct {
	in  *bufio.Reader
	n   int // number of the line that was read last
	buf []byte
}

func newLines(r io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 1<<16)}
}

// next is the next line that is not blank, without its line feed. It is valid
// until the next call.
func (l *lineReader) next() ([]byte, error) {
	for {
		l.n++
		l.buf = l.buf[:0]
		long := false
		for {
			piece, err := l.in.ReadSlice('\n')
			if long = long || len(l.buf)+len(piece) > maxLine+1; !long {
				l.buf = append(l.buf, piece...)
			}
			if err == bufio.ErrBufferFull {
				continue
			}
			if err != nil && (err != io.EOF || len(l.buf) == 0 && !long) {
				return nil, err
			}
			break
		}
		if long {
			l.buf = nil
			return nil, errLong
		}
		if line := bytes.TrimSuffix(l.buf, []byte{'\n'}); len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// keep makes the line that was read last the caller's own: a long one without a
// copy.
func (l *lineReader) keep(line []byte) []byte {
	if len(line) < cap(l.buf)/2 || len(line) < 1<<16 {
		return bytes.Clone(line)
	}
	l.buf = nil
	return line
}

// eachLine parses the lines of a file that are JSON objects. What is wrong with a
// line, by itself or as visit finds, is told, and the line left out. The line is
// visit's own.
func eachLine(ctx context.Context, r io.Reader, to taker, visit func(line []byte, root rawjson.Value) error) error {
	l := newLines(r)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := l.next()
		switch {
		case err == io.EOF:
			return nil
		case err == errLong:
			to.broken(l.n, err.Error())
			continue
		case err != nil:
			return err
		}
		root, err := lenient.Parse(line, timeline.MaxContent)
		if err != nil {
			to.broken(l.n, "not JSON: "+err.Error())
			continue
		}
		if root.Kind() != rawjson.Object {
			to.broken(l.n, "want an object, got "+article(root.Kind()))
			continue
		}
		var bad brokenLine
		if err := visit(l.keep(line), root); errors.As(err, &bad) {
			to.broken(l.n, string(bad))
		} else if err != nil {
			return err
		}
	}
}

func article(k rawjson.Kind) string {
	switch k {
	case rawjson.Array, rawjson.Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// brokenLine says why a line that is JSON cannot be imported.
type brokenLine string

func (b brokenLine) Error() string { return string(b) }

// identity is what a message is known by: what it says and its own id.
func identity(says timeline.Hash, ref string) timeline.Hash {
	if ref == "" {
		return says
	}
	return timeline.HashOf(append(says[:], ref...))
}

// fits reports whether a store takes a name or id.
func fits(s string, most int) bool { return len(s) <= most && strings.IndexByte(s, 0) < 0 }

// word is a string or a number as text; ok is false for anything else that is
// there.
func word(v rawjson.Value) (text string, ok bool) {
	switch v.Kind() {
	case rawjson.String:
		return v.Str(), true
	case rawjson.Number:
		return string(v.Raw()), true
	case rawjson.Invalid, rawjson.Null:
		return "", true
	}
	return "", false
}
