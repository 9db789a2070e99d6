package postgres

import (
	"context"
	_ "embed" // passages.sql
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

var _ timeline.Passages = (*Store)(nil)

//go:embed passages.sql
var passageTables string

// vectorSize is the number of dimensions of vectors that can be searched: those of the
// model in the program. An index of pgvector has a fixed number.
const vectorSize = 384

// vectorColumn adds what pgvector searches.
const vectorColumn = `ALTER TABLE passage ADD COLUMN vector halfvec(384);
	CREATE INDEX passage_vector ON passage USING hnsw (vector halfvec_cosine_ops)`

// passageState is which tables there are.
type passageState struct {
	tables    bool
	vectors   bool   // passage has vectors
	extension bool   // pgvector is there, in a version that can be used
	old       string // the version of a pgvector that cannot
}

type querier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// readPassageState reads which tables there are. Before 0.7 pgvector had no halfvec, and
// before 0.8 a search could not go on until enough of what it finds is within the spans.
func readPassageState(ctx context.Context, q querier) (st passageState, err error) {
	return st, q.QueryRow(ctx, `SELECT to_regclass('passage') IS NOT NULL,
		EXISTS (SELECT 1 FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass('passage') AND attname = 'vector' AND NOT attisdropped),
		to_regtype('halfvec') IS NOT NULL AND coalesce(v.recent, false), CASE WHEN v.recent THEN '' ELSE coalesce(v.version, '') END
		FROM (SELECT max(extversion) AS version, bool_or(regexp_match(extversion, '^(\d+)\.(\d+)')::integer[] >= '{0,8}') AS recent FROM pg_catalog.pg_extension WHERE extname = 'vector') AS v`).
		Scan(&st.tables, &st.vectors, &st.extension, &st.old)
}

// passageState returns which tables there are. It remembers an answer that cannot change.
func (s *Store) passageState(ctx context.Context) (passageState, error) {
	if st := s.passages.Load(); st != nil {
		return *st, nil
	}
	st, err := readPassageState(ctx, s.pool)
	if err == nil && st.vectors {
		s.passages.Store(&st)
	}
	return st, s.explain("read", err)
}

// stored returns the kind as it is stored: passages that were kept without vectors are not
// those that can be searched by them.
func (st passageState) stored(kind string) string {
	if st.vectors {
		return kind
	}
	return "words of " + kind
}

// WantPassages implements timeline.Passages. It makes the tables.
func (s *Store) WantPassages(ctx context.Context, tenant string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.readOnly {
		return s.refuse("write")
	}
	st, err := s.passageState(ctx)
	if err != nil {
		return err
	}
	if st.old != "" && !s.warned.Swap(true) {
		s.log.Warn("pgvector in the database is older than 0.8: messages of large scopes are found by their words alone; update it with ALTER EXTENSION vector UPDATE", "version", st.old)
	}
	if !st.tables || st.extension && !st.vectors {
		if err := s.explain("write", s.makePassages(ctx)); err != nil {
			return err
		}
	}
	return s.write(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue("INSERT INTO passage_to (tenant, trunk, kind, depth) VALUES ($1, 0, '', 0) ON CONFLICT DO NOTHING", id)
	})
}

// makePassages makes the tables that are missing. Processes take turns.
func (s *Store) makePassages(ctx context.Context) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrating)); err != nil {
			return err
		}
		st, err := readPassageState(ctx, tx)
		if err != nil {
			return err
		}
		var statements string
		if !st.tables {
			statements = passageTables
		}
		if st.extension && !st.vectors {
			statements += vectorColumn
		}
		_, err = tx.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// PassagesTo implements timeline.Passages.
func (s *Store) PassagesTo(ctx context.Context, tenant, kind string) (to map[int64]int64, wanted bool, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, false, err
	}
	to = map[int64]int64{}
	st, err := s.passageState(ctx)
	if err != nil || !st.tables {
		return to, false, err
	}
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue("SELECT trunk, depth FROM passage_to WHERE tenant = $1 AND (kind = $2 OR trunk = 0)", id,
			st.stored(kind)).Query(func(rows pgx.Rows) error {
			var trunk, depth int64
			_, err := pgx.ForEachRow(rows, []any{&trunk, &depth}, func() error {
				if trunk == 0 {
					wanted = st.vectors || !st.extension // else somebody wants vectors, too
				} else {
					to[trunk] = depth
				}
				return nil
			})
			return err
		})
	})
	return to, wanted, err
}

