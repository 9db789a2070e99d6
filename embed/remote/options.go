package remote

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/llm"
)

// Defaults of Options.
const (
	// DefaultBatch is the most texts per request.
	DefaultBatch = 64
	// DefaultBatchBytes is the most bytes of text per request. No token is
	// shorter than a byte, so this stays below the 300,000 tokens that OpenAI
	// allows.
	DefaultBatchBytes = 256 << 10
	// DefaultTimeout is how long a single attempt may take.
	DefaultTimeout = 30 * time.Second
	// DefaultRetries is how often a request is tried again.
	DefaultRetries = 3

	// maxBatch is the most texts that OpenAI accepts.
	maxBatch = 2048
)

// Options configures a Model. BaseURL and Model are required.
type Options struct {
	// BaseURL is the address before "/embeddings": "https://api.openai.com/v1",
	// "http://127.0.0.1:11434/v1". A bare host gets /v1. It has no user or
	// fragment.
	BaseURL string
	// Model is the model's name at the server.
	Model string
	// Server replaces host and path of BaseURL in the model's Name. Set it if
	// a server has several addresses or has moved, so that stored vectors stay
	// usable.
	Server string
	// Key is sent as a bearer token; empty means that none is sent. Plain http carries it
	// only to this machine or a private network.
	Key string
	// Dimensions is the length of the vectors, which is requested and checked.
	// 0 means the model's own; not all models support others.
	Dimensions int
	// Batch is the most texts per request, up to 2048. 0 means DefaultBatch.
	// Some servers accept fewer.
	Batch int
	// BatchBytes is the most bytes of text per request. 0 means
	// DefaultBatchBytes. A larger text is sent alone.
	BatchBytes int
	// Timeout is how long a single attempt may take. 0 means DefaultTimeout.
	// The context of Embed bounds all attempts together.
	Timeout time.Duration
	// Retries is how often a request is tried again. 0 means DefaultRetries; a
	// negative number means never.
	Retries int
	// Client sends the requests. nil means a client with the default
	// transport. It is copied, and the copy follows no redirects.
	Client *http.Client
}

// withDefaults fills in the fields that are not set.
func (o Options) withDefaults() Options {
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = DefaultBatchBytes
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Retries == 0 {
		o.Retries = DefaultRetries
	}
	return o
}

// New returns a Model. It checks the options and sends nothing. Its error is
// an *Error with ErrConfig or ErrKey.
func New(o Options) (*Model, error) {
	o = o.withDefaults()
	for _, wrong := range []struct {
		is         bool
		name, hint string
	}{
		{strings.TrimSpace(o.Model) == "", "Model is empty",
			"name a model that the server has, such as text-embedding-3-small"},
		{strings.ContainsAny(o.Server, "@# \t\r\n"), "Server", `give it a plain name, without "@", "#" and spaces`},
		{o.Dimensions < 0, "Dimensions", "give a number above 0, or 0 for the model's own"},
		{o.Batch < 0 || o.Batch > maxBatch, "Batch", "give a number from 1 to 2048, or 0 for the default"},
		{o.BatchBytes < 0, "BatchBytes", "give a number above 0, or 0 for the default"},
		{o.Timeout < 0, "Timeout", "give a time above 0, or 0 for the default"},
	} {
		if wrong.is {
			return nil, badOption(wrong.name, wrong.hint)
		}
	}
	client, err := llm.New(llm.Options{URL: o.BaseURL, Key: o.Key, Timeout: o.Timeout, Retries: max(0, o.Retries),
		Client: o.Client})
	switch {
	case errors.Is(err, llm.ErrURL):
		return nil, badOption("BaseURL", explain(err).Hint)
	case err != nil:
		return nil, explain(err)
	}
	o.Key = ""
	return &Model{opts: o, client: client, name: nameOf(o, client.Base())}, nil
}

// nameOf returns the model's Name. The last "@" separates model and server,
// because a server's name contains none, so different choices never share a
// name. The name does not include http or https, because that does not change
// the vectors.
func nameOf(o Options, u *url.URL) string {
	server := o.Server
	if server == "" {
		server = u.Host + strings.TrimRight(u.EscapedPath(), "/")
		server = strings.ReplaceAll(server, "@", "%40")
	}
	name := "remote/" + o.Model + "@" + server
	if o.Dimensions > 0 {
		name += fmt.Sprintf("#%d", o.Dimensions)
	}
	return name
}
