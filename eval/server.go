package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// Errors of a server of a language model.
var (
	// ErrFailed: a call that brought no answer. Others may.
	ErrFailed = errors.New("the model gave no answer")
	// ErrServer: no call to this server, or for this model, will succeed.
	ErrServer = errors.New("the model cannot be asked")
)

// Bounds of a call.
const (
	callTimeout  = 2 * time.Minute
	callTries    = 5
	firstWait    = time.Second
	longestWait  = 30 * time.Second
	maxAsked     = time.Minute // the longest that a server may ask to wait
	maxReply     = 4 << 20     // bytes
	maxComplaint = 300         // bytes of a server's words that are shown
)

// Server is a language model behind an OpenAI-compatible address. It is safe for
// concurrent use.
type Server struct {
	url, model, key string
	client          *http.Client
	// unset says that the server refuses a temperature.
	unset atomic.Bool
	// pause waits; tests do not.
	pause func(context.Context, time.Duration) error
}

// NewServer takes the address before "/chat/completions" ("http://127.0.0.1:8080/v1"),
// the model's name there, and a key, which may be empty.
func NewServer(base, model, key string) (*Server, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: --answer: %w", ErrOption, err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%w: --answer %q: give an address such as http://127.0.0.1:8080/v1", ErrOption, base)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%w: --answer: give the address without user, query and fragment", ErrOption)
	case model == "":
		return nil, fmt.Errorf("%w: give --model: the name that the server has for its model", ErrOption)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII }):
		return nil, fmt.Errorf("%w: $OPENAI_API_KEY has characters that no key has: set it anew", ErrOption)
	case key != "" && u.Scheme == "http" && !local(u.Hostname()):
		return nil, fmt.Errorf("%w: --answer: a key must not be sent over http: use https, or unset $OPENAI_API_KEY", ErrOption)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Server{url: u.JoinPath("chat/completions").String(), model: model, key: key, client: client, pause: sleep}, nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type prompt struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// reply is what a model said. prompted is how many tokens it read, 0 if the server
// does not say.
type reply struct {
	text     string
	prompted int
}

// fault is why a call failed.
type fault struct {
	err   error
	again bool
	after time.Duration // that the server asks for
}

// Ask sends messages until there is an answer, or no hope of one.
func (s *Server) ask(ctx context.Context, messages []prompt) (reply, error) {
	for try := 1; ; try++ {
		r, f := s.try(ctx, messages)
		switch {
		case f == nil:
			return r, nil
		case ctx.Err() != nil:
			return r, ctx.Err()
		case !f.again:
			return r, f.err
		case try == callTries:
			return r, fmt.Errorf("%w (%d tries)", f.err, try)
		case f.after > maxAsked:
			return r, fmt.Errorf("%w; the server asks to wait for %v: try again then", f.err, f.after)
		}
		if err := s.pause(ctx, max(f.after, wait(try))); err != nil {
			return r, err
		}
	}
}

// wait doubles with every try; half of it is random, so that calls do not come back
// at the same moment.
func wait(try int) time.Duration {
	d := min(firstWait<<(try-1), longestWait)
	return d/2 + rand.N(d/2)
}

func (s *Server) try(ctx context.Context, messages []prompt) (reply, *fault) {
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	sent := struct {
		Model       string   `json:"model"`
		Messages    []prompt `json:"messages"`
		Temperature *float64 `json:"temperature,omitempty"`
	}{Model: s.model, Messages: messages}
	if !s.unset.Load() {
		sent.Temperature = new(float64)
	}
	body, err := json.Marshal(sent)
	if err != nil {
		return reply{}, &fault{err: err}
	}
	r, err := http.NewRequestWithContext(within, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return reply{}, &fault{err: fmt.Errorf("%w: %w", ErrServer, err)}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "oriel")
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return reply{}, s.broken(within, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return reply{}, s.broken(within, err)
	}
	if resp.StatusCode != http.StatusOK {
		if sent.Temperature != nil && resp.StatusCode == http.StatusBadRequest && bytes.Contains(raw, []byte("temperature")) {
			s.unset.Store(true)
			return s.try(ctx, messages)
		}
		return reply{}, s.refused(resp, raw)
	}
	return s.parseReply(raw)
}

