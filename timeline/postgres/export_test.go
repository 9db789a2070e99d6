package postgres

// SetFail has fail called at the points of every transaction.
func (s *Store) SetFail(fail func(point string)) { s.fail = fail }

// Deaf reports whether the store cannot hear of changes.
func (s *Store) Deaf() bool { return s.deaf.Load() }

var ErrUntrusted = errUntrusted
