package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Endpoint is a server that speaks OpenAI's chat format, for summaries (SPEC B5).
type Endpoint struct {
	url, model, key string
	client          *http.Client
}

// NewEndpoint makes one. The URL is what an SDK takes as its base: a bare host gets
// /v1. The key, which may be empty, is sent there alone, and is in no error.
func NewEndpoint(base, model, key string) (*Endpoint, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a server: give its base, such as http://localhost:11434/v1", base)
	}
	if model == "" {
		return nil, errors.New("the model that writes summaries has no name")
	}
	if u.User != nil {
		return nil, errors.New("the URL for summaries has a password in it: give the key apart")
	}
	switch path := strings.TrimRight(u.Path, "/"); {
	case strings.HasSuffix(path, "/chat/completions"):
		u.Path = path
	case path == "":
		u.Path = "/v1/chat/completions"
	default:
		u.Path = path + "/chat/completions"
	}
	return &Endpoint{u.String(), model, key, &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key stays here
	}}, nil
}

// Close lets go of idle connections.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }

// maxSummary is the most bytes of an answer.
const maxSummary = 4 << 20

// Call is a condense.Call. ctx is its only time limit.
func (e *Endpoint) Call(ctx context.Context, r condense.Request) (condense.Reply, error) {
	status, answer, err := e.post(ctx, r, "max_tokens")
	if err == nil && status == http.StatusBadRequest && bytes.Contains(answer, []byte("max_completion_tokens")) {
		status, answer, err = e.post(ctx, r, "max_completion_tokens") // OpenAI's reasoning models
	}
	if err != nil {
		return condense.Reply{}, err
	}
	if status != http.StatusOK {
		return condense.Reply{}, fmt.Errorf("the summarising model's server answered %d: %s", status, e.clean(answer))
	}
	reply, err := wire.ReadReply(wire.Chat, answer)
	if err != nil || reply.Message == nil {
		return condense.Reply{}, fmt.Errorf("the summarising model's server answered with no reply: %s", e.clean(answer))
	}
	u := reply.Usage
	out := condense.Reply{Stop: reply.Stop, Usage: token.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheWrite1h: u.CacheWrite1h}}
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

func (e *Endpoint) post(ctx context.Context, r condense.Request, limit string) (int, []byte, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(map[string]any{
		"model": e.model, limit: r.MaxTokens, "messages": []message{{"system", r.System}, {"user", r.Prompt}},
	})
	if err != nil {
		return 0, nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	if e.key != "" {
		q.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := e.client.Do(q)
	if err != nil {
		return 0, nil, fmt.Errorf("ask the summarising model: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxSummary+1))
	if err == nil && len(answer) > maxSummary {
		err = fmt.Errorf("more than %d bytes", maxSummary)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read the summarising model's answer: %w", err)
	}
	return resp.StatusCode, answer, nil
}

// clean is the beginning of an answer, for a person: without the key, which some
// servers repeat.
func (e *Endpoint) clean(answer []byte) string {
	text := strings.ToValidUTF8(strings.Join(strings.Fields(string(answer[:min(len(answer), 2000)])), " "), "")
	return clip.To(secret.Value(e.key).Clean(text), clip.Name)
}
