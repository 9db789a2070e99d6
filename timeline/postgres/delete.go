package postgres

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"fmt"

	"github.com/oriel-context/oriel/timeline"
)

// Delete implements timeline.Store. The tenant's other changes wait for it.
func (s *Store) Delete(ctx context.Context, tenant, conversation string, expect *int64) (timeline.Deleted, error) {
	if err := s.begin(ctx); err != nil {
		return timeline.Deleted{}, err
	}
	if s.readOnly {
		return timeline.Deleted{}, s.refuse("delete from")
	}
	id, err := s.tenantID(ctx, tenant)
	if err != nil {
		return timeline.Deleted{}, s.explain("delete from", err)
	}
	var d deletion
	err = s.again(ctx, func() error {
		return s.transaction(ctx, func(t *transaction) error {
			d = deletion{transaction: t, s: s, tenant: id, refs: map[timeline.Hash]int64{}}
			return d.run(ctx, conversation, expect)
		})
	})
	if err != nil {
		return timeline.Deleted{}, s.explain("delete from", err)
	}
	s.changes.Add(1)
	return d.gone, nil
}

// deletion is the deletion of a conversation within its transaction.
type deletion struct {
	*transaction
	s      *Store
	tenant int64
	id     int64 // of the conversation
	refs   map[timeline.Hash]int64
	gone   timeline.Deleted
}

func (d *deletion) run(ctx context.Context, name string, expect *int64) error {
	var revision int64
	// What only this conversation used: trunks, and the depths after which it did.
	var trunks, keep, empty []int64
	passages := false // there may be some
	d.begin(d.tenant, exclusive)
	d.batch.Queue("SELECT to_regclass('passage') IS NOT NULL").QueryRow(
		func(row pgx.Row) error { return row.Scan(&passages) })
	d.batch.Queue("SELECT id, revision FROM conversation WHERE tenant = $1 AND name = $2 FOR UPDATE", d.tenant,
		name).QueryRow(func(row pgx.Row) error {
		return noRows(row.Scan(&d.id, &revision), timeline.ErrNoConversation, name)
	})
	d.batch.Queue(`SELECT u.trunk, u.depth, t.origin_depth,
			coalesce((SELECT max(o.depth) FROM conversation_trunk o WHERE o.tenant = u.tenant AND o.trunk = u.trunk AND o.conversation <> u.conversation), 0)
		FROM conversation c JOIN conversation_trunk u ON u.tenant = c.tenant AND u.conversation = c.id JOIN trunk t ON t.tenant = u.tenant AND t.id = u.trunk
		WHERE c.tenant = $1 AND c.name = $2`, d.tenant, name).Query(func(rows pgx.Rows) error {
		var trunk, depth, origin, others int64
		_, err := pgx.ForEachRow(rows, []any{&trunk, &depth, &origin, &others}, func() error {
			if others = max(others, origin); others >= depth {
				return nil
			}
			trunks, keep = append(trunks, trunk), append(keep, others)
			if others == origin {
				empty = append(empty, trunk)
			}
			return nil
		})
		return err
	})
	if err := d.send(ctx); err != nil {
		return err
	}
	if expect != nil && *expect != revision {
		return fmt.Errorf("%w: %q is at revision %d, not %d", timeline.ErrChanged, name, revision, *expect)
	}
	d.s.point("between batches")
	b := &d.batch
	b.Queue("DELETE FROM record WHERE tenant = $1 AND conversation = $2 RETURNING contents", d.tenant,
		d.id).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var contents [][16]byte
			if err := rows.Scan(&contents); err != nil {
				return err
			}
			for _, h := range contents {
				d.refs[h]--
			}
			d.gone.Records++
		}
		return rows.Err()
	})
	d.contents("DELETE FROM variant v USING unnest($2::bigint[], $3::bigint[]) AS o (trunk, keep) WHERE v.tenant = $1 AND v.trunk = o.trunk AND v.depth > o.keep RETURNING v.content", trunks, keep, new(int))
	d.contents("DELETE FROM message m USING unnest($2::bigint[], $3::bigint[]) AS o (trunk, keep) WHERE m.tenant = $1 AND m.trunk = o.trunk AND m.depth > o.keep RETURNING m.content", trunks, keep, &d.gone.Messages)
	if passages {
		dropPassages(b, d.tenant, trunks, keep)
	}
	b.Queue("DELETE FROM trunk WHERE tenant = $1 AND id = ANY ($2)", d.tenant, empty)
	b.Queue("DELETE FROM conversation_trunk WHERE tenant = $1 AND conversation = $2", d.tenant, d.id)
	b.Queue("DELETE FROM conversation WHERE tenant = $1 AND id = $2", d.tenant, d.id)
	if err := d.send(ctx); err != nil {
		return err
	}
	d.s.point("between batches")
	order := slices.SortedFunc(maps.Keys(d.refs), func(a, b timeline.Hash) int { return bytes.Compare(a[:], b[:]) })
	deltas := make([]int64, len(order))
	for i, h := range order {
		deltas[i] = d.refs[h]
	}
	countReferences(b, d.tenant, 0, hashes16(order), deltas)
	deleteContents(b, d.tenant, hashes16(order), &d.gone)
	d.s.point("before commit")
	err := d.commit(ctx, d.s.notices.of(d.s.notice(d.tenant, name)))
	d.s.point("after commit")
	return err
}

// contents queues a statement that deletes rows and returns their contents, and counts
// them.
func (d *deletion) contents(statement string, trunks, keep []int64, count *int) {
	d.batch.Queue(statement, d.tenant, trunks, keep).Query(func(rows pgx.Rows) error {
		var h timeline.Hash
		_, err := pgx.ForEachRow(rows, []any{hash16(&h)}, func() error {
			d.refs[h]--
			*count++
			return nil
		})
		return err
	})
}
