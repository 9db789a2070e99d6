package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"modernc.org/sqlite"

	"github.com/oriel-context/oriel/timeline"
)

// task is work for the writer.
type task struct {
	ctx context.Context
	// do makes a change within a transaction shared with others.
	do func() error
	// alone does work that needs the connection without a transaction. It comes after
	// the changes that wait, unless beside is set.
	alone  func() error
	beside bool
	// patient changes may wait for others.
	patient bool
	err     error
	// wake receives one value: false when the task is done, true when the task
	// owns the connection and must lead.
	wake chan bool
}

// patientWait is the least time between a transaction and one of patient changes
// alone. Nobody waits for them, and a change that is committed with others costs half
// as much.
const patientWait = 5 * time.Millisecond

// perform runs a task, together with others if there are any. It returns ctx's
// error only if nothing was done.
func (w *writer) perform(t *task) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return timeline.ErrClosed
	}
	if !w.mustQueue(t) {
		w.busy = true
		w.mu.Unlock()
		w.lead(t)
		return t.err
	}
	t.wake = make(chan bool, 1)
	w.queue = append(w.queue, t)
	w.handOn()
	w.mu.Unlock()
	if w.wait(t) {
		w.lead(t)
	}
	return t.err
}

// mustQueue reports whether a task cannot have the connection at once. The caller holds
// mu.
func (w *writer) mustQueue(t *task) bool {
	switch {
	case w.busy:
		return true
	case t.patient:
		return time.Now().Before(w.due)
	case t.alone != nil && !t.beside:
		return len(w.queue) > 0
	}
	return false
}

// handOn gives the connection, if it is free, to the first task of the queue. If all of
// them are patient, it waits until they are due. The caller holds mu.
func (w *writer) handOn() {
	if w.busy || len(w.queue) == 0 {
		return
	}
	if left := time.Until(w.due); left > 0 && !slices.ContainsFunc(w.queue, func(t *task) bool { return !t.patient }) {
		if w.timer == nil {
			w.timer = time.AfterFunc(left, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.timer = nil
				w.handOn()
			})
		}
		return
	}
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	next := w.queue[0]
	w.queue = w.queue[1:]
	w.busy = true
	next.wake <- true
}

// wait waits until a task is done (false) or must lead (true).
func (w *writer) wait(t *task) (lead bool) {
	select {
	case lead = <-t.wake:
		return lead
	case <-t.ctx.Done():
	}
	w.mu.Lock()
	for i, q := range w.queue {
		if q == t {
			w.queue = append(w.queue[:i], w.queue[i+1:]...)
			w.mu.Unlock()
			t.err = t.ctx.Err()
			return false
		}
	}
	w.mu.Unlock()
	return <-t.wake // it has been taken, so wait for its result
}

// maxGroup limits the changes that are committed together, so that the first
// of them does not wait forever.
const maxGroup = 256

// lead runs t and what others ask for meanwhile, then hands the connection on.
func (w *writer) lead(t *task) {
	var done []*task
	if t.alone != nil {
		t.err = guarded(t.alone)
	} else {
		done = w.transaction(t)
		w.clearLater()
	}
	w.mu.Lock()
	w.busy = false
	if !t.beside {
		w.written = time.Now()
	}
	if t.alone == nil {
		w.due = w.written.Add(patientWait)
	}
	w.handOn()
	w.mu.Unlock()
	for _, d := range done {
		if d != t {
			d.wake <- false
		}
	}
}

// joining removes and returns the next change in the queue that can join the transaction.
func (w *writer) joining() *task {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.queue[0].alone != nil {
		return nil
	}
	t := w.queue[0]
	w.queue = w.queue[1:]
	return t
}

// transaction applies t and the changes that arrive meanwhile, and commits
// them. It returns all tasks that it took, with their errors set.
func (w *writer) transaction(t *task) []*task {
	group := []*task{t}
	if t.err = w.begin(t.ctx); t.err != nil {
		return group
	}
	expected, start := w.expected(), time.Now()
	for i := 0; ; {
		for ; i < len(group); i++ {
			if !w.applyOne(group, i) {
				w.again(group)
				return group
			}
		}
		if len(group) == maxGroup {
			break
		}
		next := w.joining()
		for next == nil && len(group) < expected && time.Since(start) < patience {
			// Callers of the last groups are about to come back.
			runtime.Gosched()
			next = w.joining()
		}
		if next == nil {
			break
		}
		group = append(group, next)
	}
	w.last = [2]int{w.last[1], urgent(group)}
	w.point("before commit")
	if err := w.commit(); err != nil {
		if len(group) == 1 {
			t.err = err
		} else {
			w.again(group)
		}
	}
	w.point("after commit")
	return group
}

// patience is how long a group waits for the callers of the last ones. It is
// less than a write to the disk, which they would otherwise have to wait for.
const patience = 200 * time.Microsecond

// expected returns how many changes the next group can expect: callers come in
// turns, one half while the changes of the other are committed.
func (w *writer) expected() int {
	if w.last[0] <= 1 && w.last[1] <= 1 {
		return 1 // one caller, or callers that never meet
	}
	return w.last[0] + w.last[1]
}

// urgent counts the changes of a group whose callers wait.
func urgent(group []*task) (n int) {
	for _, t := range group {
		if !t.patient {
			n++
		}
	}
	return n
}

// applyOne applies one change of a group. It reports false if the change failed
// and left the transaction unusable; the transaction is then rolled back.
func (w *writer) applyOne(group []*task, i int) bool {
	t := group[i]
	if t.err = t.ctx.Err(); t.err != nil {
		return true
	}
	if t.err = guarded(t.do); t.err == nil || refused(t.err) {
		return true
	}
	w.rollback()
	return false
}

// guarded returns the error of do. A panic is an error too: others wait for the connection,
// and for what their leader does for them.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = dirtyError{fmt.Errorf("%w: a panic while writing: %v", timeline.ErrInvalid, p)}
		}
	}()
	return do()
}

// again applies each change of a rolled back group in its own transaction, so
// that a failing change affects no other.
func (w *writer) again(group []*task) {
	if len(group) == 1 && group[0].err != nil {
		return
	}
	for _, t := range group {
		if t.err != nil && refused(t.err) {
			continue // for reasons that still hold
		}
		if t.err = w.begin(t.ctx); t.err != nil {
			continue
		}
		if t.err = guarded(t.do); t.err != nil {
			w.rollback()
			continue
		}
		t.err = w.commit()
	}
}

// dirtyError is a failure in the middle of writing.
type dirtyError struct{ error }

func (e dirtyError) Unwrap() error { return e.error }

// refused reports whether a change failed before it wrote anything, and not
// because of SQLite, which may have ended the transaction.
func refused(err error) bool {
	var d dirtyError
	var se *sqlite.Error
	return !errors.As(err, &d) && !errors.As(err, &se)
}
