package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel/internal/llm"
)

// Errors of a model server.
var (
	// ErrFailed reports a call without an answer. Other calls may succeed.
	ErrFailed = errors.New("the model gave no answer")
	// ErrServer reports that no call to this server, or for this model, can
	// succeed.
	ErrServer = errors.New("the model cannot be asked")
)

// Limits of a call.
const (
	callTimeout = 2 * time.Minute
	callRetries = 4
	maxReply    = 4 << 20 // bytes
)

// Server is a language model behind an OpenAI-compatible address. It is safe for
// concurrent use.
type Server struct {
	client *llm.Client
	model  string
	// unset is true once the server has refused a temperature.
	unset atomic.Bool
}

// NewServer returns a client for the model at base, the address before
// "/chat/completions" ("http://127.0.0.1:8080/v1"). model is its name there;
// key may be empty.
func NewServer(base, model, key string) (*Server, error) {
	return newServer(llm.Options{URL: base, Key: key}, model)
}

func newServer(o llm.Options, model string) (*Server, error) {
	if model == "" {
		return nil, fmt.Errorf("%w: give --model: the name that the server has for its model", ErrOption)
	}
	o.KeyName, o.Timeout, o.Retries = "$OPENAI_API_KEY", callTimeout, callRetries
	client, err := llm.New(o)
	if err != nil {
		return nil, fmt.Errorf("%w: --answer: %w", ErrOption, err)
	}
	return &Server{client: client, model: model}, nil
}

type prompt struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// reply is a model's answer. prompted is how many tokens it read, or 0 if the
// server does not report it.
type reply struct {
	text     string
	prompted int
}

// ask sends messages and retries until it has an answer or no retry can help.
func (s *Server) ask(ctx context.Context, messages []prompt) (r reply, err error) {
	for {
		plain := s.unset.Load()
		r, err = s.post(ctx, messages, plain)
		var e *llm.Error
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return r, ctx.Err()
		case !errors.As(err, &e):
			return r, err
		case !plain && e.Status == http.StatusBadRequest && strings.Contains(e.Message, "temperature"):
			s.unset.Store(true)
			continue
		}
		return r, explain(e)
	}
}

// post sends messages, with a temperature of 0 unless the server rejects that.
func (s *Server) post(ctx context.Context, messages []prompt, plain bool) (r reply, err error) {
	sent := struct {
		Model       string   `json:"model"`
		Messages    []prompt `json:"messages"`
		Temperature *float64 `json:"temperature,omitempty"`
	}{Model: s.model, Messages: messages}
	if !plain {
		sent.Temperature = new(float64)
	}
	body, err := json.Marshal(sent)
	if err != nil {
		return r, err
	}
	_, err = s.client.Post(ctx, llm.Request{Path: "chat/completions", Body: body, MaxAnswer: maxReply,
		Check: func(answer []byte) (err error) {
			r, err = parseReply(answer)
			return err
		}})
	return r, err
}

// Errors of parseReply.
var (
	errNoCompletion = errors.New("not a chat completion: is --answer the address of an OpenAI-compatible server?")
	errNoText       = errors.New("a reply without text: does the model answer in words?")
	errReported     = errors.New("the server reports an error")
)

// parseReply reads a body with an answer.
func parseReply(raw []byte) (reply, error) {
	var got struct {
		Choices []struct {
			Message struct{ Content *string }
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
		Error json.RawMessage // some servers report errors with status 200
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return reply{}, errNoCompletion
	}
	if len(got.Choices) == 0 && len(got.Error) > 0 && string(got.Error) != "null" {
		return reply{}, llm.Later(errReported)
	}
	if len(got.Choices) == 0 || got.Choices[0].Message.Content == nil {
		return reply{}, errNoText
	}
	text := *got.Choices[0].Message.Content
	if i := strings.LastIndex(text, "</think>"); i >= 0 { // some servers show the reasoning
		text = text[i+len("</think>"):]
	}
	return reply{strings.TrimSpace(text), max(0, got.Usage.Prompt)}, nil
}

// explain turns a failure of the client into an error with advice for this
// command.
func explain(e *llm.Error) error {
	kind, hint := ErrFailed, e.Hint
	switch status := e.Status; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		kind, hint = ErrServer, "set $OPENAI_API_KEY to a key that this server takes for this model"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= 300 && status < 400:
		kind, hint = ErrServer, "check --answer, which usually ends in /v1, and --model"
	case e.Code == "insufficient_quota":
		kind = ErrServer
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		hint = "if the context is too long for the model, give its --window"
	case hint == "" && (errors.Is(e, llm.ErrUnavailable) || errors.Is(e, errReported)):
		hint = "lower --concurrency, or try later"
	}
	if hint == "" {
		return fmt.Errorf("%w: %s", kind, e.Details())
	}
	return fmt.Errorf("%w: %s: %s", kind, e.Details(), hint)
}
