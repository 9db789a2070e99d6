package sqlite

import (
	"context"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// KeepDerived implements timeline.Store.
func (s *Store) KeepDerived(ctx context.Context, tenant, kind string, data []timeline.Derived) error {
	if err := timeline.CheckDerived(tenant, kind, data); err != nil {
		return err
	}
	if s.readOnly {
		return s.refuse("write")
	}
	hashes := make([]timeline.Hash, len(data))
	for i, d := range data {
		hashes[i] = seal.Derived(d.Content, kind, d.Data)
	}
	w := &s.write
	err := w.perform(&task{ctx: ctx, do: func() error {
		id, err := w.tenantID(tenant)
		if err != nil || id == 0 {
			return err
		}
		for i, d := range data {
			if err := w.keepDerived(id, kind, &d, hashes[i]); err != nil {
				return dirtyError{err}
			}
		}
		return nil
	}})
	return explain("write", s.path, err)
}

func (w *writer) keepDerived(tenant int64, kind string, d *timeline.Derived, hash timeline.Hash) error {
	data := d.Data
	if data == nil {
		data = []byte{}
	}
	_, err := w.exec(`INSERT INTO derived (content, family, kind, data, hash) SELECT id, ?, ?, ?, ? FROM content WHERE tenant = ? AND hash = ?
		ON CONFLICT DO UPDATE SET kind = excluded.kind, data = excluded.data, hash = excluded.hash`,
		timeline.Family(kind), kind, data, hash[:], tenant, d.Content[:])
	w.point("between statements")
	return err
}

// Derived implements timeline.Store.
func (s *Store) Derived(ctx context.Context, tenant, kind string, contents []timeline.Hash,
	visit func(timeline.Hash, []byte) error) error {
	var failed error
	err := s.view(ctx, func(c *conn) error {
		id, err := c.tenantID(tenant)
		if err != nil {
			return err
		}
		for _, h := range contents {
			if err := ctx.Err(); err != nil {
				return err
			}
			var data []byte
			found, err := c.one(`SELECT d.data FROM content c JOIN derived d ON d.content = c.id
				WHERE c.tenant = ? AND c.hash = ? AND d.family = ? AND d.kind = ?`, func(r *rows) {
				data = r.bytes(0)
			}, id, h[:], timeline.Family(kind), kind)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			if failed = visit(h, data); failed != nil {
				return failed
			}
		}
		return nil
	})
	if failed != nil {
		return failed // the visitor's own error, unchanged
	}
	return err
}
