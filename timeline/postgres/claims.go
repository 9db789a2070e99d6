package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

var _ timeline.Claims = (*Store)(nil)

// microseconds is the time of the database, which all servers share.
const microseconds = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// forgetClaims is how long after their end claims of processes that died are deleted.
const forgetClaims = time.Hour

// Claim implements timeline.Claims.
func (s *Store) Claim(ctx context.Context, tenant, kind, owner string, contents []timeline.Hash,
	lease time.Duration) (mine []timeline.Hash, err error) {
	err = s.claims(ctx, tenant, func(b *pgx.Batch, id int64) {
		mine = nil
		b.Queue(`INSERT INTO claim (tenant, kind, content, owner, until)
			SELECT $1, $2, c, $3, `+microseconds+
			` + $5 FROM (SELECT DISTINCT c FROM unnest($4::uuid[]) AS c ORDER BY c) AS wanted
			ON CONFLICT (tenant, kind, content) DO UPDATE SET owner = excluded.owner, until = excluded.until
			WHERE claim.owner = excluded.owner OR claim.until < `+microseconds+`
			RETURNING content`, id, kind, owner, hashes16(contents),
			lease.Microseconds()).Query(func(rows pgx.Rows) error {
			var h timeline.Hash
			_, err := pgx.ForEachRow(rows, []any{hash16(&h)}, func() error {
				mine = append(mine, h)
				return nil
			})
			return err
		})
	})
	return mine, err
}

// Unclaim implements timeline.Claims. It also deletes claims that ended long ago.
func (s *Store) Unclaim(ctx context.Context, tenant, kind, owner string, contents []timeline.Hash) error {
	return s.claims(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue("DELETE FROM claim WHERE tenant = $1 AND kind = $2 AND content = ANY ($3) AND owner = $4", id, kind,
			hashes16(contents), owner)
		b.Queue("DELETE FROM claim WHERE tenant = $1 AND until < "+microseconds+" - $2", id,
			forgetClaims.Microseconds())
	})
}

// claims runs statements on the claims of a tenant.
func (s *Store) claims(ctx context.Context, tenant string, queue func(b *pgx.Batch, id int64)) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.readOnly {
		return s.refuse("write")
	}
	return s.write(ctx, tenant, queue)
}
