package sqlite

import (
	"context"
	"time"
)

// Pragma asks the connection that writes for a setting.
func (s *Store) Pragma(name string) (n int64) {
	n, _, _ = s.write.number("PRAGMA " + name)
	return n
}

// SetFail has fail called at the points of every transaction.
func (s *Store) SetFail(fail func(point string)) { s.write.fail = fail }

// SetClock has deleted bytes cleared by another clock.
func (s *Store) SetClock(now func() time.Time, pause func(context.Context, time.Duration) error) {
	s.write.clock = clock{now, pause}
}
