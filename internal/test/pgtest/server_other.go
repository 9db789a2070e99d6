//go:build !unix

package pgtest

import (
	"errors"
	"testing"
)

// Server is a PostgreSQL server of this process; there is none on this system.
type Server struct{}

// New returns an error.
func New(...string) (*Server, error) {
	return nil, errors.New("a server can be started on Unix only")
}

// StartTLS skips the test.
func StartTLS(t testing.TB) (url, roots, others string) {
	t.Skip("!! SKIPPED: a server can be started on Unix only")
	return "", "", ""
}

// NewStandby returns an error.
func NewStandby(*Server) (*Server, error) {
	return nil, errors.New("a server can be started on Unix only")
}

func (s *Server) Start() error            { return nil }
func (s *Server) Follow(*Server) error    { return nil }
func (s *Server) Promote() error          { return nil }
func (s *Server) Synchronous(bool) error  { return nil }
func (s *Server) Execute(...string) error { return nil }
func (s *Server) Running() bool           { return false }
func (s *Server) Kill()                   {}
func (s *Server) Crash()                  {}
func (s *Server) Halt()                   {}
func (s *Server) Stop()                   {}
func (s *Server) Socket() string          { return "" }
func (s *Server) URL() string             { return "" }
func (s *Server) Admin() string           { return "" }
