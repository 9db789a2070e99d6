package sqlite

import (
	"errors"
	"fmt"
	"os"

	"github.com/oriel-context/oriel/timeline"
)

// there returns an error if there is no history to open. It creates nothing.
func there(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &Error{Op: "open", Path: path, Err: ErrNone, Hint: hintNone}
	case err != nil:
		return err
	case info.Size() > 0, exists(path+"-wal") > 0: // inspect reports a log without a file
		return nil
	}
	return &Error{Op: "open", Path: path, Err: fmt.Errorf("%w: the file is empty", ErrNone), Hint: hintEmpty}
}

// openReadOnly opens a history of our version and writes nothing.
func (s *Store) openReadOnly() error {
	// A reader shares the log with the writers, and a writable connection does
	// that best. If that is not possible, a file without a log can be read by
	// itself.
	err := s.openAs(nil)
	if !errors.Is(explain("open", s.path, err), ErrReadOnly) {
		return err
	}
	if !isSettled(s.path) {
		return &Error{Op: "open", Path: s.path, Err: fmt.Errorf("%w: %w", ErrReadOnly, err), Hint: hintLog}
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
		return &Error{Op: "open", Path: s.path, Err: fmt.Errorf("%w: %d, which must be upgraded to %d: %w",
			timeline.ErrOlder, found, version, ErrReadOnly), Hint: hintReadOnly}
	}
	if err := s.openWatcher(); err != nil {
		return err
	}
	// Report an unreadable file now, but not damage: a caller may want to find
	// the damage, or to save the rest.
	_, _, err = s.write.number("SELECT value FROM setting WHERE name = 'epoch'")
	if err != nil && !errors.Is(explain("open", s.path, err), timeline.ErrDamaged) {
		return errors.Join(err, s.write.shut())
	}
	if fixed == nil && err == nil {
		s.opened, _ = findOpened(s.path) // a reader has nothing to save
	}
	return nil
}

// moved returns an error if another process has begun to write to a file that was opened as
// one without writers. What was read may then mix two states of the history.
func (s *Store) moved() error {
	if s.fixed == nil {
		return nil
	}
	now, err := os.Stat(s.path)
	if err == nil && isSettled(s.path) && now.Size() == s.fixed.Size() && now.ModTime().Equal(s.fixed.ModTime()) &&
		os.SameFile(now, s.fixed) {
		return nil
	}
	return &Error{Op: "read", Path: s.path, Err: fmt.Errorf("%w: it was changed while it was read", ErrBusy),
		Hint: hintMoved}
}
