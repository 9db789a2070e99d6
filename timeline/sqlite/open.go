package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// applicationID marks a SQLite file as ours: "Orie".
const applicationID = 0x4f726965

// version is that of the format: the number of the last file in migrations.
const version = 1

// busyTimeout is how long one waits for another process.
const busyTimeout = 10 * time.Second

// goneTimeout is how long a lock that others make and remove may fail to open.
const goneTimeout = time.Second

// making is held by who makes or migrates a file, one at a time in this process.
// Others wait for its SQLite lock; but a process that opens a locked file once more
// and closes that loses the lock, so that within it this is what excludes.
var making sync.Mutex

// ready makes sure that there is a history of our version at path.
func ready(ctx context.Context, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	found, err := inspect(path)
	if err != nil || found == version {
		return err
	}
	making.Lock()
	defer making.Unlock()
	return migrate(ctx, path)
}

// inspect returns the version of the file without writing to it: 0 for one that is
// missing, empty or unfinished. It reads through SQLite alone: see making.
func inspect(path string) (int64, error) {
	switch size := exists(path); {
	case size <= 0 && exists(path+"-wal") > 0:
		return 0, &Error{"open", path, fmt.Errorf("%w: its log is there, but the file itself is gone or empty", timeline.ErrDamaged), hintDamaged}
	case size <= 0:
		return 0, nil
	}
	// A journal is left when the making of the file was cut short; who reads then
	// must first undo that.
	if exists(path+"-journal") > 0 {
		if _, err := readVersion(path, settled); errors.Is(err, errForeign) {
			return 0, err // not ours to undo
		}
		return readVersion(path, "mode=rw")
	}
	if isSettled(path) {
		found, err := readVersion(path, settled)
		if err == nil || isSettled(path) {
			return found, err
		}
		// Somebody has opened it meanwhile.
	}
	return readVersion(path, "mode=ro")
}

// isSettled reports whether nobody has the file open and no log is left. SQLite need
// not make one then in order to read.
func isSettled(path string) bool { return exists(path+"-wal") <= 0 && exists(path+"-shm") < 0 }

// settled opens a file that nobody writes to, and makes no other beside it.
const settled = "mode=ro&immutable=1"

var errForeign = errors.New("it is no history of Oriel")

func readVersion(path, mode string) (int64, error) {
	c, err := connect(path, mode)
	if err != nil {
		return 0, err
	}
	id, found, err := storedVersion(c)
	page := int64(1)
	if err == nil && mode == settled {
		page, _, err = c.number("PRAGMA page_size")
	}
	if err := errors.Join(err, c.close()); err != nil {
		return 0, err
	}
	switch {
	case exists(path)%page != 0:
		// SQLite itself would take the missing bytes for zeros.
		return 0, &Error{"open", path, fmt.Errorf("%w: its end is missing", timeline.ErrDamaged), hintDamaged}
	case id != applicationID:
		return 0, &Error{"open", path, fmt.Errorf("%w: %w", timeline.ErrDamaged, errForeign), hintForeign}
	case found > version:
		return 0, &Error{"open", path, fmt.Errorf("%w: %d, this program knows %d", timeline.ErrNewer, found, version), hintNewer}
	}
	return found, nil
}

func storedVersion(c *conn) (id, found int64, err error) {
	if err := c.run("PRAGMA busy_timeout=10000"); err != nil {
		return 0, 0, err
	}
	if id, _, err = c.number("PRAGMA application_id"); err != nil {
		return 0, 0, err
	}
	_, is, err := c.number("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version'")
	if err != nil || !is {
		return id, 0, err
	}
	found, _, err = c.number("SELECT max(version_id) FROM goose_db_version WHERE is_applied")
	return id, found, err
}

// exists returns the size of a file, -1 where there is none.
func exists(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// migrate makes the file, or brings it to our version. Processes take turns at it:
// the lock is that of an empty SQLite file beside it, which goes when all is done.
// Who finds the work done, be it behind a lock that is gone by name, does nothing.
func migrate(ctx context.Context, path string) error {
	unlock, err := lock(ctx, path+"-lock")
	if err != nil {
		return err
	}
	err = migrateLocked(ctx, path)
	return errors.Join(err, unlock(err == nil))
}

func migrateLocked(ctx context.Context, path string) error {
	found, err := inspect(path)
	if err != nil || found == version {
		return err
	}
	if err := create(path); err != nil {
		return err
	}
	c, err := connect(path, "mode=rw")
	if err != nil {
		return err
	}
	defer c.close()
	for _, pragma := range []string{
		"PRAGMA busy_timeout=10000",
		"PRAGMA synchronous=NORMAL",
		fmt.Sprintf("PRAGMA application_id=%d", applicationID),
		"PRAGMA journal_mode=WAL",
	} {
		if err := c.run(pragma); err != nil {
			return err
		}
	}
	db := sql.OpenDB(connector{path})
	defer db.Close()
	if err := up(ctx, db); err != nil {
		return fmt.Errorf("bring the history to version %d: %w", version, err)
	}
	return syncDir(filepath.Dir(path))
}

// create makes an empty file that only its owner can read, where there is none.
// SQLite gives its log the same mode.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// lock waits for the exclusive lock of a SQLite file, which it makes.
func lock(ctx context.Context, path string) (unlock func(remove bool) error, err error) {
	for start := time.Now(); ; {
		if err := create(path); err != nil {
			return nil, err
		}
		c, err := connect(path, "mode=rw")
		if err == nil {
			if err = c.run("BEGIN EXCLUSIVE"); err == nil {
				return func(remove bool) error {
					if remove && runtime.GOOS != "windows" {
						_ = os.Remove(path) // somebody else may have
					}
					return c.close()
				}, nil
			}
			err = errors.Join(err, c.close())
		}
		// It can be gone between the two steps, when others are done, and be there
		// anew by now: what SQLite says of that is no one error.
		patience := busyTimeout
		if !isBusy(err) {
			patience = goneTimeout
		}
		if time.Since(start) > patience {
			return nil, err
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// syncDir makes the names in a folder durable, where the system can.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
