package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oriel-context/oriel/timeline"
)

// rows are what changes of one tenant write, column by column: one statement writes the rows of
// many changes.
type rows struct {
	conversations struct {
		ids, trunks, depths, revisions, updated []int64
		projects, continues                     []string
		hashes                                  [][16]byte
		// after and afterDepths are the places after which messages are appended, and says the
		// identities of the first of them: no trunk may begin there with it. Trunk -1 has none.
		after, afterDepths []int64
		says               [][16]byte
	}
	uses     struct{ conversations, trunks, depths []int64 }
	messages struct {
		trunks, depths, times  []int64
		chains, says, contents [][16]byte
		formats, roles, refs   []string
	}
	records struct {
		conversations, numbers, trunks, depths, times []int64
		hashes                                        [][16]byte
		kinds, keys, contents                         []string
		data                                          [][]byte
	}
	contents map[timeline.Hash]*content // that are new, as far as it is known
	counts   map[timeline.Hash]int64    // references that stored contents get or lose
	// guessed reports that nothing was read before: a record that exists already is replaced
	// only if it refers to no contents, whose references nobody would drop.
	guessed bool
	// fresh are the contents that turned out to be new.
	fresh map[timeline.Hash]bool
}

// content is a content to store.
type content struct {
	size, refs int64
	codec      int16
	data       []byte
}

// partition is the partition of a tenant in every table, or 0: not known, or none. Statements on
// it need not plan for, open and lock those of all other tenants.
type partition int

// suffix is what follows the name of a table.
func (p partition) suffix() string {
	if p == 0 {
		return ""
	}
	return "_p" + strconv.Itoa(int(p)-1)
}

// findPartition reads the partition of a tenant, the same in all tables. A database may have
// none (docs/reference/format/postgres.md), and a user may have rights on the whole tables only.
func (s *Store) findPartition(ctx context.Context, t *transaction, tenant int64) (p partition, err error) {
	if p, ok := s.partitions.Get(tenant); ok {
		return p, nil
	}
	err = t.QueryRow(ctx, `SELECT coalesce(max(i), 0) FROM generate_series(1, 8) AS i WHERE CASE WHEN (
			SELECT bool_and(coalesce(has_table_privilege(to_regclass(name || '_p' || i - 1), wanted), false))
			FROM unnest(ARRAY['content', 'trunk', 'message', 'conversation', 'conversation_trunk', 'record']) AS name,
				unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS wanted)
		THEN satisfies_hash_partition('content'::regclass, 8, i - 1, $1::bigint) ELSE false END`, tenant).Scan(&p)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
		p, err = 0, nil // the whole tables do
	}
	if err == nil {
		s.partitions.Put(tenant, p)
	}
	return p, err
}

// add adds the rows of another change.
func (r *rows) add(o *rows) {
	c, d := &r.conversations, &o.conversations
	c.ids, c.trunks, c.depths = append(c.ids, d.ids...), append(c.trunks, d.trunks...), append(c.depths, d.depths...)
	c.revisions, c.updated = append(c.revisions, d.revisions...), append(c.updated, d.updated...)
	c.projects, c.continues = append(c.projects, d.projects...), append(c.continues, d.continues...)
	c.hashes, c.says = append(c.hashes, d.hashes...), append(c.says, d.says...)
	c.after, c.afterDepths = append(c.after, d.after...), append(c.afterDepths, d.afterDepths...)
	u, v := &r.uses, &o.uses
	u.conversations, u.trunks = append(u.conversations, v.conversations...), append(u.trunks, v.trunks...)
	u.depths = append(u.depths, v.depths...)
	m, n := &r.messages, &o.messages
	m.trunks, m.depths, m.times = append(m.trunks, n.trunks...), append(m.depths, n.depths...),
		append(m.times, n.times...)
	m.chains, m.says = append(m.chains, n.chains...), append(m.says, n.says...)
	m.contents, m.formats = append(m.contents, n.contents...), append(m.formats, n.formats...)
	m.roles, m.refs = append(m.roles, n.roles...), append(m.refs, n.refs...)
	s, t := &r.records, &o.records
	s.conversations, s.numbers = append(s.conversations, t.conversations...), append(s.numbers, t.numbers...)
	s.trunks, s.depths, s.times = append(s.trunks, t.trunks...), append(s.depths, t.depths...),
		append(s.times, t.times...)
	s.hashes, s.kinds, s.keys = append(s.hashes, t.hashes...), append(s.kinds, t.kinds...), append(s.keys, t.keys...)
	s.contents, s.data = append(s.contents, t.contents...), append(s.data, t.data...)
	for h, c := range o.contents {
		r.store(h, *c)
	}
	for h, n := range o.counts {
		r.count(h, n)
	}
}

// store adds a content with its references.
func (r *rows) store(h timeline.Hash, c content) {
	if r.contents == nil {
		r.contents = map[timeline.Hash]*content{}
	}
	if known := r.contents[h]; known != nil {
		known.refs += c.refs
		return
	}
	r.contents[h] = &c
}

// count adds references to a stored content.
func (r *rows) count(h timeline.Hash, n int64) {
	if r.counts == nil {
		r.counts = map[timeline.Hash]int64{}
	}
	r.counts[h] += n
}

