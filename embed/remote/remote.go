package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/oriel-context/oriel/embed"
)

// Model asks one server for the vectors of one model. It is safe for concurrent use
// and has nothing to close. Requests of a call are sent one after the other.
type Model struct {
	opts   Options
	url    url.URL // of the endpoint
	client *http.Client
	name   string
	// dims is the length of the vectors: that of the options, or of the first answer;
	// 0 before it.
	dims atomic.Int64
}

var _ embed.Model = (*Model)(nil)

// Name is "remote/", the model's name, "@", the server, and "#" with the dimensions
// if they were chosen: "remote/text-embedding-3-small@api.openai.com/v1#256". The
// package comment says why the server is in it.
func (m *Model) Name() string { return m.name }

// String is the Name: a model may be printed and logged.
func (m *Model) String() string { return m.name }

// Embed returns one L2-normalised vector for each text, in order. Errors are of
// type *Error and come without vectors, also if only one of several requests failed.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for len(vectors) < len(texts) {
		first := len(vectors)
		last := m.lastOf(texts, first)
		part, fault := m.ask(ctx, texts[first:last+1])
		if fault != nil {
			fault.First, fault.Last = first, last
			return nil, fault
		}
		vectors = append(vectors, part...)
	}
	return vectors, nil
}

// lastOf gives the last text of the request that begins with first.
func (m *Model) lastOf(texts []string, first int) int {
	size := len(texts[first])
	last := first
	for last+1 < len(texts) && last+1-first < m.opts.Batch && size+len(texts[last+1]) <= m.opts.BatchBytes {
		last++
		size += len(texts[last])
	}
	return last
}

// ask sends one request, as often as it takes.
func (m *Model) ask(ctx context.Context, texts []string) ([][]float32, *Error) {
	body := m.request(texts)
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, m.fail(err, "")
		}
		vectors, fault := m.try(ctx, body, len(texts))
		if fault == nil {
			return vectors, nil
		}
		fault.Tries = try
		if err := ctx.Err(); err != nil { // whatever failed, it failed because of this
			fault.Err, fault.Hint = err, ""
			return nil, fault
		}
		if !fault.again || try > m.opts.Retries {
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
		if err := sleep(ctx, pause); err != nil {
			fault.Err, fault.Hint = fmt.Errorf("%w while waiting to try again: %w", err, fault.Err), ""
			return nil, fault
		}
	}
}

// blank is sent for a text without content.
const blank = "."

// request is the body of a request for the texts.
func (m *Model) request(texts []string) []byte {
	input := make([]string, len(texts))
	for i, text := range texts {
		if input[i] = text; strings.TrimSpace(text) == "" {
			input[i] = blank
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// Strings and a number: this cannot fail.
	_ = e.Encode(struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Format     string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{m.opts.Model, input, "float", m.opts.Dimensions})
	return b.Bytes()
}

// sized checks that all vectors of this model have one length. The server may have
// been given another model under the same name.
func (m *Model) sized(vectors [][]float32) *Error {
	got := int64(len(vectors[0]))
	if want := int64(m.opts.Dimensions); want > 0 && got != want {
		return m.fail(fmt.Errorf("%w: vectors have %d dimensions, not %d", ErrAnswer, got, want),
			"this model or server does not shorten vectors: leave Dimensions at 0, or give what it has")
	}
	if !m.dims.CompareAndSwap(0, got) && m.dims.Load() != got {
		return m.fail(fmt.Errorf("%w: vectors have %d dimensions, those before had %d", ErrAnswer, got, m.dims.Load()),
			"the server's model has changed: start anew, and embed anew what was kept")
	}
	return nil
}
