package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// reopener is the history of a running server. If somebody deletes or replaces
// its file, the next change opens the file that exists then, or a new one. If
// only its log was deleted, the server saves the log's contents and opens the
// history again. It keeps trying to open a history that cannot be opened;
// meanwhile the history is empty and accepts no changes, and views are made
// from memory.
type reopener struct {
	path string // of the file
	open func(context.Context) (timeline.Store, error)
	log  *slog.Logger

	stop    context.CancelFunc
	stopped chan struct{}

	opening sync.Mutex // held while the history is being opened

	mu     sync.Mutex // protects the fields below
	now    *opened
	broken error     // why the history is not open
	lost   int       // how often the file was deleted or replaced
	saved  int       // how often only the log was
	begun  time.Time // when the current file replaced a lost one
}

// opened is a history that was opened at some time. It is closed once it is
// replaced and no longer used.
type opened struct {
	store  timeline.Store
	real   bool  // store is not a stand-in
	file   files // store, or nil for one that has none
	number int64
	// The holder of opening owns the fields below: whether it was reported
	// that the file or log is gone and that the log cannot be saved yet, and
	// whether the log was saved.
	told, toldUnsaved, saved bool

	users   int
	retired bool

	looking sync.Mutex // protects the fields below
	looked  time.Time  // when stateAfterWrite looked last
	seen    state      // what it saw
}

// files is a history in files, which somebody may delete. A database has none.
type files interface {
	FileGone() bool
	LogGone() bool
	CloseSaved(ctx context.Context) error
	// Written returns when the last change was written.
	Written() time.Time
}

var _ files = (*sqlite.Store)(nil)

// state is the state of the files of a history.
type state int

const (
	whole    state = iota
	fileGone       // the file was deleted or replaced
	logGone        // the file exists, but its log does not
)

func (o *opened) state() state {
	switch {
	case o.file == nil:
		return whole
	case o.file.FileGone():
		return fileGone
	case o.file.LogGone():
		if o.file.FileGone() { // it was deleted between the two looks
			return fileGone
		}
		return logGone
	}
	return whole
}

// stateAfterWrite returns a state at some time since the last change was written. Changes
// that were written together share one look at the files.
func (o *opened) stateAfterWrite() state {
	written := o.file.Written()
	o.looking.Lock()
	defer o.looking.Unlock()
	if !o.looked.After(written) || o.seen != whole {
		o.looked = time.Now()
		o.seen = o.state()
	}
	return o.seen
}

var _ timeline.Store = (*reopener)(nil)

// newReopener opens the history. err reports whether that worked.
func newReopener(ctx context.Context, path string, open func(context.Context) (timeline.Store, error), log *slog.Logger,
	ticks <-chan time.Time) *reopener {
	r := &reopener{path: path, open: open, log: log, stopped: make(chan struct{})}
	r.now = r.try(ctx, 0)
	watching, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() {
		defer close(r.stopped)
		for {
			select {
			case <-watching.Done():
				return
			case <-ticks:
				r.look(watching)
			}
		}
	}()
	return r
}

// try opens the history or creates its stand-in, and sets broken.
func (r *reopener) try(ctx context.Context, number int64) *opened {
	store, err := r.open(ctx)
	r.setBroken(err)
	if err != nil {
		return &opened{store: unrecorded{memory.New(), err}, number: number}
	}
	file, _ := store.(files)
	return &opened{store: store, real: true, file: file, number: number}
}

func (r *reopener) setBroken(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
}

// err returns why the history is not open, or nil.
func (r *reopener) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// health returns what is wrong with the history now, or nil.
func (r *reopener) health(ctx context.Context) error {
	if err := r.err(); err != nil {
		return err
	}
	o := r.use()
	defer r.done(o)
	switch o.state() {
	case fileGone:
		return errors.New("the file of the history was deleted or replaced, and no call came since: the next one goes into the file that is there then, or a new one")
	case logGone:
		return errors.New("the log of the history, oriel.db-wal or oriel.db-shm, was deleted or replaced: the server is about to save what it had")
	}
	if _, err := o.store.Conversation(ctx, timeline.Local, "?"); !errors.Is(err, timeline.ErrNoConversation) {
		return err
	}
	return nil
}