// KeepPassages implements timeline.Passages.
func (s *Store) KeepPassages(ctx context.Context, tenant, kind string, passages []timeline.Passage,
	to []timeline.Place) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.readOnly {
		return s.refuse("write")
	}
	st, err := s.passageState(ctx)
	if err != nil {
		return err
	}
	column, value, set := "", "", ""
	if st.vectors {
		column, value, set = ", vector", ", $7::text::halfvec", ", vector = excluded.vector"
	}
	// The message is locked, so that nobody deletes it before the commit.
	insert := `INSERT INTO passage (tenant, trunk, depth, n, kind, words` + column + `)
		SELECT m.tenant, m.trunk, m.depth, $4::integer, $5::text, array_to_tsvector($6::text[])` + value + `
		FROM message m WHERE m.tenant = $1 AND m.trunk = $2 AND m.depth = $3 FOR KEY SHARE
		ON CONFLICT (tenant, trunk, depth, kind, n) DO UPDATE SET words = excluded.words` + set
	return s.write(ctx, tenant, func(b *pgx.Batch, id int64) {
		for i := range passages {
			p := &passages[i]
			args := []any{id, p.Place.Trunk, p.Place.Depth, p.Part, st.stored(kind), words(p.Words)}
			if st.vectors {
				args = append(args, vectorText(p.Vector))
			}
			b.Queue(insert, args...)
		}
		for _, p := range to {
			b.Queue(`INSERT INTO passage_to (tenant, trunk, kind, depth) SELECT m.tenant, m.trunk, $4, m.depth FROM message m WHERE m.tenant = $1 AND m.trunk = $2 AND m.depth = $3 FOR KEY SHARE
				ON CONFLICT (tenant, trunk, kind) DO UPDATE SET depth = greatest(passage_to.depth, excluded.depth)`, id,
				p.Trunk, p.Depth, st.stored(kind))
		}
	})
}

// maxLexeme is the longest lexeme that PostgreSQL accepts, in bytes.
const maxLexeme = 2046

// words returns terms that PostgreSQL accepts as lexemes.
func words(terms []string) []string {
	out := make([]string, 0, len(terms))
	for _, t := range terms {
		if t != "" && len(t) <= maxLexeme && !strings.Contains(t, "\x00") {
			out = append(out, strings.ToValidUTF8(t, "\uFFFD"))
		}
	}
	return out
}

// vectorText returns a vector as pgvector reads it, or nil for one that cannot be searched.
func vectorText(v []float32) *string {
	if len(v) != vectorSize {
		return nil
	}
	out := []byte{'['}
	for i, x := range v {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendFloat(out, float64(x), 'g', 5, 32)
	}
	text := string(append(out, ']'))
	return &text
}

// dropPassages queues the deletion of passages of messages below the given depths of trunks.
// Those of the messages before, which other conversations have, stay.
func dropPassages(b *pgx.Batch, tenant int64, trunks, keep []int64) {
	b.Queue("DELETE FROM passage p USING unnest($2::bigint[], $3::bigint[]) AS o (trunk, keep) WHERE p.tenant = $1 AND p.trunk = o.trunk AND p.depth > o.keep", tenant, trunks, keep)
	b.Queue("DELETE FROM passage_to p USING unnest($2::bigint[], $3::bigint[]) AS o (trunk, keep) WHERE p.tenant = $1 AND p.trunk = o.trunk AND o.keep = 0", tenant, trunks, keep)
	b.Queue("UPDATE passage_to p SET depth = o.keep FROM unnest($2::bigint[], $3::bigint[]) AS o (trunk, keep) WHERE p.tenant = $1 AND p.trunk = o.trunk AND p.depth > o.keep", tenant, trunks, keep)
}
