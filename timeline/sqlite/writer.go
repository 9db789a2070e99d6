package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/cache"
)

// writer is the only connection that writes. A caller that finds it free takes
// it and works at once; others wait in a queue, from which the working caller
// takes all changes into its transaction before it commits. It then hands the
// connection to the first caller that came too late for that. Patient changes that
// follow a transaction closely wait in the queue, with the connection free, until
// another caller comes or a timer ends.
type writer struct {
	mu      sync.Mutex // protects the fields up to timer
	busy    bool
	closed  bool
	queue   []*task
	written time.Time   // when the last task that may change something had ended
	due     time.Time   // when patient changes have waited long enough
	timer   *time.Timer // wakes them; nil while none wait

	// The fields below belong to the caller that has the connection.
	*conn
	file sqlite.FileControl
	// seen is SQLite's change counter for the state that the caches of this
	// process hold.
	seen  uint32
	epoch int64
	last  [2]int // number of changes in each of the last two transactions

	tenants       *cache.Cache[string, int64]
	contents      *cache.Cache[contentKey, int64]
	tips          *cache.Cache[int64, tip]
	conversations *cache.Cache[conversationKey, *conversation]

	// uncleared is the mark of deleted bytes that are still in the files, or
	// 0; tried is when clearing was last tried, and gaveUp when a deletion
	// last waited in vain.
	uncleared     int64
	tried, gaveUp time.Time
	clock         clock

	// locked is set while a transaction is open that has already seen the
	// changes of others: none can come then.
	locked atomic.Bool
	// foreign counts changes by others and deletions, for Changed.
	foreign atomic.Int64

	// fail is called at the points of a transaction where tests end the
	// process.
	fail func(point string)
}

type contentKey struct {
	tenant int64
	hash   timeline.Hash
}

type conversationKey struct {
	tenant int64
	name   string
}

// tip is the last message of a trunk, as cached by the writer.
type tip struct {
	tenant int64
	depth  int64
	// before is the chain of the message before it. follows: that one is on the trunk, too.
	before  timeline.Hash
	follows bool
	chain   timeline.Hash
	says    timeline.Hash
	forms   []timeline.Hash // hashes of all of its forms
}

// conversation is a conversation, as cached by the writer.
type conversation struct {
	id                 int64
	head               timeline.Place
	revision           int64
	created            int64
	project, continues string
	// used is conversation_trunk: the deepest used or passed place of every
	// trunk.
	used map[int64]int64
}

// openWriter opens the connection for writing.
func (s *Store) openWriter() error {
	c, err := connect(s.path, "mode=rw")
	if err != nil {
		return err
	}
	w := &s.write
	w.conn = c
	level := "NORMAL"
	if s.sync == Full {
		level = "FULL"
	}
	for _, pragma := range []string{
		"PRAGMA busy_timeout=10000",
		"PRAGMA foreign_keys=1",
		"PRAGMA secure_delete=1",
		"PRAGMA synchronous=" + level,
		"PRAGMA journal_mode=WAL",
		"PRAGMA journal_size_limit=67108864",
		"PRAGMA cache_size=-16000",
		"PRAGMA temp_store=MEMORY",
		// Fail now, not at the first change, if the file cannot be written to.
		"BEGIN IMMEDIATE",
		"UPDATE setting SET value = value",
		"ROLLBACK",
		// From here on the writer waits itself, for as long as the caller's
		// context allows.
		"PRAGMA busy_timeout=0",
	} {
		if err := c.run(pragma); err != nil {
			return errors.Join(err, c.shut())
		}
	}
	var ok bool
	if w.file, ok = c.Conn.(sqlite.FileControl); !ok {
		return errors.Join(fmt.Errorf("the SQLite driver's %T lacks a required method", c.Conn), c.shut())
	}
	w.prepare()
	// Others may have left bytes to clear; do not wait for a change.
	if _, err := c.exec("BEGIN"); err != nil {
		return errors.Join(err, c.shut())
	}
	err = w.refresh()
	_, end := c.exec("ROLLBACK")
	if err := errors.Join(err, end); err != nil {
		return errors.Join(err, c.shut())
	}
	w.clearLater()
	if s.opened, err = findOpened(s.path); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrLogGone, err), c.shut())
	}
	return nil
}

// openWatcher opens a connection that only looks for changes of others.
func (s *Store) openWatcher() error {
	c, err := s.openReader()
	if err != nil {
		return err
	}
	w := &s.write
	w.conn = c
	var ok bool
	if w.file, ok = c.Conn.(sqlite.FileControl); !ok {
		return errors.Join(fmt.Errorf("the SQLite driver's %T lacks a required method", c.Conn), c.shut())
	}
	w.prepare()
	return nil
}

