// Package fakemodel is a server that implements the vendors' wire formats exactly and
// gives scripted answers: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses, Gemini,
// its Interactions, Ollama's own API and Amazon Bedrock's Converse and InvokeModel, streamed and not, Responses also over WebSocket. It refuses a body that
// the vendor would refuse (package strict).
package fakemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/internal/test/eventstream"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/wire"
)

// Server is an http.Handler.
type Server struct {
	// Answer returns the model's answer to a request. It must be safe for concurrent
	// use.
	Answer func(*Request) Answer
	// Unchecked accepts bodies that break a vendor's rules.
	Unchecked bool
	// NoSockets refuses WebSockets with 404. Otherwise Responses is served over them, too.
	NoSockets bool
	// Frame, if set, is called for each message of a WebSocket, as it came.
	Frame func([]byte)
	// Prepared, if set, returns the answer to a call over WebSocket that only prepares
	// another one (generate: false).
	Prepared func(*Request) Answer

	mu       sync.Mutex
	problems []string
	made     int // ids of responses over WebSocket
}

// Request is a request as received; over a WebSocket, the body that the message means with what it
// continues.
type Request struct {
	*wire.Body
	Header http.Header
	Path   string
}

// Answer is the model's answer.
type Answer struct {
	ID       string // of the reply; default "msg_1" and the like
	Thinking string
	Text     string
	Calls    []Call
	// Compaction, if set, makes the answer the item or the block that replaces a Responses or
	// an Anthropic history.
	Compaction string
	// Input, CacheRead, CacheWrite and Output are the usage. If all are 0, none is
	// reported, if the format allows that.
	Input, CacheRead, CacheWrite, Output int
	// Diagnosis is the provider's reason for a cache miss, in Anthropic's and Responses' forms.
	Diagnosis string
	// Status and Error make the answer an error.
	Status int
	Error  string
	// Cut ends the connection after this many events of a stream; 0 means never.
	Cut int
	// Each, if set, is called after each event of a stream was sent.
	Each func(n int)
}

// Call is a tool call.
type Call struct{ ID, Name, Arguments string }

// Problems returns the rules that bodies have broken so far.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format := wire.CallFormat(r.URL.Path)
	m, ok := models[format]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Header.Get("Upgrade") == "websocket" {
		if format != wire.Responses || s.NoSockets {
			http.NotFound(w, r)
			return
		}
		s.serveSocket(w, r)
		return
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body, err := wire.Read(data, format, wire.Limits{})
	if err != nil {
		s.refuse(w, format, err.Error())
		return
	}
	if err := body.At(r.URL.Path); err != nil {
		s.refuse(w, format, err.Error())
		return
	}
	framed := strings.Contains(r.URL.Path, "/model/") // as Amazon Bedrock streams
	switch {
	case format != wire.Anthropic:
	case framed:
		m.judge = strict.AnthropicOnBedrock
	case strings.Contains(r.URL.Path, "/publishers/anthropic/"):
		m.judge = strict.AnthropicOnVertex
	}
	if !s.Unchecked {
		if p := m.judge(data); len(p) > 0 {
			s.refuse(w, format, fmt.Sprint(p))
			return
		}
	}
	a := s.Answer(&Request{Body: body, Header: r.Header, Path: r.URL.Path})
	if a.Status != 0 {
		fail(w, format, a.Status, a.Error)
		return
	}
	reply := m.reply(body, &a)
	if !body.Stream {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(reply.whole)
		return
	}
	list := reply.lists && r.URL.Query().Get("alt") != "sse"
	byLine := format.Protocol().StreamType != "text/event-stream"
	w.Header().Set("Content-Type", format.Protocol().StreamType)
	switch {
	case list:
		w.Header().Set("Content-Type", "application/json")
	case framed:
		w.Header().Set("Content-Type", eventstream.MediaType)
	}
	for i, e := range reply.events {
		if a.Cut > 0 && i == a.Cut {
			panic(http.ErrAbortHandler)
		}
		data, err := json.Marshal(e.data)
		if err != nil {
			panic(err)
		}
		if e.text != "" {
			data = []byte(e.text)
		}
		if e.name != "" && !framed {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		switch {
		case framed && format == wire.Anthropic:
			w.Write(eventstream.AppendChunk(nil, data))
		case framed:
			w.Write(eventstream.Append(nil, e.name, data))
		case list:
			fmt.Fprintf(w, "%c%s\n", "[,"[min(i, 1)], bytes.TrimSpace(data))
		case byLine:
			fmt.Fprintf(w, "%s\n", data)
		default:
			fmt.Fprintf(w, "data: %s\n\n", bytes.TrimSpace(data))
		}
		http.NewResponseController(w).Flush()
		if a.Each != nil {
			a.Each(i)
		}
	}
	if list {
		io.WriteString(w, "]")
	}
}

func (s *Server) refuse(w http.ResponseWriter, f wire.Format, why string) {
	s.mu.Lock()
	s.problems = append(s.problems, why)
	s.mu.Unlock()
	fail(w, f, http.StatusBadRequest, why)
}

type object = map[string]any

// fail answers with an error in the vendor's format.
func fail(w http.ResponseWriter, f wire.Format, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(models[f].failure(message))
}

func anthropicFailure(message string) object {
	return object{"type": "error", "error": object{"type": "invalid_request_error", "message": message}}
}

func openAIFailure(message string) object {
	return object{"error": object{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}}
}

// reply is an answer in a vendor's format, whole and as events.
type reply struct {
	whole  object
	events []event
	lists  bool // a stream is a list unless the query asks for events
}

type event struct {
	name string
	data any
	text string // in the place of data
}

// models has what a vendor's server does, by protocol.
var models = map[wire.Format]struct {
	judge   func(body []byte) []strict.Problem
	reply   func(*wire.Body, *Answer) reply
	failure func(message string) object
}{
	wire.Anthropic: {strict.Anthropic, anthropic, anthropicFailure},
	wire.Chat:      {strict.Chat, chatCompletion, openAIFailure},
	wire.Responses: {strict.Responses, responses, openAIFailure},
	wire.Gemini:    {strict.Gemini, gemini, geminiFailure},
	wire.Ollama:    {strict.Ollama, ollama, ollamaFailure},

	wire.Interactions: {strict.Interactions, interactions, geminiFailure},
	wire.Converse:     {strict.Converse, converse, bedrockFailure},
}

// Speaks reports whether a Server has a protocol.
func Speaks(f wire.Format) bool { return models[f].reply != nil }

// halves splits a text into pieces of a few words for streaming.
func halves(s string) []string {
	var out []string
	for len(s) > 24 {
		n := strings.LastIndexByte(s[:24], ' ') + 1
		if n == 0 {
			n = 24
			for n < len(s) && s[n]&0xc0 == 0x80 {
				n++
			}
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return append(out, s)
}
