package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/oriel-context/oriel/timeline"
)

// Errors caused by the file's environment.
var (
	// ErrFull: the disk or the quota is full.
	ErrFull = timeline.ErrFull
	// ErrNone: there is no history to open.
	ErrNone = timeline.ErrNone
	// ErrReadOnly: the folder or the file is read-only.
	ErrReadOnly = timeline.ErrReadOnly
	// ErrBusy: another process held the lock of the history for more than ten
	// seconds.
	ErrBusy = timeline.ErrBusy
	// ErrLogGone: somebody deleted the log of the history while it was open
	// (see Store.LogGone), and no connection is left to read with.
	ErrLogGone = errors.New("its log was deleted or replaced")
)

// Error is a failure with its place and a hint; Path is that of the database.
type Error = timeline.StoreError

const (
	hintDamaged  = "see what is whole with `oriel verify`, or put a backup in its place; the file was left as it is"
	hintForeign  = "it is not a history of Oriel: choose another data folder, or move the file away"
	hintNewer    = "use the version of Oriel that wrote it, or a later one; the file was left as it is"
	hintReadOnly = "make the folder and the files in it writable for this user, or choose another data folder"
	hintNone     = "choose another data folder, or begin a history with `oriel import`"
	hintEmpty    = "it is an empty file and no history: remove it, or put a backup in its place; `oriel import` makes a history of it"
	hintLog      = "its log can only be read where files can be made beside it: make the folder writable for this user, or copy oriel.db and oriel.db-wal to one that is"
	hintLogGone  = "a running server saves it within seconds; end other programs that have the history open"
	hintMoved    = "try again: somebody who may write to it does so, and this user cannot share its log"
	hintFull     = "make room on that disk; what was stored is whole, and writing goes on as soon as there is space"
	hintDisk     = "look into the system's log, and whether a quota is used up; then run `oriel verify`"
	hintBusy     = "find the process that holds it, such as a backup or a shell with an open transaction"
)

// explain turns an error of SQLite or the file system into one with a hint for
// people. Other errors of timeline, and those of contexts, are returned
// unchanged.
func explain(op, path string, err error) error {
	var known *Error
	var se *sqlite.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &se):
		return &Error{Op: op, Path: path, Err: fmt.Errorf("%w: %w", kind(se.Code()), err), Hint: hint(kind(se.Code()))}
	case errors.Is(err, timeline.ErrDamaged):
		return &Error{Op: op, Path: path, Err: err, Hint: hintDamaged}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &Error{Op: op, Path: path, Err: fmt.Errorf("%w: %w", ErrReadOnly, err), Hint: hintReadOnly}
	case errors.Is(err, syscall.ENOSPC):
		return &Error{Op: op, Path: path, Err: fmt.Errorf("%w: %w", ErrFull, err), Hint: hintFull}
	}
	return err
}

var (
	errDisk   = errors.New("the disk failed")
	errSQLite = errors.New("SQLite failed")
)

func kind(code int) error {
	switch code & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		return timeline.ErrDamaged
	case sqlite3.SQLITE_FULL:
		return ErrFull
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return ErrBusy
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH:
		return ErrReadOnly
	case sqlite3.SQLITE_IOERR:
		// If the log's index cannot grow, a full disk appears as an I/O error.
		if code == sqlite3.SQLITE_IOERR_SHMSIZE {
			return ErrFull
		}
		return errDisk
	}
	return errSQLite
}

func hint(kind error) string {
	switch kind {
	case timeline.ErrDamaged:
		return hintDamaged
	case ErrFull:
		return hintFull
	case ErrBusy:
		return hintBusy
	case ErrReadOnly:
		return hintReadOnly
	case errDisk:
		return hintDisk
	}
	return ""
}

// isBusy reports whether trying again may help.
func isBusy(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && kind(se.Code()) == ErrBusy
}
