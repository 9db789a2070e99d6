package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

var _ timeline.Distant = (*Store)(nil)

// follow finds the places of messages, each under the one before: further on its trunk, or
// on the trunk that begins there. Its rows are those places and then the conversations that
// end on the last trunk.
const follow = `WITH RECURSIVE way (i, trunk, depth) AS (
		SELECT 0, 0::bigint, 0::bigint
		UNION ALL
		SELECT w.i + 1, n.trunk, n.depth FROM way w CROSS JOIN LATERAL (
			SELECT m.trunk, m.depth FROM message m
			WHERE m.tenant = $1 AND m.trunk = w.trunk AND m.depth = w.depth + 1 AND m.says = ($2::uuid[])[w.i + 1]
			UNION ALL
			SELECT t.id, w.depth + 1 FROM trunk t
			WHERE t.tenant = $1 AND t.origin = w.trunk AND t.origin_depth = w.depth AND t.says = ($2::uuid[])[w.i + 1]
			LIMIT 1
		) n WHERE w.i < $3::int
	), ending AS (
		SELECT c.* FROM conversation_trunk u JOIN conversation c ON c.tenant = u.tenant AND c.id = u.conversation AND c.trunk = u.trunk
		WHERE u.tenant = $1 AND u.trunk = (SELECT trunk FROM way ORDER BY i DESC LIMIT 1)
		ORDER BY c.updated DESC, c.name LIMIT $4::int
	)
	SELECT 0 AS part, i::bigint AS n, ''::text COLLATE "C" AS name, trunk, depth, 0::bigint, 0::bigint, 0::bigint, ''::text, ''::text FROM way WHERE i > 0
	UNION ALL
	SELECT 1, -updated, name, trunk, depth, revision, created, updated, project, continues FROM ending
	ORDER BY part, n, name`

// Follow implements timeline.Distant.
func (s *Store) Follow(ctx context.Context, tenant string,
	identities []timeline.Hash) (way []timeline.Place, ending []timeline.Conversation, err error) {
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue(follow, id, hashes16(identities), len(identities), timeline.MaxEnding).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var part int
				var n, created, updated int64
				var c timeline.Conversation
				if err := rows.Scan(&part, &n, &c.Name, &c.Head.Trunk, &c.Head.Depth, &c.Revision, &created, &updated,
					&c.Project, &c.Continues); err != nil {
					return err
				}
				if part == 0 {
					way = append(way, c.Head)
					continue
				}
				c.Created, c.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
				ending = append(ending, c)
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, nil, err
	}
	return way, ending, nil
}

