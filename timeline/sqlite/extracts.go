package sqlite

import (
	"context"
	"slices"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

var _ timeline.Extracts = (*Store)(nil)

// KeepExtracts implements timeline.Extracts.
func (s *Store) KeepExtracts(ctx context.Context, tenant, kind string, extracts []timeline.Extract) error {
	if err := timeline.CheckExtracts(tenant, kind, extracts); err != nil {
		return err
	}
	if s.readOnly {
		return s.refuse("write")
	}
	w := &s.write
	err := w.perform(&task{ctx: ctx, do: func() error {
		id, err := w.tenantID(tenant)
		if err != nil || id == 0 {
			return err
		}
		for i := range extracts {
			if err := w.keepExtract(id, kind, &extracts[i]); err != nil {
				return dirtyError{err}
			}
		}
		return nil
	}})
	return explain("write", s.path, err)
}

func (w *writer) keepExtract(tenant int64, kind string, x *timeline.Extract) error {
	var contents []timeline.Hash
	err := w.each(`SELECT c.hash FROM trunk t JOIN message m ON m.trunk = t.id JOIN content c ON c.id = m.content
		WHERE t.id = ? AND t.tenant = ? AND m.depth BETWEEN ? AND ? ORDER BY m.depth`, func(r *rows) {
		contents = append(contents, loose(r, 0))
	}, x.Span.Trunk, tenant, x.Span.First, x.Span.Last)
	if err != nil || !slices.Equal(contents, x.Contents) {
		return err
	}
	if _, err := w.exec("DELETE FROM extract WHERE trunk = ? AND (kind <> ? OR first <= ? AND last >= ?)", x.Span.Trunk,
		kind, x.Span.Last, x.Span.First); err != nil {
		return err
	}
	data := x.Data
	if data == nil {
		data = []byte{}
	}
	hash := seal.Extract(x.Span, kind, data)
	_, err = w.exec("INSERT INTO extract (trunk, first, last, kind, data, hash) VALUES (?, ?, ?, ?, ?, ?)",
		x.Span.Trunk, x.Span.First, x.Span.Last, kind, data, hash[:])
	w.point("between statements")
	return err
}

// Extract implements timeline.Extracts.
func (s *Store) Extract(ctx context.Context, tenant, kind string,
	at timeline.Place) (x timeline.Extract, found bool, err error) {
	err = s.view(ctx, func(c *conn) error {
		id, err := c.tenantID(tenant)
		if err != nil {
			return err
		}
		var hash timeline.Hash
		found, err = c.one(`SELECT e.first, e.last, e.data, e.hash FROM extract e JOIN trunk t ON t.id = e.trunk
			WHERE e.id = (SELECT id FROM extract WHERE trunk = ? AND last >= ? ORDER BY last LIMIT 1) AND e.first <= ? AND e.kind = ? AND t.tenant = ?`, func(r *rows) {
			x.Span = timeline.Span{Trunk: at.Trunk, First: r.integer(0), Last: r.integer(1)}
			x.Data, hash = slices.Clone(r.bytes(2)), loose(r, 3)
		}, at.Trunk, at.Depth, at.Depth, kind, id)
		found = found && seal.Extract(x.Span, kind, x.Data) == hash
		return err
	})
	return x, found, err
}