// parseReply reads a body with an answer.
func (s *Server) parseReply(raw []byte) (reply, *fault) {
	var got struct {
		Choices []struct {
			Message struct{ Content *string }
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
		Error json.RawMessage // some servers say so with status 200
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return reply{}, &fault{err: fmt.Errorf("%w: not a chat completion: is --answer the address of an OpenAI-compatible server?", ErrFailed)}
	}
	if len(got.Choices) == 0 && len(got.Error) > 0 && string(got.Error) != "null" {
		return reply{}, &fault{again: true, err: fmt.Errorf("%w: %s: lower --concurrency, or try later", ErrFailed, s.tidy(complaint(raw)))}
	}
	if len(got.Choices) == 0 || got.Choices[0].Message.Content == nil {
		return reply{}, &fault{err: fmt.Errorf("%w: a reply without text: does the model answer in words?", ErrFailed)}
	}
	text := *got.Choices[0].Message.Content
	if i := strings.LastIndex(text, "</think>"); i >= 0 { // some servers show it
		text = text[i+len("</think>"):]
	}
	return reply{strings.TrimSpace(text), max(0, got.Usage.Prompt)}, nil
}

// broken is a connection that failed before the answer was complete.
func (s *Server) broken(within context.Context, err error) *fault {
	if within.Err() != nil {
		return &fault{again: true, err: fmt.Errorf("%w within %v: lower --concurrency, or take a faster model", ErrFailed, callTimeout)}
	}
	return &fault{again: true, err: fmt.Errorf("%w: %s: is the server running at this address?", ErrFailed, s.tidy(err.Error()))}
}

// refused is an answer with a status other than 200.
func (s *Server) refused(resp *http.Response, raw []byte) *fault {
	said := s.tidy(complaint(raw))
	f := &fault{err: fmt.Errorf("%w: status %d: %s", ErrFailed, resp.StatusCode, said)}
	hint := func(kind error, what string) {
		f.err = fmt.Errorf("%w: status %d: %s: %s", kind, resp.StatusCode, said, what)
	}
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		hint(ErrServer, "set $OPENAI_API_KEY to a key that this server takes for this model")
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= 300 && status < 400:
		hint(ErrServer, "check --answer, which usually ends in /v1, and --model")
	case strings.Contains(string(raw), "insufficient_quota"):
		hint(ErrServer, "the account has no credit left")
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests, status >= 500:
		f.again, f.after = true, retryAfter(resp.Header)
		hint(ErrFailed, "lower --concurrency, or try later")
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
		hint(ErrFailed, "if the context is too long for the model, give its --window")
	}
	return f
}

// retryAfter reads how long the server asks to wait; 0 if it does not say.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(value, 64); err == nil && n >= 0 {
		return time.Duration(min(n, 86400) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// complaint finds the server's own words in the body of an error.
func complaint(raw []byte) string {
	var form struct {
		Error   json.RawMessage
		Message string
	}
	var inner struct{ Message string }
	var text string
	if json.Unmarshal(raw, &form) == nil {
		_ = json.Unmarshal(form.Error, &inner)
		_ = json.Unmarshal(form.Error, &text)
		for _, said := range []string{inner.Message, text, form.Message} {
			if said != "" {
				return said
			}
		}
	}
	return string(raw)
}

// tidy makes foreign words fit for an error: without the key, on one line, short.
func (s *Server) tidy(text string) string {
	if s.key != "" {
		text = strings.ReplaceAll(text, s.key, "[key]")
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\ufffd"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) <= maxComplaint {
		return text
	}
	cut := maxComplaint
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
