package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/internal/llm"
)

// Model requests the vectors of one model from one server. It is safe for
// concurrent use. The requests of a call are sent one after the other.
type Model struct {
	opts   Options // without the key
	client *llm.Client
	name   string
	// dims is the length of the vectors, from the options or the first answer;
	// 0 before that.
	dims atomic.Int64
}

var _ embed.Model = (*Model)(nil)

// Name returns "remote/", the model's name, "@", the server, and "#" with the
// dimensions if they were chosen:
// "remote/text-embedding-3-small@api.openai.com/v1#256". The package comment
// explains why it includes the server.
func (m *Model) Name() string { return m.name }

// String returns the Name, so that a model can be printed and logged.
func (m *Model) String() string { return m.name }

// Close closes idle connections.
func (m *Model) Close() { m.client.Close() }

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

// lastOf returns the last text of the request that begins with first.
func (m *Model) lastOf(texts []string, first int) int {
	size := len(texts[first])
	last := first
	for last+1 < len(texts) && last+1-first < m.opts.Batch && size+len(texts[last+1]) <= m.opts.BatchBytes {
		last++
		size += len(texts[last])
	}
	return last
}

// Limits of an answer in bytes. A vector of 16,384 numbers with all digits
// needs less than maxVector.
const (
	maxVector = 512 << 10
	maxRest   = 1 << 20
)

// ask sends one request.
func (m *Model) ask(ctx context.Context, texts []string) (vectors [][]float32, fault *Error) {
	_, err := m.client.Post(ctx, llm.Request{
		Path: "embeddings", Body: m.request(texts), MaxAnswer: int64(maxRest + len(texts)*maxVector),
		Check: func(answer []byte) (err error) {
			vectors, err = parse(answer, len(texts))
			return err
		},
	})
	if err != nil {
		return nil, explain(err)
	}
	if err := m.sized(vectors); err != nil {
		return nil, err
	}
	return vectors, nil
}

// blank is sent for a text without content.
const blank = "."

// request returns the body of a request for texts.
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
	// Encoding strings and a number cannot fail.
	_ = e.Encode(struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Format     string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{m.opts.Model, input, "float", m.opts.Dimensions})
	return b.Bytes()
}

// sized checks that all vectors of this model have one length. The server may
// have loaded another model under the same name.
func (m *Model) sized(vectors [][]float32) *Error {
	fail := func(hint, format string, args ...any) *Error {
		err := fmt.Errorf("%w: "+format, append([]any{ErrAnswer}, args...)...)
		return &Error{Server: m.client.Base().Host, Tries: 1, Err: err, Hint: hint, details: err.Error()}
	}
	got := int64(len(vectors[0]))
	if want := int64(m.opts.Dimensions); want > 0 && got != want {
		return fail("this model or server does not shorten vectors: leave Dimensions at 0, or give what it has",
			"vectors have %d dimensions, not %d", got, want)
	}
	if !m.dims.CompareAndSwap(0, got) && m.dims.Load() != got {
		return fail("the server's model has changed: restart, and embed everything again",
			"vectors have %d dimensions, those before had %d", got, m.dims.Load())
	}
	return nil
}
