package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

var _ timeline.Whole = (*Store)(nil)

// Tenants implements timeline.Whole.
func (s *Store) Tenants(ctx context.Context) ([]string, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, "SELECT name FROM tenant ORDER BY name")
	if err != nil {
		return nil, s.explain("read", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return all, s.explain("read", err)
}

// AllRecords implements timeline.Whole.
func (s *Store) AllRecords(ctx context.Context, tenant, conversation string) ([]timeline.Record, error) {
	return s.readRecords(ctx, tenant, conversation, "", "")
}

// DerivedKinds implements timeline.Whole.
func (s *Store) DerivedKinds(ctx context.Context, tenant string) (kinds []string, err error) {
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue("SELECT DISTINCT kind COLLATE \"C\" AS kind FROM derived WHERE tenant = $1 ORDER BY 1",
			id).Query(func(rows pgx.Rows) (err error) {
			kinds, err = pgx.AppendRows(kinds, rows, pgx.RowTo[string])
			return err
		})
	})
	return kinds, err
}
