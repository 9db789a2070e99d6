package sqlite

// SetFail has fail called at the points of every transaction.
func (s *Store) SetFail(fail func(point string)) { s.write.fail = fail }
