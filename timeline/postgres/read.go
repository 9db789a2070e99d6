package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
)

// hash16 returns a hash as pgx passes it to a column of type uuid, and scans it.
func hash16(h *timeline.Hash) *[16]byte { return (*[16]byte)(h) }

// hashes16 returns hashes as an array of uuid.
func hashes16(all []timeline.Hash) [][16]byte {
	list := make([][16]byte, len(all))
	for i, h := range all {
		list[i] = h
	}
	return list
}

const conversationColumns = "SELECT name, trunk, depth, revision, created, updated, project, continues FROM conversation "

func scanConversation(row pgx.Row) (c timeline.Conversation, err error) {
	var created, updated int64
	err = row.Scan(&c.Name, &c.Head.Trunk, &c.Head.Depth, &c.Revision, &created, &updated, &c.Project, &c.Continues)
	c.Created, c.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return c, err
}

// scanConversations appends the conversations of rows to all.
func scanConversations(rows pgx.Rows, all *[]timeline.Conversation) error {
	for rows.Next() {
		c, err := scanConversation(rows)
		if err != nil {
			return err
		}
		*all = append(*all, c)
	}
	return rows.Err()
}

// Conversation implements timeline.Store.
func (s *Store) Conversation(ctx context.Context, tenant, name string) (found timeline.Conversation, err error) {
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue(conversationColumns+"WHERE tenant = $1 AND name = $2", id,
			name).QueryRow(func(row pgx.Row) (err error) {
			found, err = scanConversation(row)
			return noRows(err, timeline.ErrNoConversation, name)
		})
	})
	if err != nil {
		return timeline.Conversation{}, err
	}
	return found, nil
}

// noRows returns the error for what was not found.
func noRows(err, none error, what any) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: %q", none, what)
	}
	return err
}

// Conversations implements timeline.Store.
func (s *Store) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	all := []timeline.Conversation{}
	err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue(conversationColumns+"WHERE tenant = $1 ORDER BY name",
			id).Query(func(rows pgx.Rows) error { return scanConversations(rows, &all) })
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Heads implements timeline.Store.
func (s *Store) Heads(ctx context.Context, tenant, name string) ([]timeline.Place, error) {
	var head timeline.Place
	var used []usedTrunk
	err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue("SELECT trunk, depth FROM conversation WHERE tenant = $1 AND name = $2", id,
			name).QueryRow(func(row pgx.Row) error {
			return noRows(row.Scan(&head.Trunk, &head.Depth), timeline.ErrNoConversation, name)
		})
		queueUsed(b, id, name, &used)
	})
	if err != nil {
		return nil, err
	}
	return headsOf(head, used), nil
}

// usedTrunk is a trunk that a conversation has used or passed, by its deepest place, and where
// the trunk begins.
type usedTrunk struct{ at, origin timeline.Place }

// queueUsed queues the query for the trunks of a conversation.
func queueUsed(b *pgx.Batch, tenant int64, name string, used *[]usedTrunk) {
	b.Queue(`SELECT u.trunk, u.depth, t.origin, t.origin_depth FROM conversation c
		JOIN conversation_trunk u ON u.tenant = c.tenant AND u.conversation = c.id JOIN trunk t ON t.tenant = u.tenant AND t.id = u.trunk
		WHERE c.tenant = $1 AND c.name = $2 ORDER BY u.trunk`, tenant, name).Query(func(rows pgx.Rows) error {
		var u usedTrunk
		_, err := pgx.ForEachRow(rows, []any{&u.at.Trunk, &u.at.Depth, &u.origin.Trunk, &u.origin.Depth}, func() error {
			*used = append(*used, u)
			return nil
		})
		return err
	})
}

// headsOf returns the places where the branches of a conversation end.
func headsOf(head timeline.Place, used []usedTrunk) []timeline.Place {
	left := map[timeline.Place]bool{} // by another of its trunks
	for _, u := range used {
		left[u.origin] = true
	}
	heads := []timeline.Place{head}
	for _, u := range used {
		if u.at != head && !left[u.at] {
			heads = append(heads, u.at)
		}
	}
	return heads
}