// look reports once that the file is gone, saves the contents of a deleted
// log, and tries to open a history that is not open.
func (r *reopener) look(ctx context.Context) {
	r.opening.Lock()
	defer r.opening.Unlock()
	o := r.use()
	defer r.done(o)
	switch o.state() {
	case fileGone:
		r.tellGone(o)
	case logGone:
		r.save(ctx, o) // save logs its failures
	}
	if o.real || o.retired {
		return
	}
	if next := r.try(ctx, o.number+1); next.real {
		r.replace(next)
		r.log.Warn("the history can be opened now: calls are recorded, and those that waited", "file", r.path)
	}
}

func (r *reopener) tellGone(o *opened) {
	if !o.told {
		o.told = true
		r.log.Error("the file of the history was deleted or replaced while it was in use: what it had is lost, and the next call goes into the file that is there then, or a new one", "file", r.path)
	}
}

// save saves the contents of the deleted log of a history and opens the
// history again. It reports whether it could save them. The caller holds
// opening and uses o, which is not retired.
//
// Every process that has the history open must leave the old log before one of
// them begins a new one, because pages of both do not fit together. So save
// closes the store first, and opening it waits until the others have closed
// theirs. Reads fail meanwhile.
func (r *reopener) save(ctx context.Context, o *opened) bool {
	if !o.told {
		o.told = true
		r.log.Error("the log of the history, oriel.db-wal or oriel.db-shm, was deleted or replaced while it was in use: the server saves what it had into oriel.db", "file", r.path)
	}
	if err := o.file.CloseSaved(ctx); err != nil {
		if !o.toldUnsaved {
			o.toldUnsaved = true
			r.log.Error("what the deleted log of the history had cannot be saved yet: it is tried again, and lost if the server is killed before", "file", r.path, "error", err)
		}
		return false
	}
	o.saved = true
	next := r.try(ctx, o.number+1)
	r.mu.Lock()
	r.saved++
	r.mu.Unlock()
	r.replace(next)
	if !next.real {
		r.log.Error("what the deleted log of the history had is saved, but the history cannot be opened again: calls wait on disk until it can", "file", r.path, "error", r.err())
	} else {
		r.log.Warn("what the deleted log of the history had is saved, and a new log was begun", "file", r.path)
	}
	return true
}

// restore opens the history again if its file or its log is gone. The caller
// uses o; err is the result of that use. saved reports that the log was gone
// and that the changes made are in the file.
func (r *reopener) restore(ctx context.Context, o *opened, err error) (was state, saved bool) {
	if o.file == nil {
		return whole, false
	}
	// A saved history is closed. Its files prove nothing then, because new
	// files may have the numbers of the old ones.
	if err == nil {
		was = o.stateAfterWrite()
	} else {
		was = o.state()
	}
	if was == whole && !errors.Is(err, timeline.ErrClosed) {
		return was, false
	}
	r.opening.Lock()
	defer r.opening.Unlock()
	switch {
	case o.saved:
		return logGone, true // another caller did it meanwhile
	case o.retired, was == whole:
		return was, false
	case was == logGone:
		return was, r.save(ctx, o)
	}
	r.tellGone(o)
	next := r.try(ctx, o.number+1)
	r.mu.Lock()
	r.lost++
	r.begun = time.Now()
	r.mu.Unlock()
	r.replace(next)
	if !next.real {
		r.log.Error("the history cannot be opened again: calls wait on disk until it can", "file", r.path, "error",
			r.err())
	}
	return was, false
}

// replace makes another history the current one.
func (r *reopener) replace(next *opened) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.retired = true // its last user closes it
	r.now = next
}

// use returns the current history, until done.
func (r *reopener) use() *opened {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.users++
	return r.now
}

