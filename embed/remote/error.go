package remote

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/llm"
)

// Errors of New.
var (
	// ErrConfig: an option that cannot be used.
	ErrConfig = errors.New("not a valid setting")
	// ErrKey: the key cannot be sent, or must not be.
	ErrKey = llm.ErrKey
)

// Errors of Embed. A context's own error is found with errors.Is as well.
var (
	// ErrUnavailable: the server cannot be reached, or reports that it cannot answer
	// now. It was tried as often as the options allow.
	ErrUnavailable = llm.ErrUnavailable
	// ErrRefused: the server does not accept this request. Trying again is useless.
	ErrRefused = llm.ErrRefused
	// ErrTooLong: a text is longer than the model reads. It is an ErrRefused.
	ErrTooLong = llm.ErrTooLong
	// ErrAnswer: the server answered, but not with a vector for each text.
	ErrAnswer = llm.ErrAnswer
)

// Error reports what failed, where, why and what to do about it. It never contains the
// key.
type Error struct {
	// Server is the host that was asked.
	Server string
	// First and Last are the texts of the request that failed, counted from 0 within
	// the call.
	First, Last int
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// Message is what the server wrote, shortened.
	Message string
	// Tries is how often the request was sent, 0 if it was not.
	Tries int
	// RetryAfter is how long the server asked to wait, 0 if it did not.
	RetryAfter time.Duration
	// Err is the cause: one of the errors above, or that of a context.
	Err error
	// Hint is what to do; it may be empty.
	Hint string

	details string // cause, status, message and tries in words
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("embed")
	if e.Tries > 0 {
		fmt.Fprintf(&b, " texts %d to %d", e.First, e.Last)
	}
	if e.Server != "" {
		b.WriteString(" by " + e.Server)
	}
	b.WriteString(": " + e.details)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// badOption is the error of New for an option.
func badOption(name, hint string) error {
	err := fmt.Errorf("%w: %s", ErrConfig, name)
	return &Error{Err: err, Hint: hint, details: err.Error()}
}

// explain returns a failure of the client as an *Error, with what to do about it here.
func explain(err error) *Error {
	var e *llm.Error
	if !errors.As(err, &e) {
		return &Error{Err: err, details: err.Error()}
	}
	out := &Error{
		Server: e.Server, Status: e.Status, Message: e.Message, Tries: e.Tries, RetryAfter: e.RetryAfter, Err: e.Err,
		Hint:    e.Hint,
		details: e.Details(),
	}
	lower := strings.ToLower(e.Message)
	switch {
	case errors.Is(e, ErrTooLong):
		out.Hint += " (with llama.cpp, raise --ubatch-size)"
	case e.Status == http.StatusNotImplemented:
		out.Hint = "the server does not embed as it was started (with llama.cpp, add --embeddings)"
	case e.Hint != "" || errors.Is(e, ErrUnavailable):
	case errors.Is(e, ErrAnswer):
		out.Hint = "is this the address of an embeddings server, and the model an embedding model?"
	case e.Status == http.StatusRequestEntityTooLarge, strings.Contains(lower, "batch"),
		strings.Contains(lower, "tokens per request"):
		out.Hint = "lower Batch or BatchBytes"
	case strings.Contains(lower, "dimension"), strings.Contains(lower, "matryoshka"):
		out.Hint = "leave Dimensions at 0: not all models can shorten their vectors"
	}
	return out
}
