//go:build !fuzz

package importer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Copies are files of these names in temporary folders.
const (
	copyFolder = "oriel-import-"
	copyName   = "copy.db"
)

// A database is copied again, after a pause, if somebody wrote to it meanwhile.
const (
	copies    = 10
	copyPause = 50 * time.Millisecond
)

// errWritten: a database changed while it was copied.
var errWritten = errors.New("it is written to all the time: end the program that writes it first, then import it again")

// copyDatabase copies a database with its log, which programs leave behind, to a temporary
// folder, and moves the log into the copy. done removes the copy.
func copyDatabase(ctx context.Context, path string) (to string, done func(), err error) {
	removeOldCopies(time.Now())
	dir, err := os.MkdirTemp("", copyFolder)
	if err != nil {
		return "", nil, err
	}
	done = func() { os.RemoveAll(dir) }
	to = filepath.Join(dir, copyName)
	err = copyAtRest(ctx, path, to)
	for n := 1; n < copies && errors.Is(err, errWritten); n++ {
		select {
		case <-time.After(copyPause):
			err = copyAtRest(ctx, path, to)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		err = mergeLog(ctx, to)
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return to, done, nil
}

// copyAtRest copies a database and its log. It returns errWritten if one of them changed
// meanwhile other than by an addition to the log.
func copyAtRest(ctx context.Context, from, to string) error {
	before := stateOf(from)
	if err := copyFile(ctx, from, to); err != nil {
		return err
	}
	err := copyFile(ctx, from+"-wal", to+"-wal")
	if errors.Is(err, fs.ErrNotExist) { // no log, or none any more
		err = os.RemoveAll(to + "-wal")
	}
	if err == nil && before != stateOf(from) {
		return errWritten
	}
	return err
}

// state is what changes if a database changes other than by an addition to its log.
type state struct {
	size, modified int64
	head           [100]byte // with a counter of changes
	log            [32]byte  // its head; zero if there is no log
}

func stateOf(path string) (s state) {
	if info, err := os.Stat(path); err == nil {
		s.size, s.modified = info.Size(), info.ModTime().UnixNano()
	}
	readHead(path, s.head[:])
	readHead(path+"-wal", s.log[:])
	return s
}

// readHead reads the beginning of a file, as far as there is one.
func readHead(path string, head []byte) {
	if f, err := openRegular(path); err == nil {
		_, _ = io.ReadFull(f, head)
		f.Close()
	}
}

// openRegular opens a file. Pipes, which could make it wait, are as good as missing.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return os.Open(path)
}

// copyBlock is how much is copied between two looks at the context.
const copyBlock = 4 << 20

func copyFile(ctx context.Context, from, to string) error {
	in, err := openRegular(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(out, in, copyBlock)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, out.Close())
}

// mergeLog moves the log of a copied database into its file.
func mergeLog(ctx context.Context, path string) error {
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		return nil
	}
	db, err := sql.Open("sqlite", databaseURI(path, "mode=rw"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// oldCopy is the age at which nobody reads a copy any more.
const oldCopy = 24 * time.Hour

// removeOldCopies removes the copies that killed imports of this user left behind. It
// removes nothing else, whatever such a folder contains.
func removeOldCopies(now time.Time) {
	entries, _ := os.ReadDir(os.TempDir())
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), copyFolder) {
			continue
		}
		info, err := e.Info()
		if err != nil || !ours(info) || now.Sub(info.ModTime()) < oldCopy {
			continue
		}
		dir := filepath.Join(os.TempDir(), e.Name())
		for _, end := range []string{"", "-wal", "-shm", "-journal"} {
			os.Remove(filepath.Join(dir, copyName+end))
		}
		os.Remove(dir)
	}
}
