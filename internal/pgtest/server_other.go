//go:build !unix

package pgtest

import "errors"

// Server is a PostgreSQL server of this process; there is none on this system.
type Server struct{}

// New returns an error.
func New(...string) (*Server, error) {
	return nil, errors.New("a server can be started on Unix only")
}

func (s *Server) Start() error  { return nil }
func (s *Server) Kill()         {}
func (s *Server) Crash()        {}
func (s *Server) Stop()         {}
func (s *Server) URL() string   { return "" }
func (s *Server) Admin() string { return "" }
