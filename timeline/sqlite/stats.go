package sqlite

import (
	"context"

	"github.com/oriel-context/oriel/timeline"
)

// Stats implements timeline.Store.
func (s *Store) Stats(ctx context.Context, tenant string) (timeline.Stats, error) {
	var st timeline.Stats
	err := s.view(ctx, func(c *conn) error {
		id, err := c.tenantID(tenant)
		if err != nil {
			return err
		}
		if _, err := c.one(`SELECT
			(SELECT count(*) FROM conversation WHERE tenant = ?1),
			(SELECT count(*) FROM trunk t JOIN message m ON m.trunk = t.id WHERE t.tenant = ?1),
			(SELECT count(*) FROM trunk t JOIN variant v ON v.trunk = t.id WHERE t.tenant = ?1),
			(SELECT count(*) FROM trunk WHERE tenant = ?1 AND origin <> 0),
			(SELECT count(*) FROM conversation c JOIN record r ON r.conversation = c.id WHERE c.tenant = ?1)`,
			func(r *rows) {
				st.Conversations, st.Messages, st.Variants, st.Branches, st.Records = r.integer(0), r.integer(1),
					r.integer(2), r.integer(3), r.integer(4)
			}, id); err != nil {
			return err
		}
		_, err = c.one("SELECT count(*), coalesce(sum(size), 0), coalesce(sum(length(data)), 0) FROM content WHERE tenant = ?", func(r *rows) {
			st.Contents, st.Bytes, st.Stored = r.integer(0), r.integer(1), r.integer(2)
		}, id)
		if err != nil {
			return err
		}
		if _, err := c.one("SELECT count(*), coalesce(sum(length(d.data)), 0) FROM content c JOIN derived d ON d.content = c.id WHERE c.tenant = ?", func(r *rows) {
			st.Derived, st.DerivedBytes = r.integer(0), r.integer(1)
		}, id); err != nil {
			return err
		}
		if st.ExtractBytes, _, err = c.number(
			"SELECT coalesce(sum(length(e.data)), 0) FROM trunk t JOIN extract e ON e.trunk = t.id WHERE t.tenant = ?",
			id); err != nil {
			return err
		}
		_, st.Pending, err = c.number("SELECT 1 FROM setting WHERE name = 'uncleared'")
		return err
	})
	for _, suffix := range []string{"", "-wal", "-shm"} {
		st.Disk += max(0, exists(s.path+suffix))
	}
	return st, err
}
