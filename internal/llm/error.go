package llm

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/secret"
)

// Errors of New.
var (
	// ErrURL: the base URL cannot be used.
	ErrURL = errors.New("not a URL of a server")
	// ErrKey: the key cannot be sent, or must not be.
	ErrKey = errors.New("the key cannot be used")
)

// Errors of Post. A context's own error is found with errors.Is as well.
var (
	// ErrUnavailable: the server cannot be reached, or reports that it cannot answer
	// now. It was tried as often as the options allow.
	ErrUnavailable = errors.New("the server is not available")
	// ErrRefused: the server does not accept this request. Trying again is useless.
	ErrRefused = errors.New("the server refused")
	// ErrTooLong: the text is longer than the model reads. It is an ErrRefused.
	ErrTooLong = fmt.Errorf("%w a text as too long", ErrRefused)
	// ErrAnswer: the server answered, but not with what was asked for.
	ErrAnswer = errors.New("not a usable answer")
)

// Error reports what failed, where, why and what to do about it. It never contains the
// key.
type Error struct {
	// Server is the host that was asked.
	Server string
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// Code is the server's word for the error, such as "insufficient_quota".
	Code string
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

	again bool // the same request may succeed later
}

func (e *Error) Error() string {
	text := e.Details()
	if e.Server != "" {
		text = e.Server + ": " + text
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Details returns the text of the error without server and hint.
func (e *Error) Details() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Tries > 1 {
		fmt.Fprintf(&b, " (%d tries)", e.Tries)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// later is an error after which the same request may succeed.
type later struct{ error }

func (l later) Unwrap() error { return l.error }

// Later marks an error of Request.Check: the request is tried again.
func Later(err error) error { return later{err} }

func (c *Client) fail(err error, hint string) *Error {
	return &Error{Server: c.host, Err: err, Hint: hint}
}

// unusable returns the error for an answer that its reader rejects. If the
// answer contains the server's report of an error, that is the message.
func (c *Client) unusable(err error, answer []byte) *Error {
	fault := c.fail(fmt.Errorf("%w: %w", ErrAnswer, c.scrubError(err)), "")
	var again later
	fault.again = errors.As(err, &again)
	var form struct{ Error json.RawMessage }
	if json.Unmarshal(answer, &form) == nil && len(form.Error) > 0 && string(form.Error) != "null" {
		text, code := message(answer)
		fault.Message, fault.Code = c.Clean(text), c.Clean(code)
	}
	return fault
}

// broken returns the error for a connection that failed before the answer was
// complete.
func (c *Client) broken(within context.Context, err error) *Error {
	if within.Err() != nil {
		// Not wrapped, because the caller's own deadline may not have passed.
		fault := c.fail(fmt.Errorf("%w: no answer within %v", ErrUnavailable, c.o.Timeout),
			"the server is slow: send less at a time, or allow more time")
		fault.again = true
		return fault
	}
	err = c.scrubError(err)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		err = errors.New(err.Error()) // the http.Client's timeout, not the caller's
	}
	fault := c.fail(fmt.Errorf("%w: %w", ErrUnavailable, err), "")
	fault.again = true
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		fault.again, fault.Hint = false,
			"the server's certificate is not trusted: install its authority on this machine"
	case errors.Is(err, http.ErrSchemeMismatch):
		fault.again, fault.Hint = false, "the server does not speak https: begin the address with http://"
	case errors.Is(err, syscall.ECONNREFUSED):
		fault.Hint = "is the server running at this address?"
	}
	return fault
}

// refused returns the error for a status other than 200.
func (c *Client) refused(resp *http.Response, said []byte) *Error {
	text, code := message(said)
	fault := c.fail(ErrRefused, "")
	fault.Status, fault.Message, fault.Code = resp.StatusCode, c.Clean(text), c.Clean(code)
	switch status := resp.StatusCode; {
	case tooLong(status, strings.ToLower(text), code):
		// Some servers answer 500 here, which would not succeed later either.
		fault.Err, fault.Hint = ErrTooLong, "give shorter texts, or a model that reads more"
	case code == "insufficient_quota":
		fault.Hint = "the account has no credit left"
	case status == http.StatusNotImplemented:
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests,
		status >= 500:
		fault.Err, fault.again = ErrUnavailable, true
		fault.RetryAfter = retryAfter(resp.Header)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		fault.Hint = "the server wants a key: set " + c.o.KeyName
		if c.private().key != "" {
			fault.Hint = "check " + c.o.KeyName
		}
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		fault.Hint = "check the address, which usually ends in /v1, and whether the server has the model"
	case status >= 300 && status < 400:
		fault.Hint = "redirects are not followed: give the final address"
		if to := c.Clean(resp.Header.Get("Location")); to != "" {
			fault.Message = "redirects to " + to
		}
	case status < 300:
		fault.Err, fault.Hint = fmt.Errorf("%w: no content", ErrAnswer),
			"check that the address is that of such a server"
	}
	return fault
}

// lengthWords are the words with which servers report that a text is too long:
// OpenAI and vLLM ("maximum context length", "maximum input length"), Ollama
// ("exceeds the context length"), llama.cpp ("too large to process", "max
// context size"), text-embeddings-inference ("must have less than …
// tokens").
var lengthWords = []string{
	"context length", "maximum input length", "input length exceeds", "too large to process", "max context size",
	"available context size", "n_ctx", "inputs` must have less than",
}

// tooLong reports whether a server's message means that a text is too long.
func tooLong(status int, lower, code string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
		http.StatusInternalServerError:
	default:
		return false
	}
	if code == "context_length_exceeded" {
		return true
	}
	for _, words := range lengthWords {
		if strings.Contains(lower, words) {
			return true
		}
	}
	return false
}

// message returns the server's own message in the body of an error, and its
// code. It knows the forms of OpenAI and vLLM ({"error":{"message":…}},
// {"message":…}), of Ollama ({"error":"…"}) and of FastAPI
// ({"detail":…}); it returns any other body as text.
func message(body []byte) (text, code string) {
	var form struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(body, &form) != nil {
		return string(body), ""
	}
	var inner struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	_ = json.Unmarshal(form.Error, &inner) // a string is read below
	_ = json.Unmarshal(inner.Code, &code)  // a number is the status again
	if code == "" {
		_ = json.Unmarshal(form.Code, &code)
	}
	for _, text := range []string{inner.Message, plain(form.Error), form.Message, plain(form.Detail)} {
		if text != "" {
			return text, code
		}
	}
	return string(body), code
}

// plain returns the text of a JSON string, or the JSON itself.
func plain(raw json.RawMessage) (s string) {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// maxMessage is the most bytes of a server's words in an error.
const maxMessage = 300

// tidy makes a server's message fit for an error. It removes the key before
// shortening, because half a key would not be recognised.
func tidy(text string, keys secret.Keys) string {
	text = keys.Clean(text)
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) ||
			unicode.IsControl(r)
	}), " ")
	text = keys.Clean(text)
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// scrubError returns an error whose text does not contain the key. It replaces
// an error that does, so that unwrapping does not reveal it either.
func (c *Client) scrubError(err error) error {
	if text := err.Error(); c.private().keys.Clean(text) != text {
		return errors.New(c.Clean(text))
	}
	return err
}
