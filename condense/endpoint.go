package condense

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/llm"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Endpoint is a server that speaks OpenAI's chat format, for summaries (SPEC B5).
type Endpoint struct {
	client *llm.Client
	model  string
}

// summaryRetries is how often a failed request for a summary is repeated if
// that may help.
const summaryRetries = 2

// NewEndpoint returns an Endpoint for a base URL in the form that SDKs take; a
// bare host gets /v1. The key may be empty. It is sent to that server only,
// over plain http only within this machine or a private network, and appears
// in no error.
func NewEndpoint(base, model, key string) (*Endpoint, error) {
	if model == "" {
		return nil, errors.New("the model that writes summaries has no name")
	}
	base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/chat/completions")
	client, err := llm.New(llm.Options{URL: base, Key: key, KeyName: "condense.key", Retries: summaryRetries})
	if err != nil {
		return nil, err
	}
	return &Endpoint{client, model}, nil
}

// Close closes idle connections.
func (e *Endpoint) Close() { e.client.Close() }

// maxSummary is the most bytes of an answer.
const maxSummary = 4 << 20

// Call is a value for Model.Call. ctx is its only time limit.
func (e *Endpoint) Call(ctx context.Context, r Request) (Reply, error) {
	answer, err := e.post(ctx, r, "max_tokens")
	var refused *llm.Error
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest &&
		strings.Contains(refused.Message, "max_completion_tokens") {
		answer, err = e.post(ctx, r, "max_completion_tokens") // for OpenAI's reasoning models
	}
	if err != nil {
		return Reply{}, fmt.Errorf("ask the summarising model: %w", err)
	}
	reply, err := wire.ReadReply(wire.Chat, answer)
	if err != nil || reply.Message == nil {
		return Reply{}, fmt.Errorf("the summarising model's server sent no reply: %s", e.client.Clean(string(answer)))
	}
	u := reply.Usage
	out := Reply{Stop: reply.Stop, Usage: token.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead,
		CacheWrite: u.CacheWrite, CacheWrite1h: u.CacheWrite1h, Service: u.Service}}
	m, err := wire.ReadMessage(wire.Chat, reply.Message)
	if err != nil {
		return out, fmt.Errorf("read the summary: %w", err)
	}
	for i := range m.Parts {
		if m.Parts[i].Kind == chat.Text {
			out.Text += m.Parts[i].Text.String()
		}
	}
	return out, nil
}

func (e *Endpoint) post(ctx context.Context, r Request, limit string) ([]byte, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(map[string]any{
		"model": e.model, limit: r.MaxTokens, "messages": []message{{"system", r.System}, {"user", r.Prompt}},
	})
	if err != nil {
		return nil, err
	}
	return e.client.Post(ctx, llm.Request{Path: "chat/completions", Body: body, MaxAnswer: maxSummary})
}
