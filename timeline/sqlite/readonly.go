package sqlite

import (
	"errors"
	"fmt"
	"os"

	"github.com/oriel-context/oriel/timeline"
)

// there makes sure that there is a history to open, of which nothing is made.
func there(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &Error{"open", path, ErrNone, hintNone}
	case err != nil:
		return err
	case info.Size() > 0, exists(path+"-wal") > 0: // inspect tells of a log alone
		return nil
	}
	return &Error{"open", path, fmt.Errorf("%w: the file is empty", ErrNone), hintEmpty}
}

// openReadOnly opens a history of our version, and writes nothing.
func (s *Store) openReadOnly() error {
	// A process that reads shares the log with those who write, and is best served
	// by a connection that could write. Where it may not, a file without a log can
	// be read by itself.
	err := s.openAs(nil)
	if !errors.Is(explain("open", s.path, err), ErrReadOnly) {
		return err
	}
	if !isSettled(s.path) {
		return &Error{"open", s.path, fmt.Errorf("%w: %w", ErrReadOnly, err), hintLog}
	}
	info, statErr := os.Stat(s.path)
	if statErr != nil {
		return err
	}
	if alone := s.openAs(info); !errors.Is(explain("open", s.path, alone), ErrReadOnly) {
		return alone
	}
	return err
}

func (s *Store) openAs(fixed os.FileInfo) error {
	s.fixed = fixed
	found, err := inspect(s.path)
	if err != nil {
		return err
	}
	if found != version {
		return &Error{"open", s.path, fmt.Errorf("%w: it is of version %d, which must be brought to %d", ErrReadOnly, found, version), hintReadOnly}
	}
	if err := s.openWatcher(); err != nil {
		return err
	}
	// What cannot be read is told now; but who wants to know what is damaged, or to
	// save the rest, must come to that.
	_, _, err = s.write.number("SELECT value FROM setting WHERE name = 'epoch'")
	if err != nil && !errors.Is(explain("open", s.path, err), timeline.ErrDamaged) {
		return errors.Join(err, s.write.close())
	}
	if fixed == nil && err == nil {
		s.opened, _ = findOpened(s.path) // who only reads saves nothing
	}
	return nil
}

// moved reports that somebody writes to a file that is read as one that nobody
// writes to: what was read may be of two states.
func (s *Store) moved() error {
	if s.fixed == nil {
		return nil
	}
	now, err := os.Stat(s.path)
	if err == nil && isSettled(s.path) && now.Size() == s.fixed.Size() && now.ModTime().Equal(s.fixed.ModTime()) && os.SameFile(now, s.fixed) {
		return nil
	}
	return &Error{"read", s.path, fmt.Errorf("%w: it was changed while it was read", ErrBusy), hintMoved}
}
