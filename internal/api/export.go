package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
)

// exportChunk is how many bytes are read before they are written, if a message is not larger.
const exportChunk = 1 << 20

// export writes the messages of a conversation as they came, one a line, as oriel export
// does. It takes its turn among requests for each chunk, so that a slow reader keeps nobody
// waiting.
func (q *request) export() (*raw, error) {
	c, err := q.find(q.Context())
	if err != nil {
		return nil, err
	}
	x, err := report.NewExporter(q.Context(), q.Store, q.tenant, c.Name, c.Head)
	if err != nil {
		return nil, err
	}
	chunk, next, err := q.exportChunk(x, c.Head, 1)
	if err != nil {
		return nil, err
	}
	header := q.w.Header()
	header.Set("Content-Type", "application/x-ndjson")
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", fileName(c.Name)+".jsonl"))
	for q.Method != http.MethodHead {
		if _, err := newReader(q.w).Write(chunk); err != nil || next > c.Head.Depth {
			break // the reader has left, or has all
		}
		q.memory.Give(int64(cap(chunk)))
		if chunk, next, err = q.exportChunk(x, c.Head, next); err != nil {
			q.Log.Error("a conversation could not be exported whole", "error", err)
			panic(http.ErrAbortHandler) // the reader must not take it for all
		}
	}
	return nil, nil
}

// exportChunk reads lines from a message on, and returns the message that follows them. It
// takes memory for them.
func (q *request) exportChunk(x *report.Exporter, head timeline.Place,
	first int64) (chunk []byte, next int64, err error) {
	leave, err := q.slots.Enter(q.Context(), q.tenant)
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	defer func() {
		if err == nil && !q.memory.Take(int64(cap(chunk))) {
			err = errShort
		}
	}()
	next = first
	err = x.Read(q.Context(), first, head.Depth, func(id int64, raw []byte) error {
		if len(chunk) > 0 && len(chunk)+len(raw) > exportChunk {
			return errPageFull
		}
		chunk = append(append(chunk, report.OnOneLine(raw)...), '\n')
		next = id + 1
		return nil
	})
	if errors.Is(err, errPageFull) {
		return chunk, next, nil
	}
	return chunk, head.Depth + 1, err
}

// fileName returns a name that every system accepts for a file: letters, digits and dashes.
func fileName(name string) string {
	clean := strings.Trim(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, name[:min(len(name), 80)]), "-")
	if clean == "" {
		return "conversation"
	}
	return clean
}
