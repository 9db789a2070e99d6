package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/lines"
)

// eventLog writes events to a file or a pipe, a line of JSON each. When a file is full,
// it becomes NAME.1, in the place of the last one of that name, and a new one begins: both
// together are bounded. It is safe for concurrent use.
//
// Events wait in a bounded queue, so that no call waits for a disk or for the reader of a
// pipe. Those that find it full are dropped and counted; an event of kind oriel.EventDropped has
// their number.
type eventLog struct {
	file  *rotatingFile
	queue *lines.Writer
}

// maxEvents is the most bytes of a file of events.
const maxEvents = 64 << 20

// openEventLog opens the file, or makes it. Since events name conversations, the file is for
// its owner alone: one that others may read is made private, or refused where that cannot
// be. Lines are added to what is there. most is how many bytes it may have, 0 for 64 MB.
func openEventLog(path string, most int64) (*eventLog, error) {
	if most == 0 {
		most = maxEvents
	}
	file := &rotatingFile{path: path, most: most}
	if err := file.open(); err != nil {
		return nil, err
	}
	return &eventLog{file, lines.New(file, lines.Options{Note: droppedEvents})}, nil
}

// droppedEvents is the event that reports how many are missing.
func droppedEvents(n int64) []byte {
	line, _ := json.Marshal(oriel.Event{Time: time.Now(), Kind: oriel.EventDropped, Items: int(n)})
	return append(line, '\n')
}

// Write queues an event. It never waits.
func (f *eventLog) Write(e oriel.Event) {
	line, err := json.Marshal(e)
	if err != nil { // a cost that is no number
		line, _ = json.Marshal(oriel.Event{Time: e.Time, Kind: e.Kind, Call: e.Call, Error: err.Error()})
	}
	f.queue.Write(append(line, '\n'))
}

// Dropped returns how many events were dropped.
func (f *eventLog) Dropped() int64 { return f.queue.Dropped() }

// Close waits at most that long for the last events to be written, and returns an error
// where some were dropped. It may be called twice.
func (f *eventLog) Close(wait time.Duration) error {
	return errors.Join(f.queue.Close(wait), f.file.Close())
}

// rotatingFile is the file behind the queue, whose goroutine alone writes to it. That may be
// at work still when Close has returned: nothing is opened, made or renamed from then on.
type rotatingFile struct {
	path string
	most int64
	size int64

	mu     sync.Mutex // protects what follows: Close may meet a write that is stuck
	file   *os.File
	closed bool
}

// open opens the file. The caller holds mu, or is alone.
func (f *rotatingFile) open() error {
	file, err := openToAppend(f.path)
	if err != nil {
		return fmt.Errorf("open the file of events: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 && info.Mode()&fs.ModeDevice == 0 {
		err = fmt.Errorf("open the file of events: %s is no file", f.path)
	}
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err = file.Chmod(0o600); err != nil {
			err = fmt.Errorf("open the file of events: others may read %s, and this cannot be changed: name another file: %w", f.path, err)
		}
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size = file, 0
	if info.Mode().IsRegular() {
		f.size = info.Size()
	}
	return nil
}

// openToAppend opens a path for adding to it. A named pipe that nobody reads yet is opened
// all the same: who reads it later finds what fits into it.
func openToAppend(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, syscall.ENXIO) {
			return os.OpenFile(path, os.O_RDWR, 0)
		}
		return file, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Write adds a line.
func (f *rotatingFile) Write(line []byte) (int, error) {
	file, err := f.ready(int64(len(line)))
	if err != nil {
		return 0, err
	}
	n, err := file.Write(line)
	f.size += int64(n)
	return n, err
}

// ready returns the file that has room for so many bytes, or an error once it is closed.
func (f *rotatingFile) ready(bytes int64) (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fs.ErrClosed
	}
	if f.size > 0 && f.size+bytes > f.most {
		if err := f.turn(); err != nil {
			return nil, err
		}
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return nil, err
		}
	}
	return f.file, nil
}

// turn puts the file aside; the next line begins a new one. The caller holds mu.
func (f *rotatingFile) turn() error {
	err := f.file.Close()
	f.file, f.size = nil, 0
	return errors.Join(err, os.Rename(f.path, f.path+".1"))
}

// Close may be called twice.
func (f *rotatingFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
