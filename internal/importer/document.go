package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/timeline"
)

// document is a JSON text with access to the original bytes of its parts.
type document struct {
	data []byte
	root rawjson.Value
}

func parseDocument(data []byte) (document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > timeline.MaxContent {
		return document{}, brokenLine(errLong.Error())
	}
	if len(rawjson.Mend(data)) != len(data) {
		return document{}, brokenLine("not UTF-8: convert it first")
	}
	root, err := rawjson.ParseLenient(data, timeline.MaxContent)
	if err != nil {
		return document{}, brokenLine("not JSON: " + err.Error())
	}
	return document{data, root}, nil
}

// raw returns a copy of a value's original bytes. The parsed text may be a
// repaired one of the same length.
func (d document) raw(v rawjson.Value) []byte {
	start, end := v.Span()
	return bytes.Clone(d.data[start:end])
}

// eachElement parses the objects of a file of any shape: lines, a list, or a
// single object. It reports and skips faulty ones.
func eachElement(ctx context.Context, s *source, r io.Reader, to taker, visit func(n int, d document) error) error {
	l, e := newLines(r), (*elements)(nil)
	if s.kind.shape != lines {
		e = elementsOf(r, s.kind.shape)
	}
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var raw []byte
		var err error
		number := 0
		if e == nil {
			raw, err = l.next()
			number = l.n
		} else {
			raw, err = e.next()
		}
		switch {
		case err == io.EOF:
			return nil
		case err == errLong:
			to.broken(number, err.Error())
			continue
		case err != nil && e != nil: // the rest cannot be read
			if err != errLongElement {
				err = fmt.Errorf("not JSON: %w", err)
			}
			to.broken(0, fmt.Sprintf("%v (byte %d)", err, e.dec.InputOffset()))
			return nil
		case err != nil:
			return err
		}
		d, err := parseDocument(raw)
		if err == nil && d.root.Kind() != rawjson.Object && !(s.kind.format == Beam && d.root.Kind() == rawjson.Array) {
			err = brokenLine("want an object, got " + article(d.root.Kind()))
		}
		if err == nil {
			err = visit(n, d)
		}
		var bad brokenLine
		if errors.As(err, &bad) {
			to.broken(number, string(bad))
		} else if err != nil {
			return err
		}
	}
}
