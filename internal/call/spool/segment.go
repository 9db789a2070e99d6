package spool

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// segment is a file of the spool, which this process has locked.
type segment struct {
	path string
	file file
	contents
	done    int // entries that need not come back
	numbers map[[sha256.Size]byte]int
	// full is set if nothing more may be written to it.
	full bool
}

// file is what a segment needs of *os.File. Tests have others.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// add writes an entry and returns how many bytes that took. After an error the file is
// as before.
func (s *segment) add(e Entry, sync bool) (int64, error) {
	before, blobs := s.size, len(s.blobs)
	err := s.write(e)
	if err == nil && sync {
		err = s.file.Sync()
	}
	if err == nil {
		return s.size - before, nil
	}
	for sum, n := range s.numbers {
		if n >= blobs {
			delete(s.numbers, sum)
		}
	}
	s.blobs, s.size = s.blobs[:blobs], before
	if bad := s.file.Truncate(before); bad != nil {
		s.full = true // what was half written is behind the last entry
	}
	return 0, err
}

func (s *segment) write(e Entry) error {
	numbers := make([]int, len(e.Blobs))
	for i, b := range e.Blobs {
		sum := sha256.Sum256(b)
		n, ok := s.numbers[sum]
		if !ok {
			at, err := s.writeFrame(kindBlob, b)
			if err != nil {
				return err
			}
			n = len(s.blobs)
			s.blobs, s.numbers[sum] = append(s.blobs, at), n
		}
		numbers[i] = n
	}
	at, err := s.writeFrame(kindEntry, joinEntry(numbers, e.Meta))
	if err == nil {
		s.entries = append(s.entries, at)
	}
	return err
}

func (s *segment) writeFrame(kind byte, payload []byte) (span, error) {
	if len(payload) > maxPayload {
		return span{}, fmt.Errorf("%w: a part of %d bytes", ErrFull, len(payload))
	}
	head := appendHead(nil, kind, payload)
	if len(payload) < 64<<10 { // one write is faster than two
		head = append(head, payload...)
		payload = nil
	}
	at := s.size
	for _, b := range [][]byte{head, payload} {
		if _, err := s.file.WriteAt(b, at); err != nil {
			return span{}, err
		}
		at += int64(len(b))
	}
	made := span{s.size + frameHead, at - s.size - frameHead}
	s.size = at
	return made, nil
}

// maxPayload is the largest payload of a frame, which has 4 bytes for it.
const maxPayload = 1 << 30

// entry reads an entry.
func (s *segment) entry(at span) (e Entry, err error) {
	_, payload, _, err := readFrame(s.file, at.start(), s.size)
	if err != nil {
		return e, err
	}
	blobs, meta, err := splitEntry(payload, len(s.blobs))
	if err != nil {
		return e, err
	}
	e.Meta, e.Blobs = meta, make([][]byte, len(blobs))
	for i, n := range blobs {
		if _, e.Blobs[i], _, err = readFrame(s.file, s.blobs[n].start(), s.size); err != nil {
			return e, err
		}
	}
	return e, nil
}

// left is how many entries are to come back.
func (s *segment) left() int { return len(s.entries) - s.done }

// remove deletes the file and gives up its lock.
func (s *segment) remove() error {
	if runtime.GOOS == "windows" { // which deletes no open file
		return errors.Join(s.file.Close(), os.Remove(s.path))
	}
	return errors.Join(os.Remove(s.path), s.file.Close())
}