func (r *reopener) done(o *opened) {
	r.mu.Lock()
	o.users--
	unused := o.users == 0 && o.retired
	r.mu.Unlock()
	if unused {
		o.store.Close() // errors about deleted files help nobody
	}
}

// Apply implements timeline.Store. A change that went to a deleted file, or
// that failed because of it, returns timeline.ErrChanged: repeated, it goes
// into the new file.
func (r *reopener) Apply(ctx context.Context, tenant string, c timeline.Change) (applied timeline.Applied, err error) {
	err = r.change(ctx, func(s timeline.Store) (err error) {
		applied, err = s.Apply(ctx, tenant, c)
		return err
	})
	if err != nil {
		return timeline.Applied{}, err
	}
	return applied, nil
}

// change makes a change. It checks the files once, afterwards: a change is
// acknowledged only if its files still have their names, or after their loss
// was reported.
func (r *reopener) change(ctx context.Context, do func(timeline.Store) error) error {
	for {
		o := r.use()
		err := do(o.store)
		was, saved := r.restore(ctx, o, err)
		r.done(o)
		if was == fileGone {
			if err := r.err(); err != nil {
				return err
			}
			return fmt.Errorf("%w: its file was deleted", timeline.ErrChanged)
		}
		if err == nil || !saved {
			return err
		}
		// The history was closed in order to be saved. It is open again, or
		// its stand-in reports why not.
	}
}

// Changed implements timeline.Store. Another file counts as another history.
func (r *reopener) Changed(ctx context.Context) (number int64, err error) {
	err = r.read(ctx, func(o *opened) error {
		n, err := o.store.Changed(ctx)
		number = o.number<<32 + n
		return err
	})
	return number, err
}

// Close implements timeline.Store. It reports again what happened to the file.
func (r *reopener) Close() error {
	r.stop()
	<-r.stopped
	r.opening.Lock()
	defer r.opening.Unlock()
	r.mu.Lock()
	o := r.now
	again := o.retired
	o.retired = true
	r.mu.Unlock()
	if again {
		return nil
	}
	if o.state() == logGone {
		r.saveLast(o)
	}
	if what := r.trouble(); what != "" {
		r.log.Error(what, "file", r.path)
	}
	return o.store.Close()
}

// saveLast saves the contents of the deleted log of a history when the server
// ends.
func (r *reopener) saveLast(o *opened) {
	if err := o.file.CloseSaved(context.Background()); err != nil {
		r.log.Error("the log of the history was deleted or replaced while it was in use, and what it had could not be saved", "file", r.path, "error", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved++
}

// trouble returns what the user must know about the history at the end, or "".
func (r *reopener) trouble() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.broken != nil:
		return fmt.Sprintf("the history could not be opened to the end: its calls wait on disk for the next server: %v",
			r.broken)
	case r.now.state() == fileGone:
		return "the file of the history was deleted while it was in use, and no call came since: there is no history"
	case r.lost > 0:
		return fmt.Sprintf("the file of the history was deleted or replaced while it was in use; what there is now was recorded since %s", r.begun.Format(time.TimeOnly))
	case r.saved > 0:
		return "the log of the history was deleted or replaced while it was in use; what it had was saved"
	}
	return ""
}

// unrecorded is the stand-in for a history that is not open: it is empty and
// accepts nothing.
type unrecorded struct {
	timeline.Store
	why error
}

func (u unrecorded) Apply(context.Context, string, timeline.Change) (timeline.Applied, error) {
	return timeline.Applied{}, fmt.Errorf("%w: %w", timeline.ErrClosed, u.why)
}

// Token implements timeline.Store. Nobody can say which tokens there are.
func (u unrecorded) Token(context.Context, timeline.TokenHash) (timeline.AccessToken, error) {
	return timeline.AccessToken{}, fmt.Errorf("%w: %w", timeline.ErrClosed, u.why)
}

// Tokens implements timeline.Store like Token.
func (u unrecorded) Tokens(context.Context) ([]timeline.AccessToken, error) {
	return nil, fmt.Errorf("%w: %w", timeline.ErrClosed, u.why)
}
