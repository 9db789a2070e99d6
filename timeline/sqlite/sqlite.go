package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/internal/codec"
)

// Sync selects which failures an acknowledged change survives.
type Sync int

const (
	// Normal, the default, survives the death of the process at any moment. A
	// power failure may lose the last moments, but never the file.
	Normal Sync = iota
	// Full also survives a power failure. A commit waits for the disk.
	Full
)

// Options configures a store. The zero value is useful.
type Options struct {
	// Sync selects which failures an acknowledged change survives. Default:
	// Normal.
	Sync Sync
	// MustExist makes Open fail with ErrNone if there is no history yet,
	// instead of creating one.
	MustExist bool
	// ReadOnly implies MustExist, and makes all changes fail with ErrReadOnly.
	// Open then creates, migrates and clears nothing. It also works in a
	// folder that this user cannot write to, as long as nobody else writes to
	// the history meanwhile (otherwise ErrBusy) and no log without its index
	// is left beside it (otherwise ErrReadOnly).
	ReadOnly bool
}

// Store is a timeline.Store over a data folder.
type Store struct {
	path string // of the database
	sync Sync
	// readOnly is Options.ReadOnly. fixed is set if the file is read as one
	// without writers, because no log can be created beside it.
	readOnly bool
	fixed    os.FileInfo
	opened   opened // empty if fixed is set
	codec    *codec.Codecs
	write    writer

	mu     sync.Mutex // protects all below
	closed bool
	idle   []*conn // connections for reading
}

var _ timeline.Store = (*Store)(nil)

// fileName is the name of the database in the data folder.
const fileName = "oriel.db"

// Open opens the history in a data folder, and creates both if they are
// missing. It returns timeline.ErrDamaged for a file that is damaged or not
// Oriel's, and timeline.ErrNewer for one of a newer version; it writes to
// neither. Open checks the head of the file, not every page: reading and
// Verify find damage in the middle. Open makes the history's files private,
// and also a folder that belongs to this user and contains only files of
// Oriel. While another process has the history open with a log that somebody
// deleted, Open waits, and fails with ErrBusy after half a minute.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	s := &Store{path: path, sync: o.Sync, readOnly: o.ReadOnly, codec: codec.New()}
	if o.ReadOnly || o.MustExist {
		if err := there(path); err != nil {
			return nil, explain("open", path, err)
		}
	}
	for start := time.Now(); ; {
		err := s.open(ctx)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, ErrLogGone) || ctx.Err() != nil || time.Since(start) > logWait {
			return nil, explain("open", path, err)
		}
		// Somebody deleted the log while it was being opened.
	}
}

func (s *Store) open(ctx context.Context) error {
	if err := awaitLog(ctx, s.path); err != nil {
		return err
	}
	if s.readOnly {
		return s.openReadOnly()
	}
	if err := ready(ctx, s.path); err != nil {
		return err
	}
	makePrivate(s.path)
	return s.openWriter()
}

// refuse returns the error of a change to a read-only store.
func (s *Store) refuse(op string) error {
	return &Error{Op: op, Path: s.path, Err: fmt.Errorf("%w: it was opened for reading", ErrReadOnly)}
}

// maxIdle is how many connections for reading are kept; each holds a page
// cache.
const maxIdle = 8

// reader returns a connection for reading. Their number is not limited, so
// that a visit that reads again never waits for itself.
func (s *Store) reader(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, timeline.ErrClosed
	}
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	return s.openReader()
}

// openReader opens a connection for reading. It fails if somebody deleted the
// log: the connection would begin a new one.
func (s *Store) openReader() (*conn, error) {
	if s.LogGone() {
		return nil, &Error{Op: "read", Path: s.path, Err: ErrLogGone, Hint: hintLogGone}
	}
	mode := "mode=rw"
	if s.fixed != nil {
		mode = settled
	}
	c, err := connect(s.path, mode)
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{"PRAGMA busy_timeout=10000", "PRAGMA query_only=1", "PRAGMA cache_size=-4000"} {
		if err := c.run(pragma); err != nil {
			return nil, errors.Join(err, c.shut())
		}
	}
	return c, nil
}

// release returns a connection to the pool. A failed connection is not used again.
func (s *Store) release(c *conn, failed bool) error {
	s.mu.Lock()
	if !failed && !s.closed && len(s.idle) < maxIdle {
		s.idle = append(s.idle, c)
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	return c.shut()
}

// view runs read on a snapshot of the history.
func (s *Store) view(ctx context.Context, read func(*conn) error) error {
	c, err := s.reader(ctx)
	if err != nil {
		return explain("read", s.path, err)
	}
	if _, err := c.exec("BEGIN"); err != nil {
		return explain("read", s.path, errors.Join(err, s.release(c, true)))
	}
	err = read(c)
	_, end := c.exec("ROLLBACK")
	err = errors.Join(err, s.release(c, end != nil))
	if moved := s.moved(); moved != nil {
		return moved // whether or not reading succeeded
	}
	return explain("read", s.path, err)
}

// Close implements timeline.Store. It waits for running changes.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	idle := s.idle
	s.idle = nil
	s.mu.Unlock()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.shut())
	}
	errs = append(errs, s.closeWriter())
	s.codec.Free()
	return explain("close", s.path, errors.Join(errs...))
}
