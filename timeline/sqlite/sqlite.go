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
)

// Sync is what an acknowledged change survives.
type Sync int

const (
	// Normal, the default: the death of the process at any moment. The loss of
	// power may cost the last moments, never the file.
	Normal Sync = iota
	// Full: the loss of power, too. A commit waits for the disk.
	Full
)

// Options of a store; the zero value is good.
type Options struct {
	// Sync is what an acknowledged change survives; for Normal by default.
	Sync Sync
	// MustExist has Open fail with ErrNone where there is no history yet, and not
	// make one: for those who want to change what is there.
	MustExist bool
	// ReadOnly is MustExist, and has all that changes fail with ErrReadOnly. Open
	// then makes, migrates and clears nothing, and works where nothing can be
	// written, too: in a folder that is read-only to this user, as long as nobody
	// else writes to the history meanwhile (else ErrBusy), and unless a log
	// without its index was left beside it (ErrReadOnly).
	ReadOnly bool
}

// Store is a timeline.Store over a data folder.
type Store struct {
	path string // of the database
	sync Sync
	// readOnly is Options.ReadOnly. fixed is set, at opening, where the file is
	// read as one that nobody writes to, because no log can be made beside it.
	readOnly bool
	fixed    os.FileInfo
	opened   opened // empty where fixed is set
	codec    *codecs
	write    writer

	mu     sync.Mutex // protects all below
	closed bool
	idle   []*conn // for reading
}

var _ timeline.Store = (*Store)(nil)

// fileName is the database within the data folder.
const fileName = "oriel.db"

// Open opens the history in a data folder, and makes both where they are missing.
// A file that is found to be damaged or somebody else's is timeline.ErrDamaged, one
// of a newer version timeline.ErrNewer; neither is written to. Opening looks at the
// head of the file, not at every page: damage in the middle is found by Verify, and by
// who reads it. A folder that others can look into is made private where it is this
// user's and holds nothing but files of Oriel's; the history's files are in any case.
// Open waits, and fails with ErrBusy after half a minute, while another process has the
// history open with a log that somebody deleted.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	s := &Store{path: path, sync: o.Sync, readOnly: o.ReadOnly, codec: newCodecs()}
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
		// Somebody deleted the log while it was opened.
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

// refuse returns the error of a change through a store that only reads.
func (s *Store) refuse(op string) error {
	return &Error{op, s.path, fmt.Errorf("%w: it was opened for reading", ErrReadOnly), ""}
}

// maxIdle is how many connections for reading are kept; each holds a page cache.
const maxIdle = 8

// reader takes a connection for reading. There is no limit to how many are out, so
// that who reads in a visit never waits for itself.
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

// openReader opens a connection for reading. It must not begin a log beside one whose name
// is gone.
func (s *Store) openReader() (*conn, error) {
	if s.LogGone() {
		return nil, &Error{"read", s.path, ErrLogGone, hintLogGone}
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
			return nil, errors.Join(err, c.close())
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
	return c.close()
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
		return moved // whatever came of reading it
	}
	return explain("read", s.path, err)
}

// Close implements timeline.Store. It waits for changes that are under way.
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
		errs = append(errs, c.close())
	}
	errs = append(errs, s.closeWriter())
	s.codec.close()
	return explain("close", s.path, errors.Join(errs...))
}
