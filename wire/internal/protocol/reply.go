package protocol

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

// Reply is what a protocol reads of a model's reply. The fields mean the same as in Reply of
// package wire.
type Reply struct {
	Message           []byte
	Items             [][]byte
	ID, Model, Stop   string
	Usage             Usage
	Error             *ReplyError
	Complete, Pending bool
	Notes             []string
	Diagnosis         string
}

// Diagnose sets the provider's own diagnosis of a cache miss, if v is one: a short word in lower
// case, such as tools_changed.
func (r *Reply) Diagnose(v rawjson.Value) {
	if v.Kind() != rawjson.String {
		return
	}
	word := v.Str()
	if len(word) <= mostDiagnosis && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") == "" {
		r.Diagnosis = word
	}
}

// mostDiagnosis is the length of the longest diagnosis that is kept.
const mostDiagnosis = 64

// Usage holds the provider's token counts. Except for Reasoning, the fields do not
// overlap: Input excludes what was read from or written to the cache, however the
// provider counts.
type Usage struct {
	Input, Output, CacheRead int
	// CacheWrite was written to the cache for the default time, CacheWrite1h for the longer
	// one: an hour, or OpenAI's twelve.
	CacheWrite, CacheWrite1h int
	// Reasoning is the part of Output that was thinking, if reported.
	Reasoning int
	// Service is the service tier at another price that the provider used, in lower case,
	// such as "flex"; "" for the standard one.
	Service string
	// HasUsage reports whether the provider sent any counts.
	HasUsage bool
}

// TotalInput returns the size of the whole prompt, cached or not.
func (u Usage) TotalInput() int { return u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h }

// SetService sets the service tier, if v names one.
func (u *Usage) SetService(v rawjson.Value) {
	if v.Kind() != rawjson.String || v.EqualStr(u.Service) { // most chunks of a stream name it
		return
	}
	if v.EqualStr("default") {
		u.Service = ""
		return
	}
	switch name := strings.ToLower(v.Str()); name {
	case "auto", "standard":
		u.Service = ""
	default:
		u.Service = name[:min(len(name), maxService)]
	}
}

// maxService bounds the name of a service tier.
const maxService = 32

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

// ReadError parses an error in any form that servers use, or returns nil if v is not an
// error.
func ReadError(v rawjson.Value) *ReplyError {
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
	r := &ReplyError{Type: e.Get("type").Str(), Code: Scalar(e.Get("code")), Message: e.Get("message").Str()}
	if r.Type == "error" {
		r.Type = ""
	}
	if r.Message == "" {
		r.Message = Scalar(e.Get("detail"))
	}
	return r
}

// WrapError is ReadError for an error inside a larger value that may repeat the
// conversation: only the error is kept.
func WrapError(e rawjson.Value) *ReplyError {
	raw := append(append([]byte(`{"error":`), e.Raw()...), '}')
	doc, err := rawjson.Parse(raw, rawjson.Limits{})
	if err != nil {
		return &ReplyError{Raw: raw}
	}
	r := ReadError(doc.Root())
	if r == nil {
		r = &ReplyError{Message: string(e.Raw())}
	}
	r.Raw = raw
	return r
}

// Note adds what + name to the notes unless it is present or there are many.
func (r *Reply) Note(what string, name []byte) {
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

// Replaced is a member of an object with its new value.
type Replaced struct {
	Name  string
	Value []byte
}

// AppendReplaced appends an object with some members Replaced; missing ones are added at
// the end. Without replacements it appends the object unchanged.
func AppendReplaced(dst, object []byte, with []Replaced) []byte {
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
			if k.EqualStr(with[i].Name) {
				value, found[i] = with[i].Value, true
			}
		}
		member(k.Raw(), value)
	}
	for i := range with {
		if !found[i] {
			member(chat.Quote(with[i].Name), with[i].Value)
		}
	}
	return append(dst, '}')
}

// JoinList returns an object's list with more elements appended.
func JoinList(object []byte, name string, more []byte) []byte {
	out := []byte{'['}
	if doc, err := rawjson.Parse(object, rawjson.Limits{}); err == nil {
		if list := doc.Root().Get(name); list.Kind() == rawjson.Array && list.First().Exists() {
			raw := list.Raw()
			out = append(append(out, raw[1:len(raw)-1]...), ',')
		}
	}
	return append(append(out, more...), ']')
}

// StreamError returns the error of an event that is or contains one.
func StreamError(event rawjson.Value) *ReplyError {
	if e := event.Get("error"); e.Kind() == rawjson.Object || e.Kind() == rawjson.String {
		return WrapError(e)
	}
	return WrapError(event)
}
