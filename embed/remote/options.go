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
	// DefaultBatch is how many texts a request has at most.
	DefaultBatch = 64
	// DefaultBatchBytes is how many bytes of text a request has at most. No token is
	// shorter than a byte, so this stays below the 300,000 tokens that OpenAI allows.
	DefaultBatchBytes = 256 << 10
	// DefaultTimeout is how long a single try may take.
	DefaultTimeout = 30 * time.Second
	// DefaultRetries is how often a request is tried again.
	DefaultRetries = 3

	// maxBatch is the most texts that OpenAI takes.
	maxBatch = 2048
)

// Options say which server to ask, for what, and how patiently. BaseURL and Model
// must be set.
type Options struct {
	// BaseURL is the address before "/embeddings": "https://api.openai.com/v1",
	// "http://127.0.0.1:11434/v1". A bare host gets /v1. It has no user or
	// fragment.
	BaseURL string
	// Model is the server's name of the model.
	Model string
	// Server replaces host and path of BaseURL in the model's Name. Set it if one
	// server has several addresses, or has moved; vectors that were kept stay usable.
	Server string
	// Key is sent as a bearer token; empty means that none is sent. Plain http carries it
	// only to this machine or a private network.
	Key string
	// Dimensions is the length of the vectors: asked for and checked. 0 means the
	// model's own; not all models can give another.
	Dimensions int
	// Batch is how many texts a request has at most, up to 2048; 0 means
	// DefaultBatch. Some servers take fewer.
	Batch int
	// BatchBytes is how many bytes of text a request has at most; 0 means
	// DefaultBatchBytes. A single text that is larger is sent alone.
	BatchBytes int
	// Timeout is how long a single try may take; 0 means DefaultTimeout. The context
	// of Embed bounds all of them.
	Timeout time.Duration
	// Retries is how often a request is tried again; 0 means DefaultRetries, below 0
	// never.
	Retries int
	// Client sends the requests; nil means one with the default transport. It is
	// copied, and the copy follows no redirects.
	Client *http.Client
}

// withDefaults fills in what is not set.
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

// New checks the options. It sends nothing. Its error is an *Error with ErrConfig or ErrKey.
func New(o Options) (*Model, error) {
	o = o.withDefaults()
	for _, wrong := range []struct {
		is         bool
		name, hint string
	}{
		{strings.TrimSpace(o.Model) == "", "Model is empty", "name a model that the server has, such as text-embedding-3-small"},
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
	client, err := llm.New(llm.Options{URL: o.BaseURL, Key: o.Key, Timeout: o.Timeout, Retries: max(0, o.Retries), Client: o.Client})
	switch {
	case errors.Is(err, llm.ErrURL):
		return nil, badOption("BaseURL", explain(err).Hint)
	case err != nil:
		return nil, explain(err)
	}
	o.Key = ""
	return &Model{opts: o, client: client, name: nameOf(o, client.Base())}, nil
}

// nameOf makes the model's Name. The last "@" parts model and server, since a server's name
// has none, so that no two different choices share a name. Whether a server is asked by
// http or https does not change the vectors and is not part of it.
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
