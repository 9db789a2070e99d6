package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/seal"
)

// stored is a record that a change replaces or drops.
type stored struct {
	n        int64 // its position
	contents []timeline.Hash
}

// loadContents queues the query for the contents that are stored already.
func (w *change) loadContents() {
	w.stored = map[timeline.Hash]bool{}
	if len(w.asked) == 0 {
		return
	}
	w.batch.Queue("SELECT hash FROM content WHERE tenant = $1 AND hash = ANY ($2)", w.tenantID,
		w.asked).Query(func(rows pgx.Rows) error {
		var h timeline.Hash
		_, err := pgx.ForEachRow(rows, []any{hash16(&h)}, func() error {
			w.stored[h] = true
			return nil
		})
		return err
	})
}

// loadRecords queues the queries for the records that the change replaces or drops.
func (w *change) loadRecords() {
	w.records = map[timeline.Key]*stored{}
	if len(w.Put)+len(w.Drop) == 0 {
		return
	}
	var kinds, keys []string
	for i := range w.Put {
		kinds, keys = append(kinds, w.Put[i].Kind), append(keys, w.Put[i].Key)
	}
	for _, k := range w.Drop {
		kinds, keys = append(kinds, k.Kind), append(keys, k.Key)
	}
	w.batch.Queue(`SELECT r.kind, r.key, r.n, r.contents FROM conversation c
		JOIN unnest($3::text[], $4::text[]) AS k (kind, key) ON true
		JOIN record r ON r.tenant = c.tenant AND r.conversation = c.id AND r.kind = k.kind AND r.key = k.key
		WHERE c.tenant = $1 AND c.name = $2`, w.tenantID, w.Conversation, kinds, keys).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var k timeline.Key
			var r stored
			var contents [][16]byte
			if err := rows.Scan(&k.Kind, &k.Key, &r.n, &contents); err != nil {
				return err
			}
			for _, h := range contents {
				r.contents = append(r.contents, h)
			}
			w.records[k] = &r
		}
		return rows.Err()
	})
	w.batch.Queue(`SELECT coalesce(max(r.n), 0) FROM conversation c JOIN record r ON r.tenant = c.tenant AND r.conversation = c.id
		WHERE c.tenant = $1 AND c.name = $2`, w.tenantID,
		w.Conversation).QueryRow(func(row pgx.Row) error { return row.Scan(&w.written) })
	w.counted = true
}

// planRecords checks that everything records refer to will exist.
func (w *change) planRecords() error {
	for i := range w.Put {
		r := &w.Put[i]
		if !w.reaches(r.At) {
			return fmt.Errorf("%w: %v, of record %s %q", timeline.ErrNoPlace, r.At, r.Kind, r.Key)
		}
	}
	for i := range w.Put {
		r := &w.Put[i]
		for _, h := range r.Contents {
			if _, given := w.given[h]; !given && !w.stored[h] {
				return fmt.Errorf("%w: %v, of record %s %q", timeline.ErrNoContent, h, r.Kind, r.Key)
			}
		}
	}
	return nil
}

// reaches reports whether the conversation has used or passed a place after the change.
func (w *change) reaches(p timeline.Place) bool {
	if p == (timeline.Place{}) || p == timeline.AtHead() {
		return true
	}
	if _, ok := w.Appends(p); ok {
		return true
	}
	if used, ok := w.used[p.Trunk]; ok && w.origins[p.Trunk].Depth < p.Depth && p.Depth <= used {
		return true
	}
	if w.idle() {
		return false
	}
	// The way to the last message, before anything is written.
	at := w.last
	if n := int64(len(w.Messages) - w.known); n > 0 {
		if w.extend {
			at.Depth += n
		} else if p.Trunk == w.trunk {
			return at.Depth < p.Depth && p.Depth <= at.Depth+n
		}
	}
	for at.Trunk != 0 && at.Trunk != p.Trunk {
		at = w.origins[at.Trunk]
	}
	return at.Trunk == p.Trunk && w.origins[p.Trunk].Depth < p.Depth && p.Depth <= at.Depth
}

// writeRecords drops and puts records.
func (w *change) writeRecords() error {
	var dropped []int64
	for _, k := range w.Drop {
		if old := w.records[k]; old != nil {
			w.drop(old)
			dropped = append(dropped, old.n)
			delete(w.records, k)
		}
	}
	if len(dropped) > 0 {
		w.batch.Queue("DELETE FROM record WHERE tenant = $1 AND conversation = $2 AND n = ANY ($3)", w.tenantID, w.id,
			dropped)
	}
	for i := range w.Put {
		w.writeRecord(&w.Put[i])
	}
	return nil
}

