package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

var _ timeline.Documents = (*Store)(nil)

// Document implements timeline.Documents.
func (s *Store) Document(ctx context.Context, name string) (data []byte, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	err = s.pool.QueryRow(ctx, "SELECT data FROM document WHERE name = $1", name).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return data, s.explain("read", err)
}

// ReplaceDocument implements timeline.Documents.
func (s *Store) ReplaceDocument(ctx context.Context, name string, was, data []byte) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	if s.readOnly {
		return false, s.refuse("write")
	}
	statement, args := "UPDATE document SET data = $2 WHERE name = $1 AND data = $5",
		[]any{name, data, s.channel, s.notice(noTenant, name), was}
	if was == nil {
		statement, args = "INSERT INTO document (name, data) VALUES ($1, $2) ON CONFLICT DO NOTHING", args[:4]
	}
	// Documents change seldom: that PostgreSQL commits transactions with notifications one by
	// one does not matter.
	tag, err := s.pool.Exec(ctx, "WITH done AS ("+statement+" RETURNING 1) SELECT pg_notify($3, $4) FROM done", args...)
	if isConflict(err) {
		return false, nil
	}
	return err == nil && tag.RowsAffected() > 0, s.explain("write", err)
}

// DocumentsChanged implements timeline.Documents.
func (s *Store) DocumentsChanged() int64 { return s.documents.Load() }
