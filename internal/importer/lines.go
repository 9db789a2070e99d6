package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// errLong: a line is longer than any store accepts. The next line can be read.
var errLong = errors.New("a line of more than 256 MiB")

// maxLine is the longest line, in bytes. Tests use a shorter one.
var maxLine = timeline.MaxContent

// lineReader reads lines of up to maxLine bytes.
type lineReader struct {
	in  *bufio.Reader
	n   int // number of the last line read
	buf []byte
}

func newLines(r io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 1<<16)}
}

// next returns the next line that is not blank, without its line feed. It is
// valid until the next call.
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

// keep makes the last line read the caller's own, without copying a long one.
func (l *lineReader) keep(line []byte) []byte {
	if len(line) < cap(l.buf)/2 || len(line) < 1<<16 {
		return bytes.Clone(line)
	}
	l.buf = nil
	return line
}

// eachLine parses the lines of a file that are JSON objects. It reports and skips
// lines that are invalid or that visit rejects. visit owns the line.
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
		root, err := rawjson.ParseLenient(line, timeline.MaxContent)
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

// brokenLine is the reason why a line that is JSON cannot be imported.
type brokenLine string

func (b brokenLine) Error() string { return string(b) }

// identity returns the key of a message: its identity and its own id.
func identity(says timeline.Hash, ref string) timeline.Hash {
	if ref == "" {
		return says
	}
	return timeline.HashOf(append(says[:], ref...))
}

// fits reports whether a store accepts a name or id.
func fits(s string, most int) bool {
	return len(s) <= most && strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

// word returns a string or a number as text; ok is false for any other value that
// is present.
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
