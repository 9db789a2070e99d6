package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/lines"
	"github.com/oriel-context/oriel/window"
)

// Event is something that happened to a call or its conversation (SPEC B7). What is not
// known or does not apply is left out.
type Event struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	// Call is the id that logs have; empty where no call did it.
	Call         string `json:"call,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Thread tells how the call stands to the conversation: see thread.Kind.
	Thread string `json:"thread,omitempty"`
	Model  string `json:"model,omitempty"`
	// Before and Tokens are those of the request and of what was sent of it, as
	// counted here; of a condensation those of the messages and of the summary, of a
	// resize the sizes. Reported is what the provider counted.
	Before   int `json:"tokens_before,omitempty"`
	Tokens   int `json:"tokens_after,omitempty"`
	Reported int `json:"reported,omitempty"`
	Output   int `json:"output,omitempty"`
	// Budget is what the view of a call or a cut had to fit in; Grown says why that is
	// more than the profile wishes, nil where it is not.
	Budget int            `json:"budget,omitempty"`
	Grown  *window.Growth `json:"grown,omitempty"`
	// Usage is what the provider reported of a call; nil where it did not.
	Usage *Usage `json:"usage,omitempty"`
	// Cost is what it cost beside the call itself, in US dollars.
	Cost float64 `json:"cost"`
	// Plan is the id of the plan by which something was left out, brought back or
	// condensed; Items are how many messages that is about.
	Plan  string `json:"plan,omitempty"`
	Items int    `json:"items,omitempty"`
	// Back and Left are, where pins and undone plans act, the messages that came back
	// and those that left for them, such as "24-37,40".
	Back string `json:"back,omitempty"`
	Left string `json:"left,omitempty"`
	// Error says what went wrong, where something did.
	Error string `json:"error,omitempty"`
}

// Kinds of events.
const (
	// EventCall: a call has ended and is written.
	EventCall = "call"
	// EventCut: a view was made smaller; EventCondensation: a model was asked for a
	// summary; EventResize: the adaptive size of a conversation has moved;
	// EventRecall: something was brought back on its own; EventOverflow: a provider
	// refused a request as too large.
	EventCut          = window.EventTruncation
	EventCondensation = window.EventCondensation
	EventResize       = window.EventResize
	EventRecall       = window.EventRecall
	EventOverflow     = window.EventOverflow
	// EventPin, EventUndo, EventRelease: a call minds what a person has said about
	// its conversation; with an error where there is no room for it.
	EventPin     = window.EventPin
	EventUndo    = window.EventUndo
	EventRelease = "release"
	// EventOpen: something of Oriel's own failed, and the call went on without it.
	EventOpen = "fail-open"
	// EventUnknown: a body that could not be read, or has too many messages, parts or
	// tools, was passed on as it came.
	EventUnknown = "unknown-body"
	// EventUnseen: a call went through without being recorded or cut: there was no
	// memory for its body, or that is too large, or in an unknown encoding.
	EventUnseen = "unseen"
	// EventUnkept: the answer of a call was too large or had too many parts to keep, or
	// there was no memory for it.
	EventUnkept = "unkept-answer"
	// EventProfile: a call named a profile that there is not; the default was used.
	EventProfile = "unknown-profile"
	// EventDropped: events are missing from the file, which nobody read or which could
	// not be written; Items is how many.
	EventDropped = "dropped"
)

// event tells of something: to the log, but for calls, each of which has its line, and
// to who listens.
func (r *Recorder) event(e Event) {
	e.Time = r.o.Now()
	e.Model, e.Conversation, e.Plan, e.Error = clip.To(e.Model, clip.Name), clip.To(e.Conversation, clip.Line), clip.To(e.Plan, clip.Name), clip.To(e.Error, clip.Text)
	level, what := slog.LevelInfo, e.Kind
	switch e.Kind {
	case EventCall:
		level = slog.LevelDebug
	case EventOpen:
		level, what = slog.LevelError, "something failed, and the call went on"
	case EventUnknown:
		level, what = slog.LevelWarn, "a request that could not be read went on as it came"
	default:
		if e.Error != "" {
			level = slog.LevelWarn
		}
	}
	attributes := []slog.Attr{slog.String("kind", e.Kind), slog.String("call", e.Call), slog.String("conversation", e.Conversation)}
	if e.Tokens > 0 {
		attributes = append(attributes, slog.Int("before", e.Before), slog.Int("after", e.Tokens))
	}
	if e.Plan != "" {
		attributes = append(attributes, slog.String("plan", e.Plan))
	}
	if e.Cost > 0 {
		attributes = append(attributes, slog.Float64("cost", e.Cost))
	}
	if e.Error != "" {
		attributes = append(attributes, slog.String("error", e.Error))
	}
	r.o.Log.LogAttrs(context.Background(), level, what, attributes...)
	if r.o.Events != nil {
		r.o.Events(e)
	}
}

// EventFile writes events to a file or a pipe, a line of JSON each. When a file is full,
// it becomes NAME.1, in the place of the last one of that name, and a new one begins: both
// together are bounded. It is safe for concurrent use.
//
// Events wait in a bounded queue, so that no call waits for a disk or for the reader of a
// pipe. Those that find it full are dropped and counted; an event of kind EventDropped has
// their number.
type EventFile struct {
	file  *eventFile
	queue *lines.Writer
}

// maxEvents is the most bytes of a file of events.
const maxEvents = 64 << 20

// OpenEvents opens the file, or makes it. Since events name conversations, the file is for
// its owner alone: one that others may read is made private, or refused where that cannot
// be. Lines are added to what is there. most is how many bytes it may have, 0 for 64 MB.
func OpenEvents(path string, most int64) (*EventFile, error) {
	if most == 0 {
		most = maxEvents
	}
	file := &eventFile{path: path, most: most}
	if err := file.open(); err != nil {
		return nil, err
	}
	return &EventFile{file, lines.New(file, lines.Options{Note: droppedEvents})}, nil
}

// droppedEvents is the event that reports how many are missing.
func droppedEvents(n int64) []byte {
	line, _ := json.Marshal(Event{Time: time.Now(), Kind: EventDropped, Items: int(n)})
	return append(line, '\n')
}

// Write queues an event. It never waits.
func (f *EventFile) Write(e Event) {
	line, err := json.Marshal(e)
	if err != nil { // a cost that is no number
		line, _ = json.Marshal(Event{Time: e.Time, Kind: e.Kind, Call: e.Call, Error: err.Error()})
	}
	f.queue.Write(append(line, '\n'))
}

// Dropped returns how many events were dropped.
func (f *EventFile) Dropped() int64 { return f.queue.Dropped() }

// Close waits at most that long for the last events to be written, and returns an error
// where some were dropped. It may be called twice.
func (f *EventFile) Close(wait time.Duration) error {
	return errors.Join(f.queue.Close(wait), f.file.Close())
}

// eventFile is the file behind the queue, whose goroutine alone writes to it. That may be
// at work still when Close has returned: nothing is opened, made or renamed from then on.
type eventFile struct {
	path string
	most int64
	size int64

	mu     sync.Mutex // protects what follows: Close may meet a write that is stuck
	file   *os.File
	closed bool
}

// open opens the file. The caller holds mu, or is alone.
func (f *eventFile) open() error {
	file, err := openEvents(f.path)
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

// openEvents opens a path for adding to it. A named pipe that nobody reads yet is opened
// all the same: who reads it later finds what fits into it.
func openEvents(path string) (*os.File, error) {
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
func (f *eventFile) Write(line []byte) (int, error) {
	file, err := f.ready(int64(len(line)))
	if err != nil {
		return 0, err
	}
	n, err := file.Write(line)
	f.size += int64(n)
	return n, err
}

// ready returns the file that has room for so many bytes, or an error once it is closed.
func (f *eventFile) ready(bytes int64) (*os.File, error) {
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
func (f *eventFile) turn() error {
	err := f.file.Close()
	f.file, f.size = nil, 0
	return errors.Join(err, os.Rename(f.path, f.path+".1"))
}

// Close may be called twice.
func (f *eventFile) Close() error {
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
