package pgtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Disk is a file system of a server that NewSmall returned.
type Disk string

const (
	DataDisk Disk = "data" // tables
	LogDisk  Disk = "wal"  // the write-ahead log
)

// NewSmall creates a database whose tables and whose write-ahead log are each on a file
// system in memory of so many bytes. Only root can do so.
func NewSmall(size int64, settings ...string) (*Server, error) {
	s, err := place(settings)
	if err != nil {
		return nil, err
	}
	for _, d := range []Disk{DataDisk, LogDisk} {
		err = errors.Join(err, s.mount(filepath.Join(s.dir, string(d)), size))
	}
	if err == nil {
		err = s.initialise("--waldir", filepath.Join(s.dir, string(LogDisk)), "--wal-segsize", "1")
	}
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *Server) mount(dir string, size int64) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		return fmt.Errorf("mount a file system of %d bytes: %w", size, err)
	}
	s.mounts = append(s.mounts, dir)
	if s.user == nil {
		return nil
	}
	return os.Chown(dir, int(s.user.Uid), int(s.user.Gid))
}

func (s *Server) unmount() (err error) {
	for _, dir := range s.mounts {
		err = errors.Join(err, syscall.Unmount(dir, syscall.MNT_DETACH))
	}
	s.mounts = nil
	return err
}

func (s *Server) filler(d Disk) string { return filepath.Join(s.dir, string(d), "filler") }

// Fill leaves no byte on a file system.
func (s *Server) Fill(d Disk) error {
	f, err := os.Create(s.filler(d))
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 1<<16); len(block) > 0; {
		n, err := f.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC) || errors.Is(err, io.ErrShortWrite):
			if n == 0 {
				block = block[:len(block)/2]
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// MakeRoom undoes Fill.
func (s *Server) MakeRoom(d Disk) error { return os.Remove(s.filler(d)) }
