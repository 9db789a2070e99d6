package view

import (
	"slices"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// request holds one request while its view is made.
type request struct {
	*Input
	v       *Viewer
	profile window.Profile
	model   token.Model
	counter *token.Counter
	limits
	recalls bool // it has Oriel's recall tool
	// compacts reports that it asks for the summary that replaces the history for good: it
	// goes whole if the model takes it, whatever the profile wants, and recalls nothing.
	compacts bool
	lead     int             // leading system messages
	sizes    token.Sizes     // of the request
	before   token.Breakdown // of the request
	parsed   map[*byte]*readMessage
	pins     map[int]bool // see pinned
	steps    int          // cuts that this call made
	// emptied marks the results whose content the client itself has left out, by index.
	emptied map[int]bool
	// recalled is the number of tokens that this call has recalled so far.
	recalled int
	failed   error // what recall failed with
	// recallsNewest reports that the last draft has something that was recalled for
	// the newest words, foundNothing that nothing was found for them; quiet that
	// nothing may be recalled.
	recallsNewest, foundNothing, quiet bool
	// notes are what people made of their instructions, by depth, nil until they are
	// read; omit are the sentences that no longer hold.
	notes map[int]string
	omit  []string
	// recallWait is the longest that this call waits for recall.
	recallWait time.Duration
	// recallTime and summaryTime are what is left of the time that this call may wait.
	recallTime, summaryTime limit.Time
	recallBegan             time.Time // the first search; zero if there was none
	// askedModel reports that a model was asked for a summary. unused is a summary in place of
	// which the history stays as it is.
	askedModel bool
	unused     window.Summary
}

func (v *Viewer) newRequest(in *Input) (*request, error) {
	s := &request{Input: in, v: v, parsed: map[*byte]*readMessage{}, recallWait: v.o.RecallWait,
		recallTime: limit.Time{Left: v.o.RecallWait}}
	if v.o.Condense != nil {
		s.summaryTime.Left = v.o.Condense.o.Wait
	}
	var err error
	if s.profile, err = v.o.Profiles.Lookup(in.Profile); err != nil {
		return nil, err
	}
	s.compacts = in.Compacts || in.Body.Compacts || chat.AsksForSummary(in.Body.Messages)
	s.quiet = s.compacts
	s.model = window.Served(v.o.Models.Lookup(in.Body.Model), &in.Body.Request, in.Body.Format, in.Told)
	s.recalls = prompt.FindRecall(&in.Body.Request) != ""
	s.counter = token.NewCounter(s.model, token.Options{Cache: v.o.Cache, Scale: v.scale(in)})
	in.Thread.Audience = s.audience()
	system, _ := thread.Chain(in.Body.Messages)
	s.lead = len(system)
	s.emptied = emptiedIn(in.Body.Messages[s.lead:], s.lead)
	s.sizes = s.counter.Sizes(&in.Body.Request)
	s.before = s.counter.Sum(s.sizes)
	if err := s.limit(); err != nil {
		return nil, err
	}
	return s, nil
}

// scale returns how the provider was found to count for the tenant.
func (v *Viewer) scale(in *Input) token.Scale {
	return v.o.Calibration.Scale(token.LearntKey(in.Thread.Tenant, in.Body.Model))
}

// asked returns the model with a window, as the key for learnt limits.
func (in *Input) asked(window int) token.Asked {
	return token.Asked{Tenant: in.Thread.Tenant, Conversation: in.Thread.Conversation, Model: in.Body.Model,
		Window: window}
}

// audience returns the name of the model and format that a cut applies to: its bytes are
// in one format.
func (s *request) audience() string {
	name := s.model.ID + " " + s.Body.Format.String()
	if s.Apart != "" {
		name += " " + s.Apart
	}
	return name
}

// depth returns the depth of message i of the body in the history, from 1 on,
// or 0 if it is not part of it.
func (s *request) depth(i int) int {
	t := s.Thread
	switch i -= s.lead; {
	case i < 0:
		return 0
	case i >= t.From:
		return len(t.Before) + i - t.From + 1
	case i < t.Head:
		return i + 1
	}
	return 0
}

// identity returns the identity of message i.
func (s *request) identity(i int) timeline.Hash { return timeline.Identity(&s.Body.Messages[i]) }

// readMessage is a message that was made here, with its size.
type readMessage struct {
	chat.Message
	size token.Size
}

// message returns the message of a piece.
func (s *request) message(p wire.Piece) *chat.Message {
	if p.Raw == nil {
		return &s.Body.Messages[p.Index]
	}
	return &s.read(p).Message
}

// read parses and counts the bytes of a piece that has its own.
func (s *request) read(p wire.Piece) *readMessage {
	m := s.parsed[&p.Raw[0]]
	if m == nil {
		read, err := wire.ReadMessage(s.Body.Format, p.Raw)
		if err != nil { // it was made here
			read = chat.Message{Role: s.Body.Messages[p.Index].Role, Raw: p.Raw}
		}
		m = &readMessage{read, s.counter.Size(&read)}
		s.parsed[&p.Raw[0]] = m
	}
	return m
}

// count counts the request with these messages.
func (s *request) count(pieces []wire.Piece) token.Breakdown {
	if len(pieces) == len(s.Body.Messages) &&
		!slices.ContainsFunc(pieces, func(p wire.Piece) bool { return p.Raw != nil }) {
		return s.before
	}
	return s.counter.Sum(s.sizesOf(pieces))
}

// sizesOf returns the sizes of the request with these messages.
func (s *request) sizesOf(pieces []wire.Piece) token.Sizes {
	out := s.sizes
	out.Messages = make([]token.Size, len(pieces))
	for i, p := range pieces {
		out.Messages[i] = s.sizeOf(p)
	}
	return out
}

func (s *request) sizeOf(p wire.Piece) token.Size {
	if p.Raw == nil {
		return s.sizes.Messages[p.Index]
	}
	return s.read(p).size
}

// weight returns the tokens of a message as it is sent.
func (s *request) weight(p wire.Piece) int { return s.counter.Tokens(s.sizeOf(p)) }

// counted returns the request with these messages, for package window.
func (s *request) counted(pieces []wire.Piece) *window.Request {
	r := &window.Request{Request: s.Body.Request, Format: s.Body.Format, Rules: s.Body.Rules(), Counter: s.counter,
		Sizes: s.sizesOf(pieces)}
	r.Messages = make([]chat.Message, len(pieces))
	for i, p := range pieces {
		r.Messages[i] = *s.message(p)
	}
	return r
}

// fixed returns the tokens of what never leaves: the system prompt and the
// tools.
func (s *request) fixed() int { return window.Fixed(s.Body.Messages, s.before) }