// writeRecord writes a record, in the position of the one that it replaces.
func (w *change) writeRecord(r *timeline.Record) {
	at, data := r.At, r.Data
	if i, ok := w.Appends(at); ok {
		at = w.applied.Places[i]
	} else if at == timeline.AtHead() {
		at = w.conv.Head
	}
	if data == nil {
		data = []byte{}
	}
	micro := w.when(r.Time).UnixMicro()
	for _, h := range r.Contents {
		w.refer(h, 1)
	}
	hash := [16]byte(seal.Record(w.tenant, w.Conversation, r.Kind, r.Key, at, micro, data, r.Contents))
	if old := w.records[timeline.Key{Kind: r.Kind, Key: r.Key}]; old != nil {
		w.drop(old)
	}
	w.written++
	s := &w.rows.records
	s.conversations, s.numbers = append(s.conversations, w.id), append(s.numbers, w.written)
	s.kinds, s.keys, s.data = append(s.kinds, r.Kind), append(s.keys, r.Key), append(s.data, data)
	s.trunks, s.depths, s.times = append(s.trunks, at.Trunk), append(s.depths, at.Depth), append(s.times, micro)
	s.hashes, s.contents = append(s.hashes, hash), append(s.contents, arrayOf(r.Contents))
}

// drop drops the references of a record.
func (w *change) drop(r *stored) {
	for _, h := range r.contents {
		w.refer(h, -1)
	}
}

// refer adds n references to a content.
func (w *change) refer(h timeline.Hash, n int64) {
	if w.refs == nil {
		w.refs, w.release = map[timeline.Hash]int64{}, map[timeline.Hash]bool{}
	}
	w.refs[h] += n
	if n < 0 {
		w.release[h] = true
	}
}

// writeContents stores the new contents and counts the references to others. It comes last, so
// that rows which many changes refer to are locked for the shortest time.
func (w *change) writeContents() error {
	for h, n := range w.refs {
		if w.stored[h] || w.release[h] {
			w.rows.count(h, n)
			continue
		}
		raw := w.given[h]
		how, packed, err := w.s.codec.Compress(raw)
		if err != nil {
			return err
		}
		if packed == nil {
			packed = []byte{}
		}
		w.rows.store(h, content{size: int64(len(raw)), refs: n, codec: int16(how), data: packed})
	}
	return nil
}

// released returns the contents that lose more references than they get.
func (w *change) released() (all [][16]byte) {
	for _, h := range inOrder(w.release) {
		if w.refs[h] < 0 {
			all = append(all, h)
		}
	}
	return all
}

// countReferences queues the statements that add to the references of contents, which must
// exist; they are in order.
func countReferences(b *pgx.Batch, tenant int64, p partition, contents [][16]byte, deltas []int64) {
	if len(contents) == 0 {
		return
	}
	if len(contents) > 1 { // in order
		b.Queue("SELECT count(*) FROM (SELECT 1 FROM content"+p.suffix()+
			" WHERE tenant = $1 AND hash = ANY ($2) ORDER BY hash FOR NO KEY UPDATE) AS locked", tenant, contents)
	}
	b.Queue(exactly(`UPDATE content`+p.suffix()+
		` c SET refs = c.refs + d.n FROM unnest($2::uuid[], $3::bigint[]) AS d (hash, n)
		WHERE c.tenant = $1 AND c.hash = d.hash RETURNING 1`, "$4"), tenant, contents, deltas, len(contents))
}

// deleteContents queues the statements that delete, of the given contents, those without
// references, and what was derived from them.
func deleteContents(b *pgx.Batch, tenant int64, contents [][16]byte, gone *timeline.Deleted) {
	b.Queue("DELETE FROM content WHERE tenant = $1 AND hash = ANY ($2) AND refs = 0 RETURNING size", tenant,
		contents).Query(func(rows pgx.Rows) error {
		var size int64
		_, err := pgx.ForEachRow(rows, []any{&size}, func() error {
			if gone != nil {
				gone.Contents++
				gone.Bytes += size
			}
			return nil
		})
		return err
	})
	b.Queue(`DELETE FROM derived d WHERE d.tenant = $1 AND d.content = ANY ($2)
		AND NOT EXISTS (SELECT 1 FROM content c WHERE c.tenant = d.tenant AND c.hash = d.content)`, tenant, contents)
}
