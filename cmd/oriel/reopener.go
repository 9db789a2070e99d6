package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// reopenEvery is how often a server looks whether its history is still there, or can be
// opened now.
var reopenEvery = 2 * time.Second

// reopener is the history of a running server. When somebody has deleted or replaced its
// file, the next change opens the file that is there then, or a new one. A history that
// cannot be opened is tried again and again; meanwhile it is empty and takes no changes,
// and views are made of what is in memory.
type reopener struct {
	path string // of the file
	open func(context.Context) (timeline.Store, error)
	log  *slog.Logger

	stop    context.CancelFunc
	stopped chan struct{}

	opening sync.Mutex // held while the history is opened

	mu     sync.Mutex // protects what follows
	now    *opened
	broken error     // why the history is not open
	lost   int       // how often the file was deleted or replaced
	begun  time.Time // when the present file took the place of one that was lost
}

// opened is a history that was opened at some time. It is closed when it was replaced and
// nobody uses it any more.
type opened struct {
	store   timeline.Store
	file    os.FileInfo // nil for one that stands in for a history that is not open
	number  int64
	told    bool // that its file is gone; belongs to who holds opening
	users   int
	retired bool
}

var _ timeline.Store = (*reopener)(nil)

// newReopener opens the history; whether that worked is told by err.
func newReopener(ctx context.Context, path string, open func(context.Context) (timeline.Store, error), log *slog.Logger, ticks <-chan time.Time) *reopener {
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

// try opens the history, or makes what stands in for it, and sets broken.
func (r *reopener) try(ctx context.Context, number int64) *opened {
	store, err := r.open(ctx)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(r.path); err == nil {
			r.setBroken(nil)
			return &opened{store: store, file: info, number: number}
		}
		store.Close()
	}
	r.setBroken(err)
	return &opened{store: unrecorded{memory.New(), err}, number: number}
}

func (r *reopener) setBroken(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
}

// err tells why the history is not open; nil where it is.
func (r *reopener) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// health tells what is wrong with the history now; nil for nothing.
func (r *reopener) health(ctx context.Context) error {
	if err := r.err(); err != nil {
		return err
	}
	o := r.use()
	defer r.done(o)
	if r.gone(o) {
		return errors.New("the file of the history was deleted or replaced, and no call came since: the next one goes into the file that is there then, or a new one")
	}
	if _, err := o.store.Conversation(ctx, timeline.Local, "?"); !errors.Is(err, timeline.ErrNoConversation) {
		return err
	}
	return nil
}

// gone reports whether the file of a history was deleted, or another one is in its place.
// A file that cannot be looked at may still be there.
func (r *reopener) gone(o *opened) bool {
	if o.file == nil {
		return false
	}
	info, err := os.Stat(r.path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, o.file)
}

// look reports once that the file is gone, and tries to open a history that is not open.
func (r *reopener) look(ctx context.Context) {
	r.opening.Lock()
	defer r.opening.Unlock()
	o := r.use()
	defer r.done(o)
	if r.gone(o) {
		r.tellGone(o)
	}
	if o.file != nil || o.retired {
		return
	}
	if next := r.try(ctx, o.number+1); next.file != nil {
		r.replace(next)
		r.log.Warn("the history can be opened now: calls are recorded from here on", "file", r.path)
	}
}

func (r *reopener) tellGone(o *opened) {
	if !o.told {
		o.told = true
		r.log.Error("the file of the history was deleted or replaced while it was in use: what it had is lost, and the next call goes into the file that is there then, or a new one", "file", r.path)
	}
}

// restore opens the history again if its file is gone, and reports whether it was.
func (r *reopener) restore(ctx context.Context) bool {
	o := r.use()
	gone := r.gone(o)
	r.done(o)
	if !gone {
		return false
	}
	r.opening.Lock()
	defer r.opening.Unlock()
	o = r.use() // somebody may have done it meanwhile
	defer r.done(o)
	if o.retired || !r.gone(o) {
		return false
	}
	r.tellGone(o)
	next := r.try(ctx, o.number+1)
	r.mu.Lock()
	r.lost++
	r.begun = time.Now()
	r.mu.Unlock()
	r.replace(next)
	if next.file == nil {
		r.log.Error("the history cannot be opened again: calls go through unrecorded until it can", "file", r.path, "error", r.err())
	}
	return true
}

// replace makes another history the present one.
func (r *reopener) replace(next *opened) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.retired = true // whoever uses it last closes it
	r.now = next
}

// use takes the present history, until done.
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
		o.store.Close() // what it says of files that are gone helps nobody
	}
}

// Apply implements timeline.Store. A change that went into a file that was deleted, or
// could not be made in it, fails with timeline.ErrChanged: made again, it goes into the
// new one. The file is looked at once, afterwards, as every call comes here.
func (r *reopener) Apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	applied, err := r.apply(ctx, tenant, c)
	if !r.restore(ctx) {
		return applied, err
	}
	if err := r.err(); err != nil {
		return timeline.Applied{}, err
	}
	return timeline.Applied{}, fmt.Errorf("%w: its file was deleted", timeline.ErrChanged)
}

func (r *reopener) apply(ctx context.Context, tenant string, c timeline.Change) (timeline.Applied, error) {
	o := r.use()
	defer r.done(o)
	return o.store.Apply(ctx, tenant, c)
}

// Changed implements timeline.Store: another file is another history.
func (r *reopener) Changed(ctx context.Context) (int64, error) {
	o := r.use()
	defer r.done(o)
	n, err := o.store.Changed(ctx)
	return o.number<<32 + n, err
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
	if what := r.trouble(); what != "" {
		r.log.Error(what, "file", r.path)
	}
	return o.store.Close()
}

// trouble tells what is to be known of the history at the end; "" for nothing.
func (r *reopener) trouble() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.broken != nil:
		return fmt.Sprintf("calls went unrecorded to the end: the history could not be opened: %v", r.broken)
	case r.gone(r.now):
		return "the file of the history was deleted while it was in use, and no call came since: there is no history"
	case r.lost > 0:
		return fmt.Sprintf("the file of the history was deleted or replaced while it was in use; what there is now was recorded since %s", r.begun.Format(time.TimeOnly))
	}
	return ""
}

// unrecorded stands in for a history that is not open: it is empty and takes nothing.
type unrecorded struct {
	timeline.Store
	why error
}

func (u unrecorded) Apply(context.Context, string, timeline.Change) (timeline.Applied, error) {
	return timeline.Applied{}, fmt.Errorf("%w: %w", timeline.ErrClosed, u.why)
}
