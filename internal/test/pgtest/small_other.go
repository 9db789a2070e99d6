//go:build !linux

package pgtest

import "errors"

// Disk is a file system of a server that NewSmall returned.
type Disk string

const (
	DataDisk Disk = "data" // tables
	LogDisk  Disk = "wal"  // the write-ahead log
)

// NewSmall returns an error.
func NewSmall(size int64, settings ...string) (*Server, error) {
	return nil, errors.New("a small file system can be made on Linux only")
}

func (s *Server) unmount() error      { return nil }
func (s *Server) Fill(Disk) error     { return nil }
func (s *Server) MakeRoom(Disk) error { return nil }