func (w *writer) prepare() {
	w.clock = clock{time.Now, pause}
	w.tenants = cache.New[string, int64](1 << 10)
	w.contents = cache.New[contentKey, int64](1 << 14)
	w.tips = cache.New[int64, tip](1 << 12)
	w.conversations = cache.New[conversationKey, *conversation](1 << 10)
}

// begin opens a transaction that may write, and forgets what others have
// changed.
func (w *writer) begin(ctx context.Context) error {
	start := time.Now()
	for delay := 50 * time.Microsecond; ; delay = min(2*delay, 10*time.Millisecond) {
		_, err := w.exec("BEGIN IMMEDIATE")
		if err == nil {
			break
		}
		if !isBusy(err) || time.Since(start) > busyTimeout {
			return err
		}
		if err := pause(ctx, delay); err != nil {
			return err
		}
	}
	if err := w.refresh(); err != nil {
		w.rollback()
		return err
	}
	w.locked.Store(true)
	return nil
}

// refresh forgets what may have changed since this process last wrote. A
// transaction must be open, or must have just ended.
func (w *writer) refresh() error {
	now, err := w.file.FileControlDataVersion("main")
	if err != nil || now == w.seen {
		return err
	}
	var epoch, uncleared int64
	if err := w.each("SELECT name, value FROM setting", func(r *rows) {
		switch r.text(0) {
		case "epoch":
			epoch = r.integer(1)
		case "uncleared":
			uncleared = r.integer(1)
		}
	}); err != nil {
		return err
	}
	w.conversations.Reset()
	w.tips.Reset()
	if epoch != w.epoch {
		w.contents.Reset()
	}
	w.epoch, w.uncleared, w.seen = epoch, uncleared, now
	w.foreign.Add(1)
	return nil
}

func (w *writer) commit() error {
	w.locked.Store(false)
	if _, err := w.exec("COMMIT"); err != nil {
		w.rollback()
		return err
	}
	var err error
	if w.seen, err = w.file.FileControlDataVersion("main"); err != nil {
		w.forget() // it is committed nevertheless
	}
	return nil
}

// rollback rolls back the transaction, whose changes may be in the caches.
func (w *writer) rollback() {
	w.locked.Store(false)
	_, _ = w.exec("ROLLBACK") // SQLite has often done so already
	w.forget()
	w.seen = 0 // makes refresh read epoch and mark again
}

// forget empties the caches.
func (w *writer) forget() {
	w.tenants.Reset()
	w.contents.Reset()
	w.tips.Reset()
	w.conversations.Reset()
}

func (w *writer) point(name string) {
	if w.fail != nil {
		w.fail(name)
	}
}

// Changed implements timeline.Store.
func (s *Store) Changed(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	w := &s.write
	w.mu.Lock()
	if !w.closed && w.busy && w.locked.Load() {
		// Our own transaction excludes all others, and has looked.
		defer w.mu.Unlock()
		return w.foreign.Load(), nil
	}
	w.mu.Unlock()
	waiting, cancel := context.WithTimeout(ctx, changedWait)
	defer cancel()
	err := w.perform(&task{ctx: waiting, beside: true, alone: func() error {
		if _, _, err := w.number("PRAGMA data_version"); err != nil {
			return err
		}
		return w.refresh()
	}})
	if waiting.Err() != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return w.foreign.Add(1), nil // it has waited for another process, which may have changed something
	}
	return w.foreign.Load(), explain("read", s.path, err)
}

// changedWait is the longest that Changed waits for a transaction of this process, which may
// wait for another process itself.
const changedWait = 50 * time.Millisecond

// closeWriter waits for its turn and closes the connection, unless CloseSaved
// did.
func (s *Store) closeWriter() error {
	err := s.write.perform(&task{ctx: context.Background(), alone: s.shutWriter})
	if errors.Is(err, timeline.ErrClosed) {
		return nil
	}
	return err
}

// shutWriter rejects all later changes and closes the connection, which the
// caller has.
func (s *Store) shutWriter() error {
	w := &s.write
	w.mu.Lock()
	w.closed = true
	rest := w.queue
	w.queue = nil
	w.mu.Unlock()
	for _, t := range rest {
		t.err = timeline.ErrClosed
		t.wake <- false
	}
	if w.uncleared != 0 && !s.readOnly {
		w.clearLog()
	}
	return w.shut()
}
