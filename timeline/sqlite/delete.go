package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// Delete implements timeline.Store.
func (s *Store) Delete(ctx context.Context, tenant, conversation string) (timeline.Deleted, error) {
	w := &s.write
	var d deletion
	err := w.perform(&task{ctx: ctx, alone: func() error {
		if err := w.begin(ctx); err != nil {
			return err
		}
		d = deletion{writer: w}
		if err := d.run(tenant, conversation); err != nil {
			w.rollback()
			return err
		}
		w.point("before commit")
		if err := w.commit(); err != nil {
			return err
		}
		w.point("after commit")
		w.forget()
		w.foreign.Add(1)
		w.clearLog()
		return nil
	}})
	if err != nil {
		return timeline.Deleted{}, explain("delete from", s.path, err)
	}
	return d.gone, nil
}

// clearLog has the log written back and emptied, so that what was deleted is in
// neither file any more. Who reads an older state, or another process at the same
// work, prevents that; then it is tried again later.
func (w *writer) clearLog() {
	busy, _, err := w.number("PRAGMA wal_checkpoint(TRUNCATE)")
	w.uncleared = time.Time{}
	if err != nil || busy != 0 {
		w.uncleared = time.Now()
	}
}

// deletion is the removal of a conversation in its transaction.
type deletion struct {
	*writer
	tenant int64
	conv   *conversation
	gone   timeline.Deleted
}

func (d *deletion) run(tenant, name string) error {
	id, found, err := d.number("SELECT id FROM tenant WHERE name = ?", tenant)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: %q", timeline.ErrNoConversation, name)
	}
	d.tenant = id
	if d.conv, err = d.conversation(id, name); err != nil {
		return err
	}
	if err := d.records(); err != nil {
		return err
	}
	if _, err := d.exec("DELETE FROM conversation_trunk WHERE conversation = ?", d.conv.id); err != nil {
		return err
	}
	for trunk, depth := range d.conv.used {
		if err := d.trunk(trunk, depth); err != nil {
			return err
		}
	}
	if _, err := d.exec("DELETE FROM conversation WHERE id = ?", d.conv.id); err != nil {
		return err
	}
	return d.raiseEpoch()
}

// records removes the conversation's records.
func (d *deletion) records() error {
	err := d.contents("SELECT rc.content FROM record r JOIN record_content rc ON rc.record = r.id WHERE r.conversation = ?", d.conv.id)
	if err != nil {
		return err
	}
	if _, err := d.exec("DELETE FROM record_content WHERE record IN (SELECT id FROM record WHERE conversation = ?)", d.conv.id); err != nil {
		return err
	}
	r, err := d.exec("DELETE FROM record WHERE conversation = ?", d.conv.id)
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	d.gone.Records += int(n)
	return err
}

// trunk removes what only this conversation used of a trunk, up to depth. Whoever
// used a branch has also used what is before it.
func (d *deletion) trunk(trunk, depth int64) error {
	origin, err := d.origin(trunk)
	if err != nil {
		return err
	}
	keep, _, err := d.number("SELECT coalesce(max(depth), 0) FROM conversation_trunk WHERE trunk = ?", trunk)
	if err != nil {
		return err
	}
	if keep = max(keep, origin.Depth); keep >= depth {
		return nil
	}
	for _, q := range []string{
		"SELECT content FROM message WHERE trunk = ? AND depth > ?",
		"SELECT content FROM variant WHERE trunk = ? AND depth > ?",
	} {
		if err := d.contents(q, trunk, keep); err != nil {
			return err
		}
	}
	if _, err := d.exec("DELETE FROM variant WHERE trunk = ? AND depth > ?", trunk, keep); err != nil {
		return err
	}
	r, err := d.exec("DELETE FROM message WHERE trunk = ? AND depth > ?", trunk, keep)
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	d.gone.Messages += int(n)
	if err == nil && keep == origin.Depth {
		_, err = d.exec("DELETE FROM trunk WHERE id = ?", trunk)
	}
	d.point("between statements")
	return err
}

// contents takes away a reference to each content that a query finds.
func (d *deletion) contents(query string, args ...any) error {
	var ids []int64
	if err := d.each(query, func(r *rows) { ids = append(ids, r.int(0)) }, args...); err != nil {
		return err
	}
	for _, id := range ids {
		last, size, err := d.unrefer(d.tenant, id)
		if err != nil {
			return err
		}
		if last {
			d.gone.Contents++
			d.gone.Bytes += size
		}
	}
	return nil
}
