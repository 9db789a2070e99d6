// Package fakemodel is a server that speaks the vendors' wire formats exactly and says
// what it is told to: Anthropic Messages, OpenAI Chat Completions and OpenAI Responses,
// streamed and not. It refuses a body that the vendor would refuse (package strict).
package fakemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/oriel-context/oriel/internal/strict"
	"github.com/oriel-context/oriel/wire"
)

// Server is an http.Handler.
type Server struct {
	// Answer says what the model says to a request. It must be safe for concurrent
	// use.
	Answer func(*Request) Answer
	// Unchecked takes bodies that break a vendor's rules.
	Unchecked bool

	mu       sync.Mutex
	problems []string
}

// Request is a request as it came.
type Request struct {
	*wire.Body
	Header http.Header
	Path   string
}

// Answer is what the model says.
type Answer struct {
	ID       string // of the reply; default "msg_1" and the like
	Thinking string
	Text     string
	Calls    []Call
	// Input, CacheRead, CacheWrite and Output are the usage. Without any of them
	// none is reported, where the format lets that be.
	Input, CacheRead, CacheWrite, Output int
	// Status and Error answer with an error instead.
	Status int
	Error  string
	// Cut ends the connection after so many events of a stream; 0: never.
	Cut int
	// Each, where it is set, is called after each event of a stream that went out.
	Each func(n int)
}

// Call is a tool call.
type Call struct{ ID, Name, Arguments string }

// Problems are the rules that bodies broke so far.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format, judge := wire.Auto, strict.Anthropic
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		format = wire.Anthropic
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		format, judge = wire.Chat, strict.Chat
	case strings.HasSuffix(r.URL.Path, "/responses"):
		format, judge = wire.Responses, strict.Responses
	default:
		http.NotFound(w, r)
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
	if !s.Unchecked {
		if p := judge(data); len(p) > 0 {
			s.refuse(w, format, fmt.Sprint(p))
			return
		}
	}
	a := s.Answer(&Request{Body: body, Header: r.Header, Path: r.URL.Path})
	if a.Status != 0 {
		fail(w, format, a.Status, a.Error)
		return
	}
	reply := replies[format](body, &a)
	if !body.Stream {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(reply.whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
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
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		fmt.Fprintf(w, "data: %s\n\n", bytes.TrimSpace(data))
		http.NewResponseController(w).Flush()
		if a.Each != nil {
			a.Each(i)
		}
	}
}

func (s *Server) refuse(w http.ResponseWriter, f wire.Format, why string) {
	s.mu.Lock()
	s.problems = append(s.problems, why)
	s.mu.Unlock()
	fail(w, f, http.StatusBadRequest, why)
}

type object = map[string]any

// fail answers as the vendors do.
func fail(w http.ResponseWriter, f wire.Format, status int, message string) {
	var body object
	if f == wire.Anthropic {
		body = object{"type": "error", "error": object{"type": "invalid_request_error", "message": message}}
	} else {
		body = object{"error": object{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

// reply is an answer in a vendor's form, in one piece and in events.
type reply struct {
	whole  object
	events []event
}

type event struct {
	name string
	data any
	text string // in the place of data
}

var replies = map[wire.Format]func(*wire.Body, *Answer) reply{
	wire.Anthropic: anthropic, wire.Chat: chatCompletion, wire.Responses: responses,
}

// halves are what a text is streamed in: pieces of a few words.
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
