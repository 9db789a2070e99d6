package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// tenantID returns the id of a tenant, or 0 for a tenant that was never
// written to. No row has the id 0.
func (c *conn) tenantID(name string) (int64, error) {
	id, _, err := c.number("SELECT id FROM tenant WHERE name = ?", name)
	return id, err
}

const conversationColumns = "SELECT c.name, c.trunk, c.depth, c.revision, c.created, c.updated, c.project, c.continues FROM conversation c "

func scanConversation(r *rows) timeline.Conversation {
	return timeline.Conversation{
		Name:      r.text(0),
		Head:      timeline.Place{Trunk: r.integer(1), Depth: r.integer(2)},
		Revision:  r.integer(3),
		Created:   time.UnixMicro(r.integer(4)).UTC(),
		Updated:   time.UnixMicro(r.integer(5)).UTC(),
		Project:   r.text(6),
		Continues: r.text(7),
	}
}

// Conversation implements timeline.Store.
func (s *Store) Conversation(ctx context.Context, tenant, name string) (timeline.Conversation, error) {
	var found timeline.Conversation
	err := s.view(ctx, func(c *conn) error {
		ok, err := c.one(conversationColumns+"JOIN tenant t ON t.id = c.tenant WHERE t.name = ? AND c.name = ?",
			func(r *rows) {
				found = scanConversation(r)
			}, tenant, name)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %q", timeline.ErrNoConversation, name)
		}
		return err
	})
	return found, err
}

// Conversations implements timeline.Store.
func (s *Store) Conversations(ctx context.Context, tenant string) ([]timeline.Conversation, error) {
	all := []timeline.Conversation{}
	err := s.view(ctx, func(c *conn) error {
		return c.each(conversationColumns+"JOIN tenant t ON t.id = c.tenant WHERE t.name = ? ORDER BY c.name",
			func(r *rows) {
				all = append(all, scanConversation(r))
			}, tenant)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// conversationID returns the id of a conversation and its head.
func (c *conn) conversationID(tenant, name string) (id int64, head timeline.Place, err error) {
	ok, err := c.one("SELECT c.id, c.trunk, c.depth FROM conversation c JOIN tenant t ON t.id = c.tenant WHERE t.name = ? AND c.name = ?", func(r *rows) {
		id, head = r.integer(0), timeline.Place{Trunk: r.integer(1), Depth: r.integer(2)}
	}, tenant, name)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %q", timeline.ErrNoConversation, name)
	}
	return id, head, err
}

// Heads implements timeline.Store.
func (s *Store) Heads(ctx context.Context, tenant, name string) ([]timeline.Place, error) {
	var heads []timeline.Place
	err := s.view(ctx, func(c *conn) error {
		id, head, err := c.conversationID(tenant, name)
		if err != nil {
			return err
		}
		heads = []timeline.Place{head}
		var used []timeline.Place
		left := map[timeline.Place]bool{} // by another of its trunks
		err = c.each(`SELECT u.trunk, u.depth, t.origin, t.origin_depth FROM conversation_trunk u JOIN trunk t ON t.id = u.trunk
			WHERE u.conversation = ? ORDER BY u.trunk`, func(r *rows) {
			used = append(used, timeline.Place{Trunk: r.integer(0), Depth: r.integer(1)})
			left[timeline.Place{Trunk: r.integer(2), Depth: r.integer(3)}] = true
		}, id)
		for _, p := range used {
			if p != head && !left[p] {
				heads = append(heads, p)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return heads, nil
}

// Under implements timeline.Store.
func (s *Store) Under(ctx context.Context, tenant string, at timeline.Place,
	says timeline.Hash) (timeline.Place, bool, error) {
	var p timeline.Place
	found := false
	err := s.view(ctx, func(c *conn) error {
		id, err := c.tenantID(tenant)
		if err != nil {
			return err
		}
		if at != (timeline.Place{}) {
			there := false
			err := c.each("SELECT m.depth, m.says FROM trunk t JOIN message m ON m.trunk = t.id WHERE t.id = ?1 AND t.tenant = ?2 AND m.depth BETWEEN ?3 AND ?3 + 1", func(r *rows) {
				if r.integer(0) == at.Depth {
					there = true
				} else if r.hash(1) == says {
					found = true
				}
			}, at.Trunk, id, at.Depth)
			if err == nil && !there {
				err = fmt.Errorf("%w: %v", timeline.ErrNoPlace, at)
			}
			if err != nil || found {
				p = timeline.Place{Trunk: at.Trunk, Depth: at.Depth + 1}
				return err
			}
		}
		var trunk int64
		trunk, found, err = c.number(
			"SELECT id FROM trunk WHERE tenant = ? AND origin = ? AND origin_depth = ? AND says = ?",
			id, at.Trunk, at.Depth, says[:])
		p = timeline.Place{Trunk: trunk, Depth: at.Depth + 1}
		return err
	})
	if err != nil || !found {
		return timeline.Place{}, false, err
	}
	return p, true, nil
}

// Content implements timeline.Store.
func (s *Store) Content(ctx context.Context, tenant string, h timeline.Hash) ([]byte, error) {
	var raw []byte
	err := s.view(ctx, func(c *conn) error {
		var codec, size int64
		var data []byte
		found, err := c.one("SELECT c.codec, c.size, c.data FROM content c JOIN tenant t ON t.id = c.tenant WHERE t.name = ? AND c.hash = ?", func(r *rows) {
			codec, size, data = r.integer(0), r.integer(1), r.bytes(2)
		}, tenant, h[:])
		if err == nil && !found {
			err = fmt.Errorf("%w: %v", timeline.ErrNoContent, h)
		}
		if err != nil {
			return err
		}
		raw, err = s.expand(h, codec, size, data, nil)
		return err
	})
	return raw, err
}

// expand returns the original bytes of a content.
func (s *Store) expand(h timeline.Hash, codec, size int64, data, buffer []byte) ([]byte, error) {
	raw, err := s.codec.Expand(codec, size, data, buffer)
	if err != nil {
		return nil, &Error{Op: "read", Path: s.path, Err: fmt.Errorf("%w: %w: %v", timeline.ErrDamaged, err, h),
			Hint: hintDamaged}
	}
	if raw == nil {
		raw = []byte{}
	}
	return raw, nil
}

// RecordKeys implements timeline.Store.
func (s *Store) RecordKeys(ctx context.Context, tenant, conversation, kind string) (keys []string, err error) {
	err = s.view(ctx, func(c *conn) error {
		id, _, err := c.conversationID(tenant, conversation)
		if err != nil {
			return err
		}
		return c.each("SELECT key FROM record WHERE conversation = ? AND kind = ? ORDER BY id",
			func(r *rows) { keys = append(keys, r.text(0)) }, id, kind)
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// Records implements timeline.Store.
func (s *Store) Records(ctx context.Context, tenant, conversation, kind, key string) ([]timeline.Record, error) {
	records := []timeline.Record{}
	err := s.view(ctx, func(c *conn) error {
		id, _, err := c.conversationID(tenant, conversation)
		if err != nil || kind == "" { // no record has an empty kind
			return err
		}
		records, err = c.readRecords(id, kind, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}
