// Package openai is what the two protocols of OpenAI share: the forms of media, of usage and
// of errors.
package openai

import (
	"bytes"
	"encoding/json"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// MediaURL reads a reference, which may be a data: URL.
func MediaURL(v rawjson.Value) *chat.Media {
	in := protocol.Inner(v)
	rest, ok := bytes.CutPrefix(in, []byte("data:"))
	if !ok {
		return &chat.Media{URL: v.Str()}
	}
	head, data, _ := bytes.Cut(rest, []byte(","))
	kind, _, _ := bytes.Cut(head, []byte(";"))
	return &chat.Media{Type: string(kind), Data: data}
}

// WriteMediaURL writes a URL; inline data becomes a data: URL.
func WriteMediaURL(w *protocol.Writer, m *chat.Media) {
	switch {
	case m == nil:
		w.Quote("")
	case m.Data != nil:
		w.Raw(`"data:`)
		w.Raw(m.Type)
		w.Raw(";base64,")
		w.Bytes(m.Data)
		w.Raw(`"`)
	default:
		w.Quote(m.URL)
	}
}

// WriteFile writes the members that locate a document.
func WriteFile(w *protocol.Writer, m *chat.Media) {
	switch {
	case m == nil:
	case m.FileID != "":
		w.Member("file_id").Quote(m.FileID)
	case m.Text != nil:
		w.Member("filename").Quote("document.txt")
		w.Member("file_data").Quote(m.Text.String())
	default:
		w.Member("filename").Quote("document")
		w.Member("file_data")
		WriteMediaURL(w, m)
	}
}

// ReadUsage reads the usage of Chat or Responses, in which the input includes what
// came from the cache.
func ReadUsage(u *protocol.Usage, v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		return
	}
	*u = protocol.Usage{HasUsage: true, Service: u.Service}
	details, output := v.Get("prompt_tokens_details"), v.Get("completion_tokens_details")
	protocol.SetCount(&u.Input, v.Get("prompt_tokens"))
	protocol.SetCount(&u.Output, v.Get("completion_tokens"))
	if v.Has("input_tokens") { // Responses
		details, output = v.Get("input_tokens_details"), v.Get("output_tokens_details")
		protocol.SetCount(&u.Input, v.Get("input_tokens"))
		protocol.SetCount(&u.Output, v.Get("output_tokens"))
	}
	protocol.SetCount(&u.CacheRead, v.Get("prompt_cache_hit_tokens")) // DeepSeek
	protocol.SetCount(&u.CacheRead, details.Get("cached_tokens"))
	protocol.SetCount(&u.CacheWrite, details.Get("cache_write_tokens"))
	protocol.SetCount(&u.Reasoning, output.Get("reasoning_tokens"))
	u.CacheRead = min(u.CacheRead, u.Input)
	u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	u.Input -= u.CacheRead + u.CacheWrite
	protocol.SetCount(&u.CacheWrite1h, details.Get("cache_write_tokens_details").Get("ttl_12h_tokens"))
	u.CacheWrite1h = min(u.CacheWrite1h, u.CacheWrite)
	u.CacheWrite -= u.CacheWrite1h
}

// Refusal writes an error as the servers for Chat and Responses do.
func Refusal(_ int, code, message string) []byte {
	var r struct {
		Error struct {
			Message string  `json:"message"`
			Type    string  `json:"type"`
			Param   *string `json:"param"`
			Code    string  `json:"code"`
		} `json:"error"`
	}
	r.Error.Message, r.Error.Type, r.Error.Code = message, "oriel_error", code
	body, _ := json.Marshal(r) // strings alone cannot fail
	return body
}
