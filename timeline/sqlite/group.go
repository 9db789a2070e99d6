package sqlite

import (
	"context"
	"errors"
	"runtime"
	"time"

	"modernc.org/sqlite"

	"github.com/oriel-context/oriel/timeline"
)

// task is work for the writer.
type task struct {
	ctx context.Context
	// do makes a change within a transaction that others share.
	do func() error
	// alone does anything that needs the connection without a transaction.
	alone func() error
	err   error
	// wake is told once: that it is done, or that the connection is now the
	// task's own to lead with.
	wake chan bool
}

// perform has a task done, together with others where there are any. It returns
// ctx's error only where nothing was done.
func (w *writer) perform(t *task) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return timeline.ErrClosed
	}
	if w.busy {
		t.wake = make(chan bool, 1)
		w.queue = append(w.queue, t)
		w.mu.Unlock()
		if !w.wait(t) {
			return t.err
		}
	} else {
		w.busy = true
		w.mu.Unlock()
	}
	w.lead(t)
	return t.err
}

// wait waits for a task to be done (false) or to lead (true).
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
	return <-t.wake // it has been taken: its end must be known
}

// maxGroup is how many changes are committed together at most, so that the first
// of them need not wait for ever.
const maxGroup = 256

// lead does t and what others ask for meanwhile, then hands on.
func (w *writer) lead(t *task) {
	var done []*task
	if t.alone != nil {
		t.err = t.alone()
	} else {
		done = w.transaction(t)
		w.clearLater()
	}
	w.mu.Lock()
	var next *task
	if len(w.queue) > 0 {
		next = w.queue[0]
		w.queue = w.queue[1:]
	} else {
		w.busy = false
	}
	w.mu.Unlock()
	if next != nil {
		next.wake <- true
	}
	for _, d := range done {
		if d != t {
			d.wake <- false
		}
	}
}

// take returns the next change in the queue that can join the transaction.
func (w *writer) take() *task {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.queue[0].alone != nil {
		return nil
	}
	t := w.queue[0]
	w.queue = w.queue[1:]
	return t
}

// transaction makes t and the changes that come meanwhile, and commits them. It
// returns all that it took, with their errors set.
func (w *writer) transaction(t *task) []*task {
	group := []*task{t}
	if t.err = w.begin(t.ctx); t.err != nil {
		return group
	}
	expected, start := w.expected(), time.Now()
	for i := 0; ; {
		for ; i < len(group); i++ {
			if !w.make(group, i) {
				w.again(group)
				return group
			}
		}
		if len(group) == maxGroup {
			break
		}
		next := w.take()
		for next == nil && len(group) < expected && time.Since(start) < patience {
			// Those of the last groups are about to come back.
			runtime.Gosched()
			next = w.take()
		}
		if next == nil {
			break
		}
		group = append(group, next)
	}
	w.last = [2]int{w.last[1], len(group)}
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

// patience is how long a group waits for those who were in the last ones: less than
// writing to the disk takes, which they would have to wait for otherwise.
const patience = 200 * time.Microsecond

// expected returns how many changes the next group can hope for: callers come in turns,
// one half while the other's changes are being committed.
func (w *writer) expected() int {
	if w.last[0] == 1 && w.last[1] == 1 {
		return 1 // one caller, or callers that never meet
	}
	return w.last[0] + w.last[1]
}

// make makes one change of a group. It reports false where that failed in a way
// that leaves the transaction unusable; the transaction is then undone.
func (w *writer) make(group []*task, i int) bool {
	t := group[i]
	if t.err = t.ctx.Err(); t.err != nil {
		return true
	}
	if t.err = t.do(); t.err == nil || refused(t.err) {
		return true
	}
	w.rollback()
	return false
}

// again makes the changes of a group whose transaction was undone each in one of
// its own, so that one that cannot be made takes no other with it.
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
		if t.err = t.do(); t.err != nil {
			w.rollback()
			continue
		}
		t.err = w.commit()
	}
}

// dirtyError is a failure in the middle of writing.
type dirtyError struct{ error }

func (e dirtyError) Unwrap() error { return e.error }

// refused reports whether a change failed before it wrote anything, and not because
// of SQLite, which may have ended the transaction then.
func refused(err error) bool {
	var d dirtyError
	var se *sqlite.Error
	return !errors.As(err, &d) && !errors.As(err, &se)
}
