package spool

import (
	"bytes"
)

// CrashForTest gives up the files as the death of the process does.
func CrashForTest(s *Spool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, g := range s.segments {
		g.file.Close()
	}
}

// File is what a spool writes to.
type File = file

// FilesForTest has files made by another function until the test ends.
func FilesForTest(cleanup func(func()), wrap func(File) File) {
	old := openFile
	openFile = func(path string) (file, error) {
		f, err := old(path)
		if err != nil {
			return nil, err
		}
		return wrap(f), nil
	}
	cleanup(func() { openFile = old })
}

// ScanForTest reads a file's bytes and returns the entries that are whole.
func ScanForTest(data []byte) (all []Entry, size int64, err error) {
	c, err := scan(bytes.NewReader(data), int64(len(data)))
	g := segment{file: readOnly{Reader: bytes.NewReader(data)}, contents: c}
	for _, at := range c.entries {
		e, bad := g.entry(at)
		if bad != nil {
			panic(bad) // scan has looked
		}
		all = append(all, e)
	}
	return all, c.size, err
}

type readOnly struct {
	*bytes.Reader
	file
}

func (r readOnly) ReadAt(p []byte, at int64) (int, error) { return r.Reader.ReadAt(p, at) }
