package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// The log of the history is oriel.db-wal, with its index oriel.db-shm.
// Deleting one of them while it is open removes only its name: processes that
// have it open continue with it, and the next process to open the history
// would begin a second log beside it. Pages of two logs do not fit together,
// so no store begins a log while another process has one open; see awaitLog. A
// store whose log has lost its name can still write it back; see CloseSaved.

// logSuffixes are the suffixes of the log's files.
var logSuffixes = [...]string{"-wal", "-shm"}

// opened holds the files of a history as they were when it was opened.
type opened struct {
	file    os.FileInfo
	logBase string // prefix of the names of the log's files
	log     [len(logSuffixes)]os.FileInfo
}

// logBase returns the prefix of the names of the log's files. SQLite keeps
// them beside the file that a link points to.
func logBase(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

func findOpened(path string) (o opened, err error) {
	if o.file, err = os.Stat(path); err != nil {
		return opened{}, err
	}
	o.logBase = logBase(path)
	for i, suffix := range logSuffixes {
		if o.log[i], err = os.Stat(o.logBase + suffix); err != nil {
			return opened{}, err
		}
	}
	return o, nil
}

// gone reports whether the file at path was deleted or replaced since info was
// read. A file that cannot be examined counts as present.
func gone(path string, info os.FileInfo) bool {
	now, err := os.Stat(path)
	// If somebody replaced a folder by a file, the error is ENOTDIR.
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !os.SameFile(now, info)
}

// FileGone reports whether somebody deleted, moved or replaced the history's
// file while the store has it open.
func (s *Store) FileGone() bool { return s.opened.file != nil && gone(s.path, s.opened.file) }

// LogGone reports whether somebody deleted or replaced the log of the history,
// oriel.db-wal or oriel.db-shm, while the store has it open. What the store
// then writes is lost with its process, unless CloseSaved saves it.
func (s *Store) LogGone() bool {
	for i, info := range s.opened.log {
		if info != nil && gone(s.opened.logBase+logSuffixes[i], info) {
			return true
		}
	}
	return false
}

// Written returns when the last change was written, before it is reported as such.
func (s *Store) Written() time.Time {
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	return s.write.written
}

// logWait is how long opening waits for processes that have a deleted log
// open. Servers notice it within seconds.
const logWait = 30 * time.Second

// awaitLog waits until a log of the history can be opened. If both of its
// files exist, all processes that have the history open use that log. If one
// is missing, either no process has the history open, or the file was deleted
// under one that has. The exclusive lock of the history's file decides: SQLite
// grants it in the first case only.
func awaitLog(ctx context.Context, path string) error {
	base := logBase(path)
	for start := time.Now(); ; {
		// A history whose creation was interrupted has a journal and no log
		// yet.
		if exists(base) <= 0 || exists(base+"-journal") >= 0 || exists(base+"-wal") >= 0 && exists(base+"-shm") >= 0 {
			return nil
		}
		if !isBusy(lockAlone(base)) {
			return nil // opening the file reports any other problem
		}
		err := pause(ctx, 5*time.Millisecond)
		if err == nil && time.Since(start) > logWait {
			err = context.DeadlineExceeded
		}
		if err != nil {
			return &Error{Op: "open", Path: path,
				Err:  fmt.Errorf("%w: its log was deleted while that process had it open: %w", ErrBusy, err),
				Hint: hintLogGone}
		}
	}
}

// lockAlone takes and releases the exclusive lock of the file. SQLite takes it
// before it creates a log.
func lockAlone(path string) error {
	c, err := connect(path, "mode=rw")
	if err != nil {
		return err
	}
	if err = c.run("PRAGMA locking_mode=EXCLUSIVE"); err == nil {
		_, _, err = c.number("SELECT count(*) FROM sqlite_schema")
	}
	return errors.Join(err, c.shut())
}

// saveWait is how long CloseSaved waits for readers.
const saveWait = 100 * time.Millisecond

// CloseSaved writes everything in the log into the history's file and closes
// the store. It also works for a log that LogGone reports. If it cannot, for
// instance because somebody reads an older state, it returns an error and the
// store stays open.
func (s *Store) CloseSaved(ctx context.Context) error {
	w := &s.write
	err := w.perform(&task{ctx: ctx, alone: func() error {
		if err := w.saveLog(ctx); err != nil {
			return err
		}
		return s.shutWriter() // no change can come between
	}})
	if err != nil && !errors.Is(err, timeline.ErrClosed) {
		return explain("save", s.path, err)
	}
	return s.Close()
}

// saveLog writes the log back into the file and empties it. No transaction may
// be open.
func (w *writer) saveLog(ctx context.Context) error {
	start := w.clock.now()
	for delay := 2 * time.Millisecond; ; delay = min(2*delay, 50*time.Millisecond) {
		var busy, frames, saved int64
		if _, err := w.one("PRAGMA wal_checkpoint(TRUNCATE)",
			func(r *rows) { busy, frames, saved = r.integer(0), r.integer(1), r.integer(2) }); err != nil {
			return err
		}
		// The counts are -1 while another process writes the log back.
		if busy == 0 || frames >= 0 && saved == frames {
			return nil
		}
		if w.clock.now().Sub(start) > saveWait {
			return fmt.Errorf("%w: another reader uses an older state", ErrBusy)
		}
		if err := w.clock.pause(ctx, delay); err != nil {
			return err
		}
	}
}
