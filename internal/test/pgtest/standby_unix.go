//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// NewStandby starts a standby of a primary, which streams its changes to it.
func NewStandby(primary *Server) (*Server, error) {
	s, err := place(primary.settings)
	if err != nil {
		return nil, err
	}
	if err := s.Follow(primary); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// Follow replaces the data of a server that has ended, or never began, by a copy of a
// primary's, and starts it as a standby.
func (s *Server) Follow(primary *Server) error {
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	if err := s.program("pg_basebackup", "-D", s.data(), "-R", "-X", "stream", "-c", "fast", "-h", primary.dir, "-U",
		"postgres"); err != nil {
		return err
	}
	return s.Start()
}

// Promote makes a standby the primary.
func (s *Server) Promote() error { return s.program("pg_ctl", "promote", "-D", s.data(), "-w") }

// Synchronous makes commits wait until a standby has them, from now on or no longer. It
// returns when there is such a standby.
func (s *Server) Synchronous(on bool) error {
	names := "''"
	if on {
		names = "'*'"
	}
	if err := s.Execute("SET synchronous_commit = local", "ALTER SYSTEM SET synchronous_standby_names = "+names,
		"SELECT pg_reload_conf()"); err != nil || !on {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.Admin())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for found := 0; found == 0; time.Sleep(20 * time.Millisecond) {
		if err := c.QueryRow(ctx,
			"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'").Scan(
			&found); err != nil {
			return fmt.Errorf("wait for a synchronous standby: %w", err)
		}
	}
	return nil
}
