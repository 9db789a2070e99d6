package call

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/wire"
)

// withoutSecrets returns a JSON text without credentials for tool servers; the same slice
// if it has none.
func withoutSecrets(raw []byte) []byte { return secret.Remove(raw) }

// readBody parses the body of a call at a path, which may have at most wire.MaxParts parts.
// It clips the model's name to clip.Name.
func readBody(raw []byte, f wire.Format, path string) (*wire.Body, error) {
	body, err := wire.Read(raw, f, wire.Limits{Parts: wire.MaxParts})
	if err != nil {
		return nil, err
	}
	if err := body.At(path); err != nil {
		return nil, err
	}
	body.Model = clip.To(body.Model, clip.Name)
	for i := range body.Messages { // for thread, the count and the log
		m := &body.Messages[i]
		m.Sum = chat.Sum(m.Raw)
	}
	return body, nil
}

// chainOf returns the leading system messages and the history of a request as they are
// stored: items that name tool servers have no credentials.
func chainOf(body *wire.Body) (system, chain []chat.Message) {
	system, chain = thread.Chain(body.Messages)
	bare := body.Format.Protocol().Bare
	shared := true
	for i := range chain {
		raw := bare(&chain[i])
		if len(raw) == len(chain[i].Raw) && &raw[0] == &chain[i].Raw[0] {
			continue
		}
		clean, err := wire.ReadMessage(body.Format, raw)
		if err != nil {
			clean = chain[i]
			clean.Raw, clean.Sum = raw, 0
		}
		if shared { // body.Messages is what is sent
			chain, shared = slices.Clone(chain), false
		}
		chain[i] = clean
	}
	return system, chain
}

// clean returns a text of the provider, or of the way to it, as it is stored: without the
// keys of the call, and not longer than n bytes.
func (c *Call) clean(text string, n int) string {
	if text == "" {
		return ""
	}
	// Clip to longest, clean, then clip to n, which is less: the second cut removes what
	// the first has left of a key.
	const longest = 8 << 10
	text = clip.To(text, longest)
	return clip.To(c.secrets().Clean(text), n)
}

// secrets returns the keys of the call.
func (c *Call) secrets() secret.Keys {
	c.readKeys.Do(func() { c.keys = secret.Of(c.request.Header, c.request.Query) })
	return c.keys
}

// hintsOf returns the hints of a call. A hint that contains a key of the call is replaced
// by its hash, which still tells conversations apart, because hints are stored, logged
// and sent back.
func hintsOf(h http.Header, f wire.Hints, keys func() secret.Keys) thread.Hints {
	hints := thread.HintsOf(h, f)
	for _, hint := range []*string{&hints.Session, &hints.User, &hints.Group} {
		if *hint != "" && keys().Clean(*hint) != *hint {
			*hint = timeline.HashOf([]byte(*hint)).String()
		}
	}
	return hints
}

// cleanPartial returns the received part of a reply that is not in the history, without
// the keys of the call.
func (c *Call) cleanPartial(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.engine.working, keysWait)
	defer cancel()
	text := string(raw)
	cleaned := c.secrets().CleanUntil(ctx, text)
	if cleaned == text {
		return raw
	}
	clean := []byte(cleaned)
	if !json.Valid(clean) {
		clean = []byte(`"` + secret.NotKept + `"`)
	}
	return clean
}
