// Package recording rebuilds the requests of recorded agent sessions, call by call. A
// recording holds messages, not requests: each call is what stood before a reply.
//
// It reads every file that package importer reads, from its first line to its last, and
// passes the steps of each session to a [Sink]: messages that are added, calls of the model,
// histories that begin anew or go back. It holds one history at a time, of at most
// MaxHistory bytes.
//
// The messages of Claude Code, Codex, Cline and request bodies are the recording's bytes, never
// re-encoded, except that invalid UTF-8 becomes U+FFFD. Those of other programs are written
// in the form of Chat Completions. Between two calls of one history the messages of the
// earlier one are the beginning of those of the later one. What is broken in the recording,
// such as a call without its result, is broken here, too.
//
// What a recording lacks is not invented: the system prompt and the tools, except in request
// bodies, and what agents left out of later requests without a trace in the recording.
package recording

import (
	"context"
	"errors"
	"time"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// MaxHistory is the largest history in bytes. No model accepts so much: a session that has
// more begins a new history.
const MaxHistory = 16 << 20

// A Session is a recorded conversation.
type Session struct {
	// Name is the conversation's name in the recording, Project the folder in which it ran.
	Name, Project string
	// Source is the format of the file, Format that of the messages.
	Source importer.Format
	Format wire.Format
	// System and Tools are the bytes of these members of a request body; nil if the
	// recording has none. They may change before each call.
	System, Tools []byte
}

// A Call is one call of the model.
type Call struct {
	// ID is the reply's, "" if the recording has none.
	ID string
	// Model is "" if the recording names none.
	Model string
	// At is when the reply was recorded.
	At time.Time
	// Usage is what the provider reported, if Reported.
	Usage    token.Usage
	Reported bool
}

// A Sink receives the steps of one session.
type Sink interface {
	// Says adds a message to the history.
	Says(raw []byte) error
	// Calls is a call of the model with the history as it is. reply are the messages that
	// answered it, nil if they are not known or were dropped; those that the agent keeps
	// follow with Says.
	Calls(c Call, reply [][]byte) error
	// Resets empties the history: the agent has compacted it.
	Resets() error
	// Rewinds replaces the history by an earlier one.
	Rewinds(told [][]byte) error
	// Ends ends the session.
	Ends() error
}

// Options are the settings of Read.
type Options struct {
	// Open returns the sink of a session. A nil sink skips it.
	Open func(s *Session) (Sink, error)
	// Broken, if set, is told what cannot be read.
	Broken func(importer.Problem)
	// Progress, if set, is called with the bytes read so far.
	Progress func(int64)
}

// Read passes the sessions of a file to sinks. Broken entries are skipped.
func Read(ctx context.Context, file *importer.File, o Options) error {
	r := &reader{o: o, file: file, fronts: map[string]front{}}
	progress := o.Progress
	if progress == nil {
		progress = func(int64) {}
	}
	if err := file.Read(ctx, r, progress); err != nil {
		return err
	}
	return r.end()
}

// front turns the entries of one conversation into steps.
type front interface {
	// begin begins another request body, or tells the conversation anew.
	begin() error
	entry(m *timeline.Message) error
	request(r importer.Request) error
	end() error
}

type reader struct {
	o      Options
	file   *importer.File
	fronts map[string]front // nil for those that are skipped
}

func (r *reader) Begin(conversation, project string) error {
	if f, ok := r.fronts[conversation]; ok {
		if f == nil {
			return nil
		}
		return f.begin()
	}
	if r.file.Format != importer.Generic { // its lines may mix conversations
		if err := r.end(); err != nil {
			return err
		}
	}
	s := &Session{Name: conversation, Project: project, Source: r.file.Format, Format: wire.Chat}
	open := newPlain
	switch f, isBody := wire.ByName(string(s.Source)); {
	case isBody:
		s.Format, open = f, newBodies
	case s.Source == importer.ClaudeCode:
		s.Format, open = wire.Anthropic, newClaudeCode
	case s.Source == importer.Codex:
		s.Format = wire.Responses
	}
	sink, err := r.o.Open(s)
	if err != nil || sink == nil {
		r.fronts[conversation] = nil
		return err
	}
	r.fronts[conversation] = open(s, &bounded{sink: sink, most: MaxHistory})
	return nil
}

func (r *reader) Entry(conversation string, m *timeline.Message) error {
	if f := r.fronts[conversation]; f != nil {
		return f.entry(m)
	}
	return nil
}

func (r *reader) Request(conversation string, q importer.Request) error {
	if f := r.fronts[conversation]; f != nil {
		return f.request(q)
	}
	return nil
}

func (r *reader) Broken(p importer.Problem) {
	if r.o.Broken != nil {
		r.o.Broken(p)
	}
}

// end ends the conversations that have begun.
func (r *reader) end() error {
	var errs []error
	for name, f := range r.fronts {
		if f != nil {
			errs = append(errs, f.end())
			r.fronts[name] = nil
		}
	}
	return errors.Join(errs...)
}

// bounded empties a history that no model accepts.
type bounded struct {
	sink       Sink
	size, most int
}

func (b *bounded) Says(raw []byte) error {
	if b.size += len(raw); b.size > b.most {
		if err := b.Resets(); err != nil {
			return err
		}
		b.size = len(raw)
	}
	return b.sink.Says(raw)
}

func (b *bounded) Calls(c Call, reply [][]byte) error { return b.sink.Calls(c, reply) }

func (b *bounded) Resets() error {
	b.size = 0
	return b.sink.Resets()
}

func (b *bounded) Rewinds(told [][]byte) error {
	b.size = 0
	for _, raw := range told {
		b.size += len(raw)
	}
	return b.sink.Rewinds(told)
}

func (b *bounded) Ends() error { return b.sink.Ends() }
