package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

// Stats implements timeline.Store.
func (s *Store) Stats(ctx context.Context, tenant string) (timeline.Stats, error) {
	var st timeline.Stats
	err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		row := func(query string, into ...any) {
			b.Queue(query, id).QueryRow(func(row pgx.Row) error { return row.Scan(into...) })
		}
		row("SELECT count(*) FROM conversation WHERE tenant = $1", &st.Conversations)
		row("SELECT count(*) FROM message WHERE tenant = $1", &st.Messages)
		row("SELECT count(*) FROM variant WHERE tenant = $1", &st.Variants)
		row("SELECT count(*) FROM trunk WHERE tenant = $1 AND origin <> 0", &st.Branches)
		row("SELECT count(*) FROM record WHERE tenant = $1", &st.Records)
		row("SELECT count(*), coalesce(sum(size), 0)::bigint, coalesce(sum(length(data)), 0)::bigint FROM content WHERE tenant = $1", &st.Contents, &st.Bytes, &st.Stored)
		row("SELECT count(*), coalesce(sum(length(data)), 0)::bigint FROM derived WHERE tenant = $1", &st.Derived,
			&st.DerivedBytes)
		b.Queue(`SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = current_schema() AND c.relkind = 'r'`).QueryRow(
			func(row pgx.Row) error { return row.Scan(&st.Disk) })
	})
	if err != nil {
		return timeline.Stats{}, err
	}
	return st, nil
}

// Backup implements timeline.Store: it refuses.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return &timeline.StoreError{Op: "back up", Path: s.where, Err: errors.ErrUnsupported, Hint: hintBackup}
}
