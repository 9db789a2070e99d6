package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/codec"
)

// span is a part of a trunk: the messages of depth first to last.
type span struct{ trunk, first, last int64 }

// Messages implements timeline.Store. The visitor sees one snapshot. A range on one trunk
// takes one round trip, any other two more.
func (s *Store) Messages(ctx context.Context, tenant string, to timeline.Place, first, last int64, hashes bool,
	visit func(*timeline.Entry) error) error {
	if to == (timeline.Place{}) {
		return s.begin(ctx)
	}
	first, last = max(first, 1), min(last, to.Depth)
	v := visitor{s: s, ctx: ctx, hashes: hashes, visit: visit}
	var way []span
	err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		readWay(b, id, to, first, last, &way)
		v.queue(b, id, span{to.Trunk, first, last}, &way)
	})
	if err == nil && len(way) > 0 && !only(way, to.Trunk) {
		err = s.snapshot(ctx, tenant, func(run func(queue func(*pgx.Batch, int64)) error) error {
			way = nil
			if err := run(func(b *pgx.Batch, id int64) { readWay(b, id, to, first, last, &way) }); err != nil {
				return err
			}
			return run(func(b *pgx.Batch, id int64) {
				for _, part := range way {
					v.queue(b, id, part, nil)
				}
			})
		})
	}
	if v.failed != nil {
		return v.failed // the visitor's own error, unchanged
	}
	return err
}

// only reports whether a way is on one trunk.
func only(way []span, trunk int64) bool { return len(way) == 1 && way[0].trunk == trunk }

// readWay queues the query for the parts of trunks that lead to a place, clipped to a range
// of depths.
func readWay(b *pgx.Batch, tenant int64, to timeline.Place, first, last int64, way *[]span) {
	b.Queue("SELECT 1 FROM message WHERE tenant = $1 AND trunk = $2 AND depth = $3", tenant, to.Trunk,
		to.Depth).QueryRow(func(row pgx.Row) error {
		var one int
		return noRows(row.Scan(&one), timeline.ErrNoPlace, to)
	})
	// Numbers of trunks fall towards the beginning, or the way might never end.
	b.Queue(`WITH RECURSIVE way (trunk, depth, origin, origin_depth) AS (
			SELECT id, $3::bigint, origin, origin_depth FROM trunk WHERE tenant = $1 AND id = $2
			UNION ALL
			SELECT t.id, w.origin_depth, t.origin, t.origin_depth FROM way w JOIN trunk t ON t.tenant = $1 AND t.id = w.origin
			WHERE w.origin_depth >= $4 AND w.origin < w.trunk
		) SELECT trunk, depth, origin, origin_depth FROM way`, tenant, to.Trunk, to.Depth,
		first).Query(func(rows pgx.Rows) error {
		var p, origin timeline.Place
		next := to
		_, err := pgx.ForEachRow(rows, []any{&p.Trunk, &p.Depth, &origin.Trunk, &origin.Depth}, func() error {
			if p != next || p.Depth <= origin.Depth || origin.Trunk >= p.Trunk ||
				(origin.Trunk == 0) != (origin.Depth == 0) {
				return fmt.Errorf("%w: trunk %d begins under %v", timeline.ErrDamaged, p.Trunk, origin)
			}
			next = origin
			if part := (span{p.Trunk, max(first, origin.Depth+1), min(last, p.Depth)}); part.first <= part.last {
				*way = append(*way, part)
			}
			return nil
		})
		if err == nil && next.Depth >= first {
			err = fmt.Errorf("%w: there is no trunk %d", timeline.ErrDamaged, next.Trunk)
		}
		slices.Reverse(*way)
		return err
	})
}

// visitor passes the messages of spans to the caller.
type visitor struct {
	s      *Store
	ctx    context.Context
	hashes bool
	visit  func(*timeline.Entry) error
	failed error // error of visit

	entry    timeline.Entry
	buffer   []byte
	variants map[int64][]timeline.Hash // of the span that is read, by depth
}

// queue queues the queries for the messages of a span. If way is not nil, they find nothing
// unless all of the span is on its trunk, which way then consists of.
func (v *visitor) queue(b *pgx.Batch, tenant int64, p span, way *[]span) {
	whole := ""
	if way != nil {
		whole = " AND (SELECT origin_depth FROM trunk WHERE tenant = $1 AND id = $2) < $3"
	}
	// Variants are few: they are read before the messages.
	b.Queue("SELECT depth, content FROM variant WHERE tenant = $1 AND trunk = $2 AND depth BETWEEN $3 AND $4"+whole+
		" ORDER BY depth, n", tenant, p.trunk, p.first, p.last).Query(func(rows pgx.Rows) error {
		v.variants = map[int64][]timeline.Hash{}
		var depth int64
		var h timeline.Hash
		_, err := pgx.ForEachRow(rows, []any{&depth, hash16(&h)}, func() error {
			v.variants[depth] = append(v.variants[depth], h)
			return nil
		})
		return err
	})
	query := `SELECT m.depth, m.says, m.format, m.role, m.time, m.ref, m.content, c.codec, c.size, c.data
		FROM message m JOIN content c ON c.tenant = m.tenant AND c.hash = m.content
		WHERE m.tenant = $1 AND m.trunk = $2 AND m.depth BETWEEN $3 AND $4` + whole + " ORDER BY m.depth"
	if v.hashes {
		query = `SELECT depth, says, format, role, time, ref, content, 0::smallint, 0::bigint, NULL::bytea
			FROM message WHERE tenant = $1 AND trunk = $2 AND depth BETWEEN $3 AND $4` + whole + " ORDER BY depth"
	}
	b.Queue(query, tenant, p.trunk, p.first, p.last).Query(func(rows pgx.Rows) error {
		if way != nil && !only(*way, p.trunk) {
			return nil
		}
		next := p.first
		for ; rows.Next(); next++ {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			if err := v.readEntry(p.trunk, rows); err != nil {
				return err
			}
			if v.entry.Place.Depth != next {
				break
			}
			if v.failed = v.visit(&v.entry); v.failed != nil {
				return v.failed
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if next <= p.last {
			return fmt.Errorf("%w: message %d:%d is missing", timeline.ErrDamaged, p.trunk, next)
		}
		return nil
	})
}

// readEntry reads a row into the entry.
func (v *visitor) readEntry(trunk int64, rows pgx.Rows) error {
	e := &v.entry
	var micro, how, size int64
	var data []byte
	if err := rows.Scan(&e.Place.Depth, hash16(&e.Identity), &e.Format, &e.Role, &micro, &e.Ref, hash16(&e.Content),
		&how, &size, &data); err != nil {
		return err
	}
	e.Place.Trunk = trunk
	e.Time = time.UnixMicro(micro).UTC()
	e.Variants = v.variants[e.Place.Depth]
	if v.hashes {
		return nil
	}
	raw, err := v.s.expand(e.Content, how, size, data, v.buffer)
	if err != nil {
		return err
	}
	if how != codec.Raw {
		v.buffer = raw
	}
	e.Raw = raw
	return nil
}
