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

// applicationID marks a SQLite file as Oriel's: "Orie".
const applicationID = 0x4f726965

// version is the version of the format: the number of the last file in
// migrations.
const version = 3

// busyTimeout is how long a store waits for another process.
const busyTimeout = 10 * time.Second

// goneTimeout is how long Open retries if a lock file, which other processes
// create and remove, cannot be opened.
const goneTimeout = time.Second

// making serialises the creation and migration of files in this process. Other
// processes wait for the SQLite lock. Within a process that lock does not
// suffice: a process that opens a locked file again and closes it loses the
// lock.
var making sync.Mutex

// ready makes sure that a history of our version exists at path.
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
	return upgrade(ctx, path)
}

// inspect returns the version of the file without writing to it, or 0 if it is
// missing, empty or unfinished. It reads through SQLite alone; see making.
func inspect(path string) (int64, error) {
	switch size := exists(path); {
	case size <= 0 && exists(path+"-wal") > 0:
		return 0, &Error{Op: "open", Path: path,
			Err:  fmt.Errorf("%w: its log exists, but the file itself is missing or empty", timeline.ErrDamaged),
			Hint: hintDamaged}
	case size <= 0:
		return 0, nil
	}
	// An interrupted creation leaves a journal, which a reader must first roll
	// back.
	if exists(path+"-journal") > 0 {
		if _, err := readVersion(path, settled); errors.Is(err, errForeign) {
			return 0, err // not ours to roll back
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

// isSettled reports whether nobody has the file open and no log is left.
// SQLite can then read it without creating one.
func isSettled(path string) bool { return exists(path+"-wal") <= 0 && exists(path+"-shm") < 0 }

// settled is the mode that opens a file that nobody writes to, without creating
// other files.
const settled = "mode=ro&immutable=1"

var errForeign = errors.New("it is not a history of Oriel")

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
	if err := errors.Join(err, c.shut()); err != nil {
		return 0, err
	}
	switch {
	case exists(path)%page != 0:
		// SQLite itself would read the missing bytes as zeros.
		return 0, &Error{Op: "open", Path: path, Err: fmt.Errorf("%w: its end is missing", timeline.ErrDamaged),
			Hint: hintDamaged}
	case id != applicationID:
		return 0, &Error{Op: "open", Path: path, Err: fmt.Errorf("%w: %w", timeline.ErrDamaged, errForeign),
			Hint: hintForeign}
	case found > version:
		return 0, &Error{Op: "open", Path: path, Err: fmt.Errorf("%w: %d, this program knows %d", timeline.ErrNewer,
			found, version), Hint: hintNewer}
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

// exists returns the size of a file, or -1 if there is none.
func exists(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// upgrade creates the file or migrates it to our version. Processes take
// turns: the lock is an empty SQLite file beside it, which is removed
// afterwards. A process that finds the work done does nothing, even if the
// lock that it waited for has been removed.
func upgrade(ctx context.Context, path string) error {
	unlock, err := lock(ctx, path+"-lock")
	if err != nil {
		return err
	}
	err = upgradeLocked(ctx, path)
	return errors.Join(err, unlock(err == nil))
}

func upgradeLocked(ctx context.Context, path string) error {
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
	defer c.shut()
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
		return fmt.Errorf("migrate the history to version %d: %w", version, err)
	}
	return syncDir(filepath.Dir(path))
}

// create creates an empty file that only its owner can read, if there is none.
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

// lock creates a SQLite file and waits for its exclusive lock.
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
						_ = os.Remove(path) // somebody else may have done so
					}
					return c.shut()
				}, nil
			}
			err = errors.Join(err, c.shut())
		}
		// Other processes may remove the file between the two steps and create
		// it again. SQLite reports that with various errors.
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

// syncDir makes the names in a folder durable, if the system supports it.
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
