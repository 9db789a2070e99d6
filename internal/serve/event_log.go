package serve

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
	"github.com/oriel-context/oriel/internal/term/lines"
)

// eventLog writes events to a file or a pipe, one line of JSON each. A full
// file is renamed to NAME.1, replacing the previous one of that name, and a
// new one begins, so that both together are bounded. It is safe for concurrent
// use.
//
// Events wait in a bounded queue, so that no call waits for a disk or for the
// reader of a pipe. Events that find it full are dropped and counted; an event
// of kind oriel.EventDropped reports their number.
type eventLog struct {
	file  *rotatingFile
	queue *lines.Writer
}

// ErrEvents is the error for a file of events that cannot be opened.
var ErrEvents = errors.New("open the file of events")

// maxEvents is the most bytes of a file of events.
const maxEvents = 64 << 20

// openEventLog opens or creates the file. Because events name conversations,
// only its owner may read it: a file that others may read is made private, or
// rejected if that fails. Lines are appended. most is the size limit in bytes;
// 0 means 64 MB.
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

// droppedEvents returns the event that reports how many are missing.
func droppedEvents(n int64) []byte {
	line, _ := json.Marshal(oriel.Event{Time: time.Now(), Kind: oriel.EventDropped, Items: int(n)})
	return append(line, '\n')
}

// Write queues an event. It never waits.
func (f *eventLog) Write(e oriel.Event) {
	line, err := json.Marshal(e)
	if err != nil { // a cost that is not a number
		line, _ = json.Marshal(oriel.Event{Time: e.Time, Kind: e.Kind, Call: e.Call, Error: err.Error()})
	}
	f.queue.Write(append(line, '\n'))
}

// Dropped returns how many events were dropped.
func (f *eventLog) Dropped() int64 { return f.queue.Dropped() }

// Close waits at most wait for the last events to be written, and returns an
// error if some were dropped. It may be called twice.
func (f *eventLog) Close(wait time.Duration) error {
	return errors.Join(f.queue.Close(wait), f.file.Close())
}

// rotatingFile is the file behind the queue. Only the queue's goroutine writes
// to it. That goroutine may still run when Close has returned; it opens,
// creates or renames nothing from then on.
type rotatingFile struct {
	path string
	most int64
	size int64

	mu     sync.Mutex // protects the fields below: Close may run during a write that is stuck
	file   *os.File
	closed bool
}

// open opens the file. The caller holds mu, or is alone.
func (f *rotatingFile) open() error {
	file, err := openToAppend(f.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEvents, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 && info.Mode()&fs.ModeDevice == 0 {
		err = fmt.Errorf("%w: %s is not a file", ErrEvents, f.path)
	}
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err = file.Chmod(0o600); err != nil {
			err = fmt.Errorf("%w: others may read %s, and this cannot be changed: name another file: %w", ErrEvents,
				f.path, err)
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

// openToAppend opens a path for appending. It also opens a named pipe that
// nobody reads yet: a later reader finds what fits into it.
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

// ready returns a file with room for the given number of bytes, or an error
// once it is closed.
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

// turn renames the file; the next line begins a new one. The caller holds mu.
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