// Family implements timeline.Distant.
func (s *Store) Family(ctx context.Context, tenant, name string) (all []timeline.Conversation, err error) {
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		// 0x7f follows "~".
		b.Queue(conversationColumns+
			"WHERE tenant = $1 AND (name = $2 OR name >= $2 || '~' AND name < $2 || chr(127)) ORDER BY name", id,
			name).Query(func(rows pgx.Rows) error { return scanConversations(rows, &all) })
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Holding implements timeline.Distant.
func (s *Store) Holding(ctx context.Context, tenant string, at timeline.Place,
	record timeline.Key) (names []string, err error) {
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue(`SELECT c.name FROM conversation_trunk u
			JOIN record r ON r.tenant = u.tenant AND r.conversation = u.conversation AND r.kind = $3 AND r.key = $4
			JOIN conversation c ON c.tenant = u.tenant AND c.id = u.conversation
			WHERE u.tenant = $1 AND u.trunk = $2 ORDER BY c.name`, id, at.Trunk, record.Kind,
			record.Key).Query(func(rows pgx.Rows) (err error) {
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	})
	return names, err
}

// gathered selects the records that Gather reads. read reports for each whether its data is
// read too.
const gathered = `SELECT r.*, r.kind <> 'plan' OR NOT ('p' || substr(r.key, position('-' IN r.key)) = ANY ($4::text[]) OR r.key = ANY ($4::text[])
			OR $5::bigint > 0 AND row_number() OVER (PARTITION BY r.kind ORDER BY r.n DESC) > $5::bigint) AS read
		FROM conversation c JOIN record r ON r.tenant = c.tenant AND r.conversation = c.id
		WHERE c.tenant = $1 AND c.name = $2 AND r.kind = ANY ($3::text[])`

// needed is true if the messages of a conversation are read.
const needed = "($6::bool OR EXISTS (SELECT 1 FROM (" + gathered + ") g WHERE g.read AND g.kind = 'plan'))"

// Gather implements timeline.Distant, in one round trip.
func (s *Store) Gather(ctx context.Context, tenant, conversation string,
	w timeline.Wanted) (*timeline.Gathered, error) {
	g := &timeline.Gathered{Contents: map[timeline.Hash][]byte{}, Identities: map[timeline.Place]timeline.Hash{}}
	trunks := map[int64]*timeline.GatheredTrunk{}
	known := w.Known
	if known == nil {
		known = []string{}
	}
	var used []usedTrunk
	err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue(conversationColumns+"WHERE tenant = $1 AND name = $2", id,
			conversation).QueryRow(func(row pgx.Row) (err error) {
			g.Conversation, err = scanConversation(row)
			return noRows(err, timeline.ErrNoConversation, conversation)
		})
		queueUsed(b, id, conversation, &used)
		args := []any{id, conversation, timeline.GatheredKinds, known, w.Plans}
		b.Queue("SELECT kind, key, trunk, depth, time, CASE WHEN read THEN data END, CASE WHEN read THEN contents END FROM ("+gathered+") g ORDER BY n", args...).Query(func(rows pgx.Rows) (err error) {
			g.Records, err = scanRecords(rows)
			return err
		})
		b.Queue("SELECT hash, codec, size, data FROM content WHERE tenant = $1 AND hash IN (SELECT unnest(g.contents) FROM ("+gathered+") g WHERE g.read)", args...).Query(func(rows pgx.Rows) error {
			var h timeline.Hash
			var how, size int64
			var data []byte
			_, err := pgx.ForEachRow(rows, []any{hash16(&h), &how, &size, &data}, func() (err error) {
				g.Contents[h], err = s.expand(h, how, size, data, nil)
				return err
			})
			return err
		})
		b.Queue("SELECT m.trunk, m.depth, m.says FROM ("+gathered+
			") g JOIN message m ON m.tenant = g.tenant AND m.trunk = g.trunk AND m.depth = g.depth WHERE g.kind IN ('pin', 'hold')", args...).Query(func(rows pgx.Rows) error {
			var p timeline.Place
			var h timeline.Hash
			_, err := pgx.ForEachRow(rows, []any{&p.Trunk, &p.Depth, hash16(&h)}, func() error {
				g.Identities[p] = h
				return nil
			})
			return err
		})
		args = append(args, w.Messages)
		b.Queue(`SELECT m.trunk, m.depth, m.says, m.format, m.role, m.time, m.ref, m.content FROM conversation c
			JOIN conversation_trunk u ON u.tenant = c.tenant AND u.conversation = c.id
			JOIN message m ON m.tenant = u.tenant AND m.trunk = u.trunk AND m.depth <= u.depth
			WHERE c.tenant = $1 AND c.name = $2 AND `+needed+" ORDER BY m.trunk, m.depth",
			args...).Query(func(rows pgx.Rows) error {
			for _, u := range used {
				trunks[u.at.Trunk] = &timeline.GatheredTrunk{Origin: u.origin}
			}
			return scanTrunks(rows, trunks)
		})
		b.Queue(`SELECT v.trunk, v.depth, v.content FROM conversation c
			JOIN conversation_trunk u ON u.tenant = c.tenant AND u.conversation = c.id
			JOIN variant v ON v.tenant = u.tenant AND v.trunk = u.trunk AND v.depth <= u.depth
			WHERE c.tenant = $1 AND c.name = $2 AND `+needed+" ORDER BY v.trunk, v.depth, v.n",
			args...).Query(func(rows pgx.Rows) error {
			var p timeline.Place
			var h timeline.Hash
			_, err := pgx.ForEachRow(rows, []any{&p.Trunk, &p.Depth, hash16(&h)}, func() error {
				e := &trunks[p.Trunk].Entries[p.Depth-trunks[p.Trunk].Origin.Depth-1]
				e.Variants = append(e.Variants, h)
				return nil
			})
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	g.Heads = headsOf(g.Conversation.Head, used)
	for _, t := range trunks {
		if len(t.Entries) > 0 {
			g.Trunks = trunks
		}
	}
	return g, nil
}

// scanTrunks adds messages to their trunks.
func scanTrunks(rows pgx.Rows, trunks map[int64]*timeline.GatheredTrunk) error {
	for rows.Next() {
		var e timeline.Entry
		var micro int64
		if err := rows.Scan(&e.Place.Trunk, &e.Place.Depth, hash16(&e.Identity), &e.Format, &e.Role, &micro, &e.Ref,
			hash16(&e.Content)); err != nil {
			return err
		}
		t := trunks[e.Place.Trunk]
		if t == nil || e.Place.Depth != t.Origin.Depth+int64(len(t.Entries))+1 {
			return fmt.Errorf("%w: message %v does not follow another", timeline.ErrDamaged, e.Place)
		}
		e.Time = time.UnixMicro(micro).UTC()
		t.Entries = append(t.Entries, e)
	}
	return rows.Err()
}
