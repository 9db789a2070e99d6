package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Bounds of an answer in bytes. A vector of 16,384 numbers written in full needs
// less than maxVector.
const (
	maxVector = 512 << 10
	maxRest   = 1 << 20
	maxError  = 64 << 10
)

// try sends the request once.
func (m *Model) try(ctx context.Context, body []byte, texts int) ([][]float32, *Error) {
	key, err := m.key()
	if err != nil {
		return nil, err.(*Error)
	}
	within, cancel := context.WithTimeout(ctx, m.opts.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(within, http.MethodPost, m.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, m.fail(fmt.Errorf("%w: BaseURL: %w", ErrConfig, err), "")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "oriel")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := m.client.Do(r)
	if err != nil {
		return nil, m.broken(within, err, key)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		// What was read before it broke is still the best there is to tell.
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
		if len(said) == maxError { // half a key at the end would not be found
			said = said[:max(0, len(said)-8*len(key))]
		}
		return nil, m.refused(resp, said, key)
	}
	limit := int64(maxRest + texts*maxVector)
	raw, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, m.broken(within, err, key)
	}
	if int64(len(raw)) > limit {
		return nil, m.fail(fmt.Errorf("%w: more than %d bytes", ErrAnswer, limit), "is BaseURL that of an embeddings server?")
	}
	vectors, err := parse(raw, texts)
	if err != nil {
		fault := m.fail(fmt.Errorf("%w: %w", ErrAnswer, scrubError(err, key)), "is BaseURL that of an embeddings server, and Model an embedding model?")
		if errors.Is(err, errSaid) {
			fault.Message, _ = message(raw)
			fault.Message = tidy(fault.Message, key)
		}
		return nil, fault
	}
	if fault := m.sized(vectors); fault != nil {
		return nil, fault
	}
	return vectors, nil
}

// broken is a connection that failed before the answer was complete.
func (m *Model) broken(within context.Context, err error, key string) *Error {
	if within.Err() != nil {
		// Not wrapped: the caller's own time is not over.
		fault := m.fail(fmt.Errorf("%w: no answer within %v", ErrUnavailable, m.opts.Timeout), "raise Timeout, or lower Batch")
		fault.again = true
		return fault
	}
	err = scrubError(err, key)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		// The Client's time, not the caller's: not wrapped either.
		err = errors.New(err.Error())
	}
	fault := m.fail(fmt.Errorf("%w: %w", ErrUnavailable, err), "")
	fault.again = true
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		fault.again, fault.Hint = false, "the server's certificate is not trusted: give a Client that knows its authority"
	case errors.Is(err, http.ErrSchemeMismatch):
		fault.again, fault.Hint = false, "the server does not speak https: begin BaseURL with http://"
	case errors.Is(err, syscall.ECONNREFUSED):
		fault.Hint = "is the server running at this address?"
	}
	return fault
}

// refused is an answer with a status other than 200.
func (m *Model) refused(resp *http.Response, said []byte, key string) *Error {
	text, code := message(said)
	fault := m.fail(ErrRefused, "")
	fault.Status = resp.StatusCode
	fault.Message = tidy(text, key)
	lower := strings.ToLower(text)
	switch status := resp.StatusCode; {
	case tooLong(status, lower, code):
		// Some servers say 500 here, which would not pass either.
		fault.Err, fault.Hint = ErrTooLong, "give shorter texts, or a model that reads more (with llama.cpp, raise --ubatch-size)"
	case code == "insufficient_quota":
		fault.Hint = "the account has no credit left"
	case status == http.StatusNotImplemented:
		fault.Hint = "the server does not embed as it was started (with llama.cpp, add --embeddings)"
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests, status >= 500:
		fault.Err, fault.again = ErrUnavailable, true
		fault.RetryAfter = retryAfter(resp.Header)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		fault.Hint = "check the key in $" + m.opts.KeyEnv
		if key == "" {
			fault.Hint = "set $" + m.opts.KeyEnv + " to the server's key"
		}
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		fault.Hint = "check BaseURL, which usually ends in /v1, and whether the server has the model"
	case status == http.StatusRequestEntityTooLarge, strings.Contains(lower, "batch"), strings.Contains(lower, "tokens per request"):
		fault.Hint = "lower Batch or BatchBytes"
	case status >= 300 && status < 400:
		fault.Hint = "redirects are not followed: give the final address as BaseURL"
		if to := tidy(resp.Header.Get("Location"), key); to != "" {
			fault.Message = "redirects to " + to
		}
	case status < 300:
		fault.Err, fault.Hint = fmt.Errorf("%w: no vectors", ErrAnswer), "is BaseURL that of an embeddings server?"
	case strings.Contains(lower, "dimension"), strings.Contains(lower, "matryoshka"):
		fault.Hint = "leave Dimensions at 0: not all models can shorten their vectors"
	}
	return fault
}

// lengthWords are how servers say that a text is too long: OpenAI and vLLM ("maximum
// context length", "maximum input length"), Ollama ("exceeds the context length"),
// llama.cpp ("too large to process", "max context size"), text-embeddings-inference
// ("must have less than … tokens").
var lengthWords = []string{
	"context length", "maximum input length", "input length exceeds", "too large to process", "max context size",
	"available context size", "n_ctx", "inputs` must have less than",
}

// tooLong recognises a text that is too long by the server's words.
func tooLong(status int, lower, code string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
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
