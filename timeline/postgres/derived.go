package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// KeepDerived implements timeline.Store.
func (s *Store) KeepDerived(ctx context.Context, tenant, kind string, data []timeline.Derived) error {
	if err := timeline.CheckDerived(tenant, kind, data); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.readOnly {
		return s.refuse("write")
	}
	var contents, hashes [][16]byte
	var all [][]byte
	index := map[timeline.Hash]int{} // a statement writes a row once
	for _, d := range data {
		bytes := d.Data
		if bytes == nil {
			bytes = []byte{}
		}
		i, again := index[d.Content]
		if !again {
			i = len(contents)
			index[d.Content] = i
			contents, hashes, all = append(contents, d.Content), append(hashes, [16]byte{}), append(all, nil)
		}
		hashes[i], all[i] = seal.Derived(d.Content, kind, d.Data), bytes
	}
	return s.write(ctx, tenant, func(b *pgx.Batch, id int64) {
		// The lock keeps the contents until the commit.
		b.Queue(`INSERT INTO derived (tenant, content, hash, family, kind, data)
			SELECT c.tenant, c.hash, d.hash, $2, $3, d.data FROM unnest($4::uuid[], $5::uuid[], $6::bytea[]) AS d (content, hash, data)
			JOIN content c ON c.tenant = $1 AND c.hash = d.content ORDER BY c.hash FOR KEY SHARE OF c
			ON CONFLICT (tenant, content, family) DO UPDATE SET kind = excluded.kind, data = excluded.data, hash = excluded.hash`,
			id, timeline.Family(kind), kind, contents, hashes, all)
	})
}

// Derived implements timeline.Store.
func (s *Store) Derived(ctx context.Context, tenant, kind string, contents []timeline.Hash,
	visit func(timeline.Hash, []byte) error) error {
	var failed error
	err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue("SELECT content, data FROM derived WHERE tenant = $1 AND content = ANY ($2) AND family = $3 AND kind = $4",
			id, hashes16(contents), timeline.Family(kind), kind).Query(func(rows pgx.Rows) error {
			var h timeline.Hash
			var data []byte
			_, err := pgx.ForEachRow(rows, []any{hash16(&h), &data}, func() error {
				failed = visit(h, data)
				return failed
			})
			return err
		})
	})
	if failed != nil {
		return failed // the visitor's own error, unchanged
	}
	return err
}
