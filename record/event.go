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
	"time"

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
	// Usage is what the provider reported of a call; nil where it did not.
	Usage *Usage `json:"usage,omitempty"`
	// Cost is what it cost beside the call itself, in US dollars.
	Cost float64 `json:"cost"`
	// Plan is the id of the plan by which something was left out, brought back or
	// condensed; Items are how many messages that is about.
	Plan  string `json:"plan,omitempty"`
	Items int    `json:"items,omitempty"`
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
	// EventUnknown: a body that could not be read was passed on as it came.
	EventUnknown = "unknown-body"
	// EventProfile: a call named a profile that there is not; the default was used.
	EventProfile = "unknown-profile"
)

// event tells of something: to the log, but for calls, each of which has its line, and
// to who listens.
func (r *Recorder) event(e Event) {
	e.Time = r.o.Now()
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

// EventFile writes events to a file, a line of JSON each. When it is full, the file
// becomes NAME.1, in the place of the last one of that name, and a new one begins: both
// together are bounded. It is safe for concurrent use.
type EventFile struct {
	path string
	most int64

	mu   sync.Mutex // protects what follows
	file *os.File
	size int64
	bad  error // the first that went wrong
}

// maxEvents is the most bytes of a file of events.
const maxEvents = 64 << 20

// OpenEvents opens the file, or makes it: for its owner alone, since events name
// conversations. Lines are added to what is there. most is how many bytes it may have,
// 0 for 64 MB.
func OpenEvents(path string, most int64) (*EventFile, error) {
	if most == 0 {
		most = maxEvents
	}
	f := &EventFile{path: path, most: most}
	return f, f.open()
}

func (f *EventFile) open() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the file of events: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 && info.Mode()&fs.ModeDevice == 0 {
		err = fmt.Errorf("open the file of events: %s is no file", f.path)
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

// Write adds an event. What cannot be written is told by Close.
func (f *EventFile) Write(e Event) {
	line, err := json.Marshal(e)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return
	}
	if f.size > 0 && f.size+int64(len(line)) >= f.most {
		err = errors.Join(err, f.turn())
	}
	if f.file != nil {
		n, bad := f.file.Write(append(line, '\n'))
		f.size += int64(n)
		err = errors.Join(err, bad)
	}
	if f.bad == nil {
		f.bad = err
	}
}

// turn begins a new file.
func (f *EventFile) turn() error {
	err := f.file.Close()
	f.file = nil
	return errors.Join(err, os.Rename(f.path, f.path+".1"), f.open())
}

// Close may be called twice.
func (f *EventFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return f.bad
	}
	err := errors.Join(f.bad, f.file.Close())
	f.file = nil
	return err
}
