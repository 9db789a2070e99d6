package llm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/secret"
)

// Options configures a client. URL is required.
type Options struct {
	// URL is the address that SDKs take as their base: "https://api.openai.com/v1",
	// "http://127.0.0.1:11434/v1". A bare host gets /v1. It has no user or fragment.
	URL string
	// Key is sent as a bearer token. If it is empty, none is sent.
	Key string
	// KeyName is the setting that holds the key, for hints: "$OPENAI_API_KEY".
	KeyName string
	// Timeout is how long one attempt may take. 0 means that the context is
	// the only limit.
	Timeout time.Duration
	// Retries is how often a request is tried again.
	Retries int
	// Client sends the requests. nil means a client with a transport of its
	// own. It is copied, and the copy follows no redirects.
	Client *http.Client
	// Sleep waits between attempts. nil means a timer. Tests replace it.
	Sleep func(context.Context, time.Duration) error
}

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	o    Options // without the key
	http *http.Client
	own  bool // the transport is the client's own

	host string
	// private returns the fields that may contain keys. It is a function, so
	// that printing the client does not show them.
	private func() *private
}

// private holds the fields that printing a client must not show.
type private struct {
	url  *url.URL // the base
	key  string
	keys secret.Keys // the key, and keys in the query of url
}

// New returns a client. It checks the options and sends nothing. Its error is
// an *Error with ErrURL or ErrKey.
func New(o Options) (*Client, error) {
	u, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(o.Key)
	o.Key, o.KeyName = "", cmp.Or(o.KeyName, "the key")
	if err := checkKey(u, key, o.KeyName); err != nil {
		return nil, err
	}
	o.URL = ""
	p := &private{u, key, secret.Value(key).And(secret.Of(nil, u.RawQuery))}
	c := &Client{o: o, host: u.Host, private: func() *private { return p }}
	if o.Client != nil {
		sender := *o.Client
		c.http = &sender
	} else {
		c.own = true
		c.http = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second,
			ForceAttemptHTTP2: true,
		}}
	}
	// Follow no redirects, so that body and key reach no other server. (Go
	// itself would send the key on to another port and to plain http of the
	// same host.)
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.o.Sleep == nil {
		c.o.Sleep = sleep
	}
	return c, nil
}

// Base returns the base URL in use.
func (c *Client) Base() *url.URL {
	u := *c.private().url
	return &u
}

// Close closes idle connections.
func (c *Client) Close() {
	if c.own {
		c.http.CloseIdleConnections()
	}
}

// Request is what Post sends.
type Request struct {
	// Path is below the base URL: "chat/completions".
	Path string
	// Body is JSON.
	Body []byte
	// MaxAnswer is the most bytes of the answer.
	MaxAnswer int64
	// Check, if not nil, validates the answer. An error fails the attempt; an
	// error made by Later makes Post try again.
	Check func(answer []byte) error
}

// Post sends a request, retries if that may help, and returns the body of a
// 200 answer. Its error is an *Error, which wraps the context's error if ctx
// ended.
func (c *Client) Post(ctx context.Context, r Request) ([]byte, error) {
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, c.fail(err, "")
		}
		answer, fault := c.try(ctx, &r)
		if fault == nil {
			return answer, nil
		}
		fault.Tries = try
		if err := ctx.Err(); err != nil { // the context is the cause of any failure now
			fault.Err, fault.Hint = err, ""
			return nil, fault
		}
		if !fault.again || try > c.o.Retries {
			return nil, fault
		}
		pause := fault.RetryAfter
		if pause > maxRetryAfter {
			fault.Hint = fmt.Sprintf("the server asks to wait for %v: try again then", pause)
			return nil, fault
		}
		if pause <= 0 {
			pause = backoff(try)
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= pause {
			return nil, fault
		}
		if err := c.o.Sleep(ctx, pause); err != nil {
			fault.Err, fault.Hint = fmt.Errorf("%w while waiting to try again: %w", err, fault.Err), ""
			return nil, fault
		}
	}
}

// maxErrorBody is the most bytes that are read of an answer other than 200.
const maxErrorBody = 64 << 10

// try sends the request once.
func (c *Client) try(ctx context.Context, q *Request) ([]byte, *Error) {
	within := ctx
	if c.o.Timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, c.o.Timeout)
		defer cancel()
	}
	p := c.private()
	r, err := http.NewRequestWithContext(within, http.MethodPost, p.url.JoinPath(q.Path).String(),
		bytes.NewReader(q.Body))
	if err != nil {
		return nil, c.fail(fmt.Errorf("%w: %w", ErrURL, err), "")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "oriel")
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.broken(within, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		// Report what was read before the connection broke.
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		if len(said) == maxErrorBody { // half a key at the end would not be recognised
			said = said[:max(0, len(said)-8*max(len(p.key), len(p.url.RawQuery)))]
		}
		return nil, c.refused(resp, said)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, q.MaxAnswer+1))
	if err != nil {
		return nil, c.broken(within, err)
	}
	if int64(len(answer)) > q.MaxAnswer {
		return nil, c.fail(fmt.Errorf("%w: more than %d bytes", ErrAnswer, q.MaxAnswer),
			"check that the URL is that of such a server")
	}
	if q.Check != nil {
		if err := q.Check(answer); err != nil {
			return nil, c.unusable(err, answer)
		}
	}
	return answer, nil
}

// Clean returns a server's message in the form in which it may be shown:
// without the key, on one line, and shortened.
func (c *Client) Clean(text string) string { return tidy(text, c.private().keys) }