// queue queues the statements that write the rows, to the partition of the tenant.
func (r *rows) queue(b *pgx.Batch, tenant int64, p partition) {
	if c := &r.conversations; len(c.ids) > 0 {
		b.Queue(exactly(`UPDATE conversation`+p.suffix()+
			` c SET trunk = u.trunk, depth = u.depth, revision = u.revision, updated = u.updated,
				project = u.project, continues = u.continues, hash = u.hash
			FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::uuid[], $10::bigint[], $11::bigint[], $12::uuid[])
				AS u (id, trunk, depth, revision, updated, project, continues, hash, after, after_depth, says)
			WHERE c.tenant = $1 AND c.id = u.id AND c.revision = u.revision - 1
			AND NOT EXISTS (SELECT FROM trunk`+p.suffix()+
			` t WHERE t.tenant = $1 AND t.origin = u.after AND t.origin_depth = u.after_depth AND t.says = u.says)
			RETURNING 1`, "$13"), tenant, c.ids, c.trunks, c.depths, c.revisions, c.updated, c.projects, c.continues,
			c.hashes, c.after, c.afterDepths, c.says, len(c.ids))
	}
	if m := &r.messages; len(m.trunks) > 0 {
		b.Queue(`INSERT INTO message`+p.suffix()+` (tenant, trunk, depth, time, hash, says, content, format, role, ref)
			SELECT $1, m.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::uuid[], $7::uuid[], $8::text[], $9::text[], $10::text[]) AS m`,
			tenant, m.trunks, m.depths, m.times, m.chains, m.says, m.contents, m.formats, m.roles, m.refs)
	}
	if u := &r.uses; len(u.trunks) > 0 {
		b.Queue(`INSERT INTO conversation_trunk`+p.suffix()+` AS t (tenant, conversation, trunk, depth)
			SELECT $1, u.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS u
			ON CONFLICT (tenant, conversation, trunk) DO UPDATE SET depth = excluded.depth`, tenant, u.conversations,
			u.trunks, u.depths)
	}
	r.queueRecords(b, tenant, p)
	r.queueContents(b, tenant, p)
}

func (r *rows) queueRecords(b *pgx.Batch, tenant int64, p partition) {
	s := &r.records
	if len(s.keys) == 0 {
		return
	}
	b.Queue(exactly(`INSERT INTO record`+p.suffix()+
		` AS old (tenant, conversation, n, kind, key, trunk, depth, time, hash, contents, data)
		SELECT $1, r.conversation, r.n, r.kind, r.key, r.trunk, r.depth, r.time, r.hash, r.contents::uuid[], r.data
		FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::uuid[], $10::text[], $11::bytea[])
			AS r (conversation, n, kind, key, trunk, depth, time, hash, contents, data)
		ON CONFLICT (tenant, conversation, kind, key) DO UPDATE SET trunk = excluded.trunk, depth = excluded.depth, time = excluded.time,
			hash = excluded.hash, contents = excluded.contents, data = excluded.data WHERE NOT $12::bool OR old.contents = '{}'
		RETURNING 1`, "$13"), tenant, s.conversations, s.numbers, s.kinds, s.keys, s.trunks, s.depths, s.times,
		s.hashes,
		s.contents, s.data, r.guessed, len(s.keys))
}

// queueContents queues the statements that store contents and count references, in the order of
// hashes, so that no two transactions wait for each other.
func (r *rows) queueContents(b *pgx.Batch, tenant int64, p partition) {
	r.fresh = map[timeline.Hash]bool{}
	if len(r.contents) > 0 {
		hashes := inOrder(r.contents)
		n := len(hashes)
		all, sizes, codecs := make([][16]byte, 0, n), make([]int64, 0, n), make([]int16, 0, n)
		refs, data := make([]int64, 0, n), make([][]byte, 0, n)
		for _, h := range hashes {
			c := r.contents[h]
			all, sizes, codecs = append(all, h), append(sizes, c.size), append(codecs, c.codec)
			refs, data = append(refs, c.refs), append(data, c.data)
		}
		b.Queue(`INSERT INTO content`+p.suffix()+` AS old (tenant, hash, size, codec, refs, data)
			SELECT $1, c.* FROM unnest($2::uuid[], $3::bigint[], $4::smallint[], $5::bigint[], $6::bytea[]) AS c
			ON CONFLICT (tenant, hash) DO UPDATE SET refs = old.refs + excluded.refs RETURNING old.hash, old.refs`,
			tenant, all, sizes, codecs, refs, data).Query(func(rows pgx.Rows) error {
			var h timeline.Hash
			var refs int64
			_, err := pgx.ForEachRow(rows, []any{hash16(&h), &refs}, func() error {
				r.fresh[h] = refs == r.contents[h].refs
				return nil
			})
			return err
		})
	}
	var known [][16]byte
	var deltas []int64
	for _, h := range inOrder(r.counts) {
		if n := r.counts[h]; n != 0 {
			known, deltas = append(known, h), append(deltas, n)
		}
	}
	countReferences(b, tenant, p, known, deltas)
}

// countFresh counts the contents among refs that were new. What two changes of a group bring is
// new for the first.
func (r *rows) countFresh(refs map[timeline.Hash]int64) (n int) {
	for h := range refs {
		if r.fresh[h] {
			r.fresh[h] = false
			n++
		}
	}
	return n
}

// inOrder returns the hashes of a map in their order.
func inOrder[V any](m map[timeline.Hash]V) []timeline.Hash {
	return slices.SortedFunc(maps.Keys(m), func(a, b timeline.Hash) int { return bytes.Compare(a[:], b[:]) })
}

// arrayOf returns hashes as the text of an array of uuid.
func arrayOf(hashes []timeline.Hash) string {
	text := make([]byte, 0, 2+33*len(hashes))
	text = append(text, '{')
	for i, h := range hashes {
		if i > 0 {
			text = append(text, ',')
		}
		text = hex.AppendEncode(text, h[:])
	}
	return string(append(text, '}'))
}
