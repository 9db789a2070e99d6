package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
)

// write is what is written of a call to the store: by the process that had the call, or
// by one that found it in a spool.
type write struct {
	id, tenant, conversation string
	// before identifies the messages that precede history; the first asked of those
	// are the request's, the others the reply's.
	before  []timeline.Hash
	history timeline.History
	asked   int
	change  timeline.Change // goes with the request
	entry   entry           // without its Forms
	top     contents        // of the entry
	size    *timeline.Record
	began   time.Time
	ended   time.Time // when the call ended
	store   timeline.Store
	stored  *timeline.Snapshot // what the call has read of the conversation; nil: nothing
	// plans returns the plans to store; at is nil if it is not known what the store has.
	// planned is called with each that is stored; it may be nil.
	plans   func(at *timeline.Appended) ([]plan.Stored, error)
	planned func(*plan.Plan)
	// written is called with what the store has then; it may be nil.
	written func(*timeline.Appended)
	// patient is set if neither anybody nor another call waits for this one to be stored.
	patient bool
	// again is set if the call may have been written before. The store is then asked.
	again bool
	// who, if set, is the record of a conversation that was begun without the store; see
	// thread.Homeless.
	who *timeline.Record
}

// errWritten: the store has the call.
var errWritten = errors.New("the call is stored")

// writeTo writes the call. It may be called again after an error.
func (w *write) writeTo(ctx context.Context, log *timeline.Log) error {
	own := *w
	err := own.appendTo(ctx, log)
	if errors.Is(err, timeline.ErrNoPlace) { // somebody deleted what goes before
		own.entry.Before, own.entry.Head, own.before = 0, 0, nil
		err = own.appendTo(ctx, log)
	}
	if errors.Is(err, errWritten) {
		return nil
	}
	return err
}

func (w *write) appendTo(ctx context.Context, log *timeline.Log) error {
	var plans []plan.Stored
	done, err := log.AppendThen(ctx, w.tenant, w.conversation, w.before, w.history, w.asked, w.change,
		func(at *timeline.Appended) (change timeline.Change, err error) {
			if err := w.checkNew(ctx); err != nil {
				return change, err
			}
			change = timeline.Change{Now: w.ended, Stay: w.change.Stay || w.passed(at), Patient: w.patient}
			if change.Stay && at.Updated.After(change.Now) {
				change.Now = at.Updated // by this the next one that is late sees how far the head is
			}
			if plans, err = w.plans(at); err != nil {
				return change, err
			}
			for i := range plans {
				change.Drop = append(change.Drop, plan.DecisionKey(plans[i].ID))
			}
			change.Put, change.Contents, err = w.records(at, plans)
			return change, err
		})
	if err != nil {
		return err
	}
	for i := range plans {
		if w.planned != nil {
			w.planned(plans[i].Plan)
		}
	}
	if w.written != nil {
		w.written(&done)
	}
	return nil
}

// checkNew returns errWritten if the store has the call. The log has read the revision of
// the conversation before, and the change expects it, so nobody can write the call between
// this and the change.
func (w *write) checkNew(ctx context.Context) error {
	if !w.again {
		return nil
	}
	found, err := w.store.Records(ctx, w.tenant, w.conversation, "call", w.id)
	switch {
	case errors.Is(err, timeline.ErrNoConversation):
		return nil
	case err == nil && len(found) > 0:
		return errWritten
	}
	return err
}

// passed reports whether the conversation, as the change finds it, has gone further since
// the call ended: then its head stays where it is. Another server may have written later
// calls while this one waited.
func (w *write) passed(at *timeline.Appended) bool {
	return at.Updated.After(w.ended) && at.Head.Depth >= int64(len(w.before)+w.history.Len())
}

// records are those of a call whose request ends at a place, and of its plans, with their
// contents.
func (w *write) records(at *timeline.Appended,
	plans []plan.Stored) (records []timeline.Record, raw [][]byte, err error) {
	e := w.entry
	e.Forms = at.Forms.String()
	records, raw = make([]timeline.Record, 1, len(plans)+2), slices.Clip(w.top.raw)
	for i := range plans {
		p := &plans[i]
		p.At = at.Place(int64(p.Covers))
		records, raw = append(records, p.Record()), append(raw, p.Raw...)
	}
	if w.size != nil {
		records = append(records, *w.size)
	}
	records[0] = timeline.Record{Kind: "call", Key: w.id, At: at.Place(int64(at.Forms.Len())), Time: w.began,
		Contents: w.top.hashes}
	records[0].Data, err = json.Marshal(&e)
	return records, raw, err
}

// Pauses before a call that could not be written is tried again, where there is no spool.
var pauses = []time.Duration{100 * time.Millisecond, time.Second, 0}

// save writes a call to the store or, if the store does not accept it, to the spool. Without
// a spool it tries again: a store may be locked or full for a while.
func (r *Engine) save(w *write) (spooled bool, err error) {
	if r.spool != nil {
		return r.spool.save(w)
	}
	for _, pause := range pauses {
		if err = r.try(w, r.o.Waits.Write); err == nil || pause == 0 || isFinal(err) ||
			errors.Is(err, timeline.ErrClosed) {
			break
		}
		time.Sleep(pause)
	}
	return false, err
}

// try writes a call to the store and notes whether that worked.
func (r *Engine) try(w *write, wait time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(r.working, wait)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: a panic while writing: %v", timeline.ErrInvalid, p)
		}
		if err == nil {
			r.lastError.Store(nil)
		} else {
			r.lastError.Store(&err)
		}
	}()
	own := w
	if w.who != nil {
		if own, err = w.atHome(ctx, r.index); err != nil {
			return err
		}
	}
	if own.stored != nil {
		r.log.Know(ctx, own.stored)
	}
	err = own.writeTo(ctx, r.log)
	if err == nil && w.who != nil {
		r.index.Settle(w.tenant, w.conversation, own.conversation)
	}
	return err
}

// isFinal reports whether a call that could not be written never can be.
func isFinal(err error) bool { return errors.Is(err, timeline.ErrInvalid) }

// atHome returns a call that was begun without the store as one of the conversation that it
// belongs to. The call itself stays as it is: the next try may find another one.
func (w *write) atHome(ctx context.Context, index *thread.Index) (*write, error) {
	h := &thread.Homeless{Tenant: w.tenant, Conversation: w.conversation, Record: *w.who}
	for i := range w.asked {
		h.Identities = append(h.Identities, w.history.Identity(i))
	}
	if w.again {
		h.Written = timeline.Key{Kind: "call", Key: w.id}
	}
	home, err := index.FindHome(ctx, h)
	if err != nil {
		return nil, err
	}
	own := *w
	own.change.Put = slices.DeleteFunc(slices.Clone(w.change.Put),
		func(r timeline.Record) bool { return r.Kind == w.who.Kind && r.Key == w.who.Key })
	if home == w.conversation {
		own.change.Put = append(own.change.Put, *w.who)
		return &own, nil
	}
	own.conversation, own.entry.Thread, own.stored = home, thread.Continued, nil
	own.change.Project, own.change.Continues = "", ""
	return &own, nil
}
