package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/oriel-context/oriel/timeline"
)

// Backup implements timeline.Store. The copy is a consistent snapshot and can
// replace oriel.db as it is.
func (s *Store) Backup(ctx context.Context, path string) error {
	// SQLite could take a relative name for a URI.
	path, err := filepath.Abs(path)
	if err != nil {
		return explain("back up to", path, err)
	}
	c, err := s.own(ctx)
	if err != nil {
		return explain("back up", s.path, err)
	}
	return errors.Join(s.backup(ctx, c, path), c.shut())
}

// own opens a connection for the caller alone, for work that ctx may
// interrupt.
func (s *Store) own(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, timeline.ErrClosed
	}
	return s.openReader()
}

func (s *Store) backup(ctx context.Context, c *conn, path string) (err error) {
	// SQLite writes into an existing empty file. Creating it first sets its
	// mode, and fails if somebody else has created it.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &Error{Op: "back up to", Path: path, Err: err,
			Hint: "choose another name, or remove the file: a backup is never overwritten"}
	}
	if err != nil {
		return explain("back up to", path, err)
	}
	defer func() {
		if err = explain("back up to", path, errors.Join(err, f.Close())); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	// VACUUM INTO writes a file, which query_only forbids.
	if err := c.run("PRAGMA query_only=0"); err != nil {
		return err
	}
	vacuum, err := c.prepare("VACUUM INTO ?")
	if err != nil {
		return err
	}
	if _, err := vacuum.ExecContext(ctx, vacuum.bind([]any{path})); err != nil {
		return fmt.Errorf("copy %s: %w", s.path, err)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
