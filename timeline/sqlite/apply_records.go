package sqlite

import (
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// planRecords checks that everything records refer to will exist.
func (w *change) planRecords() error {
	if err := w.reach(); err != nil {
		return err
	}
	return w.supply()
}

// recordID returns the id of a record, or 0 if there is none.
func (w *change) recordID(k timeline.Key) (int64, error) {
	if w.isNew && w.conv.id == 0 {
		return 0, nil
	}
	id, _, err := w.number("SELECT id FROM record WHERE conversation = ? AND kind = ? AND key = ?", w.conv.id, k.Kind,
		k.Key)
	return id, err
}

// reach checks that the conversation will have used or passed the places of
// the records.
func (w *change) reach() error {
	var way map[int64][2]int64 // first and last depth by trunk, after the change
	for i := range w.Put {
		r := &w.Put[i]
		if r.At == (timeline.Place{}) || r.At == timeline.AtHead() {
			continue
		}
		if _, ok := w.Appends(r.At); ok {
			continue
		}
		if way == nil {
			var err error
			if way, err = w.way(); err != nil {
				return err
			}
		}
		part, ok := way[r.At.Trunk]
		if !ok {
			if last, used := w.conv.used[r.At.Trunk]; used {
				origin, err := w.origin(w.tenantID, r.At.Trunk)
				if err != nil {
					return err
				}
				part, ok = [2]int64{origin.Depth + 1, last}, true
			}
		}
		if !ok || r.At.Depth < part[0] || r.At.Depth > part[1] {
			return fmt.Errorf("%w: %v, of record %s %q", timeline.ErrNoPlace, r.At, r.Kind, r.Key)
		}
	}
	return nil
}

// way returns the part of every trunk that leads to the last message, as far
// as known before anything is written, with the parts that were used before.
func (w *change) way() (map[int64][2]int64, error) {
	way := map[int64][2]int64{}
	if w.idle() {
		return way, nil
	}
	p := w.last
	if w.known < len(w.Messages) {
		n := int64(len(w.Messages) - w.known)
		if w.extend {
			p.Depth += n
		} else {
			// The number that a new trunk will get.
			next, _, err := w.number("SELECT seq FROM sqlite_sequence WHERE name = 'trunk'")
			if err != nil {
				return nil, err
			}
			way[next+1] = [2]int64{p.Depth + 1, p.Depth + n}
		}
	}
	for p.Trunk != 0 {
		origin, err := w.origin(w.tenantID, p.Trunk)
		if err != nil {
			return nil, err
		}
		way[p.Trunk] = [2]int64{origin.Depth + 1, max(p.Depth, w.conv.used[p.Trunk])}
		p = origin
	}
	return way, nil
}

// supply checks that the contents of the records will exist.
func (w *change) supply() error {
	for i := range w.Put {
		r := &w.Put[i]
		for _, h := range r.Contents {
			given := func(f form) bool { return f.hash == h }
			if slices.ContainsFunc(w.extra, given) || slices.ContainsFunc(w.forms, given) {
				continue
			}
			_, found, err := w.number("SELECT 1 FROM content WHERE tenant = ? AND hash = ?", w.tenantID, h[:])
			if err != nil {
				return err
			}
			if !found {
				return fmt.Errorf("%w: %v, of record %s %q", timeline.ErrNoContent, h, r.Kind, r.Key)
			}
		}
	}
	return nil
}

func (w *change) writeRecords() error {
	for _, k := range w.Drop {
		id, err := w.recordID(k)
		if err != nil {
			return err
		}
		if id == 0 {
			continue
		}
		if err := w.dropContents(id); err != nil {
			return err
		}
		if _, err := w.exec("DELETE FROM record WHERE id = ?", id); err != nil {
			return err
		}
	}
	for i := range w.Put {
		if err := w.writeRecord(&w.Put[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeRecord writes a record. Most are new, so it looks for one with the same key only
// if inserting fails because of it.
func (w *change) writeRecord(r *timeline.Record) error {
	at, data := r.At, r.Data
	if i, ok := w.Appends(at); ok {
		at = w.applied.Places[i]
	} else if at == timeline.AtHead() {
		at = w.conv.head
	}
	if data == nil {
		data = []byte{}
	}
	micro := w.micro(r.Time)
	hash := seal.Record(w.tenant, w.Conversation, r.Kind, r.Key, at, micro, data, r.Contents)
	done, err := w.exec("INSERT INTO record (tenant, conversation, kind, key, trunk, depth, time, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		w.tenantID, w.conv.id, r.Kind, r.Key, at.Trunk, at.Depth, micro, data, hash[:])
	if err != nil {
		return err
	}
	var id int64
	if n, err := done.RowsAffected(); err != nil {
		return err
	} else if n == 1 {
		if id, err = done.LastInsertId(); err != nil {
			return err
		}
	} else {
		if id, err = w.recordID(timeline.Key{Kind: r.Kind, Key: r.Key}); err != nil {
			return err
		}
		if err := w.dropContents(id); err != nil {
			return err
		}
		if _, err := w.exec("UPDATE record SET trunk = ?, depth = ?, time = ?, data = ?, hash = ? WHERE id = ?",
			at.Trunk, at.Depth, micro, data, hash[:], id); err != nil {
			return err
		}
	}
	return w.writeContents(id, r)
}

// writeContents writes what a record refers to.
func (w *change) writeContents(id int64, r *timeline.Record) error {
	for n, h := range r.Contents {
		f := &form{hash: h}
		if i := slices.IndexFunc(w.extra, func(f form) bool { return f.hash == h }); i >= 0 {
			f = &w.extra[i]
		}
		content, err := w.refer(f)
		if err != nil {
			return err
		}
		if _, err := w.exec("INSERT INTO record_content (record, n, content) VALUES (?, ?, ?)", id, int64(n),
			content); err != nil {
			return err
		}
	}
	return nil
}

// dropContents drops a record's references to contents, at the end of the
// change.
func (w *change) dropContents(record int64) error {
	err := w.each("SELECT content FROM record_content WHERE record = ?", func(r *rows) {
		w.release = append(w.release, r.integer(0))
	}, record)
	if err != nil {
		return err
	}
	_, err = w.exec("DELETE FROM record_content WHERE record = ?", record)
	return err
}

// settle deletes contents without references.
func (w *change) settle() error {
	if len(w.release) == 0 {
		return nil
	}
	gone := false
	for _, id := range w.release {
		last, _, err := w.unrefer(w.tenantID, id)
		if err != nil {
			return err
		}
		if last {
			gone = true
			if w.made[id] {
				w.applied.New.Contents--
			}
		}
	}
	if gone {
		return w.raiseEpoch()
	}
	return nil
}

// unrefer drops a reference to a content, and the content with the last one.
// It returns the number of bytes deleted.
func (w *writer) unrefer(tenant, id int64) (last bool, size int64, err error) {
	refs, found, err := w.number("UPDATE content SET refs = refs - 1 WHERE id = ? AND tenant = ? RETURNING refs", id,
		tenant)
	if err == nil && !found {
		err = fmt.Errorf("%w: a content that is referred to is missing", timeline.ErrDamaged)
	}
	if err != nil || refs > 0 {
		return false, 0, err
	}
	_, err = w.one("DELETE FROM content WHERE id = ? RETURNING hash, size", func(r *rows) {
		w.contents.Drop(contentKey{tenant, r.hash(0)})
		size = r.integer(1)
	}, id)
	return true, size, err
}

// raiseEpoch makes other processes forget the numbers that they remember.
func (w *writer) raiseEpoch() error {
	epoch, found, err := w.number("UPDATE setting SET value = value + 1 WHERE name = 'epoch' RETURNING value")
	if err == nil && !found {
		err = fmt.Errorf("%w: the epoch is missing", timeline.ErrDamaged)
	}
	w.epoch = epoch
	return err
}

// readRecords returns a conversation's records of a kind; an empty kind or key selects
// all.
func (c *conn) readRecords(conversation int64, kind, key string) ([]timeline.Record, error) {
	which, args := " WHERE r.conversation = ?", []any{conversation}
	if kind != "" {
		which, args = which+" AND r.kind = ?", append(args, kind)
	}
	if key != "" {
		which, args = which+" AND r.key = ?", append(args, key)
	}
	records := []timeline.Record{}
	index := map[int64]int{} // by id
	err := c.each("SELECT r.id, r.key, r.trunk, r.depth, r.time, r.data, r.kind FROM record r"+which+" ORDER BY r.id",
		func(r *rows) {
			index[r.integer(0)] = len(records)
			records = append(records, timeline.Record{
				Kind: r.text(6), Key: r.text(1), At: timeline.Place{Trunk: r.integer(2), Depth: r.integer(3)},
				Time: time.UnixMicro(r.integer(4)).UTC(), Data: r.bytes(5),
			})
		}, args...)
	if err != nil {
		return nil, err
	}
	return records, c.each(`SELECT r.id, c.hash FROM record r JOIN record_content rc ON rc.record = r.id JOIN content c ON c.id = rc.content`+
		which+" ORDER BY r.id, rc.n", func(r *rows) {
		if i, ok := index[r.integer(0)]; ok {
			records[i].Contents = append(records[i].Contents, r.hash(1))
		}
	}, args...)
}