// Under implements timeline.Store.
func (s *Store) Under(ctx context.Context, tenant string, at timeline.Place,
	says timeline.Hash) (p timeline.Place, found bool, err error) {
	there := at == timeline.Place{}
	var branch int64
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue("SELECT depth, says FROM message WHERE tenant = $1 AND trunk = $2 AND depth BETWEEN $3 AND $3 + 1", id,
			at.Trunk, at.Depth).Query(func(rows pgx.Rows) error {
			var depth int64
			var h timeline.Hash
			_, err := pgx.ForEachRow(rows, []any{&depth, hash16(&h)}, func() error {
				there = there || depth == at.Depth
				found = found || depth == at.Depth+1 && h == says
				return nil
			})
			return err
		})
		b.Queue("SELECT id FROM trunk WHERE tenant = $1 AND origin = $2 AND origin_depth = $3 AND says = $4", id,
			at.Trunk, at.Depth, [16]byte(says)).QueryRow(func(row pgx.Row) error {
			if err := row.Scan(&branch); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil
		})
	})
	switch {
	case err != nil:
	case !there:
		err = fmt.Errorf("%w: %v", timeline.ErrNoPlace, at)
	case found:
		return timeline.Place{Trunk: at.Trunk, Depth: at.Depth + 1}, true, nil
	case branch != 0:
		return timeline.Place{Trunk: branch, Depth: at.Depth + 1}, true, nil
	}
	return timeline.Place{}, false, err
}

// Content implements timeline.Store.
func (s *Store) Content(ctx context.Context, tenant string, h timeline.Hash) ([]byte, error) {
	var how, size int64
	var data []byte
	err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		b.Queue("SELECT codec, size, data FROM content WHERE tenant = $1 AND hash = $2", id,
			[16]byte(h)).QueryRow(func(row pgx.Row) error {
			return noRows(row.Scan(&how, &size, &data), timeline.ErrNoContent, h)
		})
	})
	if err != nil {
		return nil, err
	}
	return s.expand(h, how, size, data, nil)
}

// expand returns the original bytes of a content.
func (s *Store) expand(h timeline.Hash, how, size int64, data, buffer []byte) ([]byte, error) {
	raw, err := s.codec.Expand(how, size, data, buffer)
	if err != nil {
		return nil, s.explain("read", fmt.Errorf("%w: %w: %v", timeline.ErrDamaged, err, h))
	}
	if raw == nil {
		raw = []byte{}
	}
	return raw, nil
}

// conversationID queues the query for the number of a conversation.
func conversationID(b *pgx.Batch, tenant int64, name string) {
	b.Queue("SELECT id FROM conversation WHERE tenant = $1 AND name = $2", tenant,
		name).QueryRow(func(row pgx.Row) error {
		var id int64
		return noRows(row.Scan(&id), timeline.ErrNoConversation, name)
	})
}

// RecordKeys implements timeline.Store.
func (s *Store) RecordKeys(ctx context.Context, tenant, conversation, kind string) (keys []string, err error) {
	err = s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		conversationID(b, id, conversation)
		b.Queue(`SELECT r.key FROM conversation c JOIN record r ON r.tenant = c.tenant AND r.conversation = c.id
			WHERE c.tenant = $1 AND c.name = $2 AND r.kind = $3 ORDER BY r.n`, id, conversation,
			kind).Query(func(rows pgx.Rows) (err error) {
			keys, err = pgx.AppendRows(keys, rows, pgx.RowTo[string])
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// Records implements timeline.Store.
func (s *Store) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	if kind == "" { // no record has an empty kind
		_, err := s.Conversation(ctx, tenant, conversation)
		return []timeline.Record{}, err
	}
	return s.readRecords(ctx, tenant, conversation, kind, key)
}

// readRecords returns a conversation's records of a kind; an empty kind or key selects all.
func (s *Store) readRecords(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	records := []timeline.Record{}
	query, args := `SELECT r.kind, r.key, r.trunk, r.depth, r.time, r.data, r.contents FROM conversation c JOIN record r ON r.tenant = c.tenant AND r.conversation = c.id
		WHERE c.tenant = $1 AND c.name = $2`, []any{nil, conversation}
	if kind != "" {
		query, args = query+" AND r.kind = $3", append(args, kind)
	}
	if key != "" {
		query, args = query+" AND r.key = $4", append(args, key)
	}
	err := s.view(ctx, tenant, func(b *pgx.Batch, id int64) {
		conversationID(b, id, conversation)
		args[0] = id
		b.Queue(query+" ORDER BY r.n", args...).Query(func(rows pgx.Rows) (err error) {
			records, err = scanRecords(rows)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// scanRecords reads rows of kind, key, trunk, depth, time, data and contents.
func scanRecords(rows pgx.Rows) ([]timeline.Record, error) {
	records := []timeline.Record{}
	for rows.Next() {
		var r timeline.Record
		var micro int64
		var contents [][16]byte
		if err := rows.Scan(&r.Kind, &r.Key, &r.At.Trunk, &r.At.Depth, &micro, &r.Data, &contents); err != nil {
			return nil, err
		}
		r.Time = time.UnixMicro(micro).UTC()
		for _, h := range contents {
			r.Contents = append(r.Contents, h)
		}
		records = append(records, r)
	}
	return records, rows.Err()
}
