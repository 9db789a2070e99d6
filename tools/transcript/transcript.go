// Package transcript reads recorded agent sessions and reconstructs the
// request bodies that the agent must have sent, call by call, for checks and
// replays.
//
// A recording holds the messages, not the requests, so each body is built from
// it: the history before the reply, as the agent sends it, with stubs for what
// the recording lacks (system prompt, tool schemas). The contents of messages
// are the recording's bytes, never re-encoded, except that what is not valid
// UTF-8 becomes U+FFFD. Between two calls of one history the earlier body's
// messages are a prefix of the later one's, byte for byte.
//
// Nothing else is repaired: if a recording is broken, for example by an
// interrupted call without an answer, so is the body. What the agent omits or
// moves on the wire is omitted and moved here too.
package transcript

import (
	"cmp"
	"encoding/json"
	"iter"
	"strconv"
	"time"
)

// Format is the wire format of a session's bodies.
type Format string

// The formats of bodies.
const (
	Anthropic Format = "anthropic" // POST /v1/messages
	Chat      Format = "chat"      // POST /v1/chat/completions
	Responses Format = "responses" // POST /v1/responses
)

// A Session is one recorded conversation.
type Session struct {
	// Name identifies the session: the name of its file, with a number if a file
	// holds several.
	Name string
	// Format is the format of the bodies.
	Format Format
	// Tools are the names of the tools that were called, in order of first use.
	Tools []string
	// System is the system prompt of Anthropic bodies, which recordings lack. ""
	// means a prompt of five words.
	System string

	steps []step
}

// Usage is the vendor's token count for one call; zero if the recording has none.
// Input excludes the cached parts.
type Usage struct {
	Input, CacheRead, CacheWrite, Output int
}

// A Request is one call of a session.
type Request struct {
	// Body is the request's body. It is valid until the next Request and must not
	// be modified.
	Body []byte
	// Reply is the message or, in Responses, the items that answered it, in the
	// form in which later bodies hold them; nil if the agent dropped the reply.
	Reply []byte
	// ID and Model are the reply's, "" if the recording has none.
	ID, Model string
	// At is when the reply began; zero if unknown.
	At time.Time
	// Usage is the vendor's token count.
	Usage Usage
	// History numbers the histories of the session. Every compaction increments it
	// and begins a new Body.
	History int
}

// A step is one thing that happens to the history of a session.
type step struct {
	kind stepKind
	raw  []byte   // of says: the message; of calls: the reply
	told [][]byte // of rewinds: the messages that the history goes back to
	call Request
}

type stepKind int

const (
	says    stepKind = iota // a message is added
	calls                   // the model is called
	resets                  // the history begins anew
	rewinds                 // the history becomes an earlier one
)

// Calls counts the requests of the session.
func (s *Session) Calls() int {
	n := 0
	for _, st := range s.steps {
		if st.kind == calls {
			n++
		}
	}
	return n
}

// Requests iterates over the calls of the session in order. All bodies share one
// buffer, so a session of n calls costs about as much as its last body.
func (s *Session) Requests() iter.Seq[Request] {
	return func(yield func(Request) bool) {
		var (
			model   string
			body    = s.head(model)
			head    = len(body)
			history int
		)
		for _, st := range s.steps {
			switch st.kind {
			case says:
				body = appendMessage(body, head, st.raw)
			case resets:
				body = body[:head]
				history++
			case rewinds:
				body = body[:head]
				for _, raw := range st.told {
					body = appendMessage(body, head, raw)
				}
			case calls:
				if st.call.Model != model {
					model = st.call.Model
					anew := s.head(model)
					body = append(anew, body[head:]...)
					head = len(anew)
				}
				r := st.call
				r.Reply, r.History = st.raw, history
				// The tail is overwritten by the next message.
				r.Body = append(body, s.tail()...)
				if !yield(r) {
					return
				}
				body = r.Body[:len(body)]
			}
		}
	}
}

// appendMessage adds a message to a body whose head ends at head.
func appendMessage(body []byte, head int, raw []byte) []byte {
	if len(body) > head {
		body = append(body, ',')
	}
	return append(body, raw...)
}

// head writes a body up to the first message. The values stand where a client
// of the format puts them; those that the recording does not have are stubs.
func (s *Session) head(model string) []byte {
	if model == "" {
		model = "unknown"
	}
	b := append([]byte(`{"model":`), quote(model)...)
	switch s.Format {
	case Anthropic:
		b = append(b, `,"max_tokens":64000,"system":[{"type":"text","text":`...)
		b = append(b, quote(cmp.Or(s.System, "You are a coding agent."))...)
		b = append(b, `}],"thinking":{"type":"adaptive"},"tools":[`...)
		for i, name := range s.Tools {
			b = appendTool(b, i, `{"name":`, name, `,"input_schema":{"type":"object"}}`)
		}
		return append(b, `],"messages":[`...)
	case Chat:
		if len(s.Tools) > 0 {
			b = append(b, `,"tools":[`...)
			for i, name := range s.Tools {
				b = appendTool(b, i, `{"type":"function","function":{"name":`, name,
					`,"parameters":{"type":"object"}}}`)
			}
			b = append(b, ']')
		}
		return append(b, `,"messages":[`...)
	}
	b = append(b, `,"store":false,"tools":[`...)
	for i, name := range s.Tools {
		b = appendTool(b, i, `{"type":"function","name":`, name, `,"parameters":{"type":"object"}}`)
	}
	return append(b, `],"input":[`...)
}

func appendTool(b []byte, i int, before, name, after string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	b = append(b, before...)
	b = append(b, quote(name)...)
	return append(b, after...)
}

// tail writes what follows the last message.
func (s *Session) tail() string { return `],"stream":true}` }

// quote writes s as a JSON string.
func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		// A string always marshals; should it not, its Go form is close.
		return strconv.AppendQuote(nil, s)
	}
	return b
}
