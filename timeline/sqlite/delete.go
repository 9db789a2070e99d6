package sqlite

import (
	"context"
	"fmt"

	"github.com/oriel-context/oriel/timeline"
)

// Delete implements timeline.Store.
func (s *Store) Delete(ctx context.Context, tenant, conversation string, expect *int64) (timeline.Deleted, error) {
	if s.readOnly {
		return timeline.Deleted{}, s.refuse("delete from")
	}
	w := &s.write
	var d deletion
	err := w.perform(&task{ctx: ctx, alone: func() error {
		if err := w.begin(ctx); err != nil {
			return err
		}
		d = deletion{writer: w}
		if err := d.run(tenant, conversation, expect); err != nil {
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
		return nil
	}})
	if err != nil {
		return timeline.Deleted{}, explain("delete from", s.path, err)
	}
	// The conversation is deleted, whether or not the bytes can be cleared.
	d.gone.Pending = !w.awaitClear(ctx)
	return d.gone, nil
}

// deletion is the deletion of a conversation within its transaction.
type deletion struct {
	*writer
	tenant int64
	conv   *conversation
	gone   timeline.Deleted
}

func (d *deletion) run(tenant, name string, expect *int64) error {
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
	if expect != nil && *expect != d.conv.revision {
		return fmt.Errorf("%w: %q is at revision %d, not %d", timeline.ErrChanged, name, d.conv.revision, *expect)
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
	if err := d.raiseEpoch(); err != nil {
		return err
	}
	return d.markUncleared()
}

// records deletes the conversation's records.
func (d *deletion) records() error {
	err := d.contents(
		"SELECT rc.content FROM record r JOIN record_content rc ON rc.record = r.id WHERE r.conversation = ?",
		d.conv.id)
	if err != nil {
		return err
	}
	if _, err := d.exec("DELETE FROM record_content WHERE record IN (SELECT id FROM record WHERE conversation = ?)",
		d.conv.id); err != nil {
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

// trunk deletes the part of a trunk that only this conversation used, up to
// depth. A conversation that used a branch has also used what precedes it.
func (d *deletion) trunk(trunk, depth int64) error {
	origin, err := d.origin(d.tenant, trunk)
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

// contents drops a reference to each content that a query returns.
func (d *deletion) contents(query string, args ...any) error {
	var ids []int64
	if err := d.each(query, func(r *rows) { ids = append(ids, r.integer(0)) }, args...); err != nil {
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
