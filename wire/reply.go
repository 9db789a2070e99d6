package wire

import (
	"fmt"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Reply is a model's reply, whole (ReadReply) or streamed (StreamReader).
type Reply struct {
	Format Format
	// Message is the assistant's turn in the form in which a client sends it back; nil
	// if nothing arrived, and for Responses.
	Message []byte
	// Items are the output items of Responses, in order; nil for other formats.
	Items [][]byte

	ID, Model string
	// Stop is stop_reason (Anthropic), finish_reason (Chat) or the status
	// (Responses: "completed", "incomplete: max_output_tokens").
	Stop  string
	Usage Usage
	// Error is the error that the provider reported instead of a reply, or within it.
	Error *ReplyError
	// Complete reports that the reply reached its proper end and was kept completely. A
	// reply cut off by a broken connection is not complete.
	Complete bool
	// Pending reports that there is no reply yet, or none any more, and that this is no
	// failure: a response that waits or runs in the background, or was cancelled.
	Pending bool
	// Notes list, for a log, what was not understood or not kept: the first few, without
	// duplicates, in terms of the protocol and never with text of the conversation.
	Notes []string
}

// Usage holds the provider's token counts. Except for Reasoning, the fields do not
// overlap: Input excludes what was read from or written to the cache, however the
// provider counts.
type Usage struct {
	Input, Output, CacheRead int
	// CacheWrite was written to the cache for the default time, CacheWrite1h for an
	// hour.
	CacheWrite, CacheWrite1h int
	// Reasoning is the part of Output that was thinking, if reported.
	Reasoning int
	// HasUsage reports whether the provider sent any counts.
	HasUsage bool
}

// TotalInput returns the size of the whole prompt, cached or not.
func (u Usage) TotalInput() int { return u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h }

// ReplyError is an error body or an error event.
type ReplyError struct {
	// Type and Code are the provider's ("overloaded_error", "context_length_exceeded",
	// "400"); each may be empty.
	Type, Code, Message string
	// Raw is the error in the form that ReadOverflow accepts.
	Raw []byte
}

func (e *ReplyError) Error() string { return "the provider answered with an error: " + e.Text() }

// Text returns the code, the type and the message.
func (e *ReplyError) Text() string {
	s := e.Message
	for _, word := range []string{e.Code, e.Type} {
		if word != "" {
			s = word + ": " + s
		}
	}
	return s
}

// Messages returns the reply as messages of a history: one, or one per item for
// Responses. They point into Message or Items. A reply of more than MaxParts parts is an
// error.
func (r *Reply) Messages() ([]chat.Message, error) {
	raws := r.Items
	if r.Message != nil {
		raws = [][]byte{r.Message}
	}
	if len(raws) > 0 && !r.Format.IsProtocol() {
		return nil, fmt.Errorf("format %s has no messages: use %s", r.Format, ProtocolNames())
	}
	msgs := make([]chat.Message, len(raws))
	p := r.Format.Protocol()
	reader := protocol.Reader{Most: MaxParts}
	for i, raw := range raws {
		m := &msgs[i]
		err := parse(raw, Limits{}, func(root rawjson.Value) error {
			m.Raw = root.Raw()
			return p.Message(&reader, root, m)
		})
		if err != nil {
			return nil, protocol.At(err, i)
		}
	}
	return msgs, nil
}

// ReadReply parses a body that was not streamed, including error bodies. Items point
// into body.
func ReadReply(f Format, body []byte) (*Reply, error) {
	r := &Reply{Format: f}
	var doc rawjson.Doc
	if err := doc.Reset(body, rawjson.Limits{Values: protocol.MaxValues}); err != nil {
		return nil, protocol.Broken(err)
	}
	root := doc.Root()
	if root.Kind() == rawjson.Array { // Google's form of an error
		root = root.First()
	}
	if root.Kind() != rawjson.Object {
		return nil, protocol.Wrong(doc.Root(), "an object")
	}
	r.ID, r.Model = root.Get("id").Str(), root.Get("model").Str()
	var err error
	switch f {
	case Anthropic:
		err = r.readAnthropic(root)
	case Chat:
		err = r.readChat(root)
	case Responses:
		err = r.readResponses(root)
	default:
		return nil, fmt.Errorf("no replies of format %s: want %s, %s or %s", f, Anthropic, Chat, Responses)
	}
	if err != nil && r.Error == nil {
		if r.Error = readError(root); r.Error == nil {
			return nil, err
		}
	}
	if r.Error != nil && r.Error.Raw == nil {
		r.Error.Raw = body
	}
	r.Complete = r.Complete && r.Error == nil
	return r, nil
}

// readError parses an error in any form that servers use, or returns nil if v is not an
// error.
func readError(v rawjson.Value) *ReplyError {
	e := v.Get("error")
	switch e.Kind() {
	case rawjson.Object:
	case rawjson.String: // Ollama
		return &ReplyError{Message: e.Str()}
	default:
		switch {
		case v.Get("type").EqualStr("error"), v.Get("object").EqualStr("error"): // Responses' event, vLLM
			e = v
		case v.Has("message") || v.Has("detail"): // gateways, FastAPI
			e = v
		default:
			return nil
		}
	}
	r := &ReplyError{Type: e.Get("type").Str(), Code: protocol.Scalar(e.Get("code")), Message: e.Get("message").Str()}
	if r.Type == "error" {
		r.Type = ""
	}
	if r.Message == "" {
		r.Message = protocol.Scalar(e.Get("detail"))
	}
	return r
}

// wrapError is readError for an error inside a larger value that may repeat the
// conversation: only the error is kept.
func wrapError(e rawjson.Value) *ReplyError {
	raw := append(append([]byte(`{"error":`), e.Raw()...), '}')
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil {
		return &ReplyError{Raw: raw}
	}
	r := readError(doc.Root())
	if r == nil {
		r = &ReplyError{Message: string(e.Raw())}
	}
	r.Raw = raw
	return r
}

// note adds what + name to the notes unless it is present or there are many.
func (r *Reply) note(what string, name []byte) {
	const most = 16
	if len(r.Notes) >= most {
		return
	}
	name = name[:min(len(name), 100)]
	for _, n := range r.Notes {
		if len(n) == len(what)+len(name) && n[:len(what)] == what && n[len(what):] == string(name) {
			return
		}
	}
	r.Notes = append(r.Notes, what+string(name))
}

// replaced is a member of an object with its new value.
type replaced struct {
	name  string
	value []byte
}

// appendReplaced appends an object with some members replaced; missing ones are added at
// the end. Without replacements it appends the object unchanged.
func appendReplaced(dst, object []byte, with []replaced) []byte {
	if len(with) == 0 {
		return append(dst, object...)
	}
	var doc rawjson.Doc
	_ = doc.Reset(object, rawjson.Limits{}) // valid: it was part of a parsed document
	start := len(dst)
	member := func(name, value []byte) {
		if len(dst) > start {
			dst = append(dst, ',')
		} else {
			dst = append(dst, '{')
		}
		dst = append(append(append(dst, name...), ':'), value...)
	}
	found := make([]bool, len(with))
	for k, v := range doc.Root().Members() {
		value := v.Raw()
		for i := range with {
			if k.EqualStr(with[i].name) {
				value, found[i] = with[i].value, true
			}
		}
		member(k.Raw(), value)
	}
	for i := range with {
		if !found[i] {
			member(chat.Quote(with[i].name), with[i].value)
		}
	}
	return append(dst, '}')
}
