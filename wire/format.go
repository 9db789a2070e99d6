package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Format is the format of a body.
type Format uint8

const (
	// Auto detects the format from the body.
	Auto Format = iota
	// Anthropic is Anthropic's POST /v1/messages.
	Anthropic
	// Chat is OpenAI's POST /v1/chat/completions.
	Chat
	// Responses is OpenAI's POST /v1/responses.
	Responses
	// Trajectories is the dictionary form of an agent's steps.
	Trajectories
	// Gemini is Google's POST /v1beta/models/MODEL:generateContent.
	Gemini
	// Ollama is Ollama's POST /api/chat.
	Ollama
	// Interactions is Google's POST /v1beta/interactions.
	Interactions
	// Converse is Amazon Bedrock's POST /model/MODEL/converse.
	Converse
)

func (f Format) String() string {
	if int(f) < len(protocols) {
		return protocols[f].Name
	}
	return fmt.Sprintf("Format(%d)", f)
}

// ParseFormat returns the format with a name.
func ParseFormat(name string) (Format, error) {
	for i, p := range protocols {
		if p.Name == name {
			return Format(i), nil
		}
	}
	return Auto, fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(FormatNames(), ", "))
}

// FormatNames returns the names of all formats.
func FormatNames() []string {
	names := make([]string, len(protocols))
	for i, p := range protocols {
		names[i] = p.Name
	}
	return names
}

// detect determines a body's format from what only one protocol has.
func detect(root rawjson.Value) Format {
	for _, p := range protocols {
		if p.IsProtocol() && root.Has(p.List) {
			return detectAmong(p.List, root)
		}
	}
	for i, p := range protocols {
		if p.LacksList != nil && p.LacksList(root) {
			return Format(i)
		}
	}
	if isTrajectory(root) {
		return Trajectories
	}
	return Auto
}

// detectAmong determines the format of a body with a list of messages by the signs of the
// protocols that have such a list. A sign that several have leaves it to the next signs which
// of these it is.
func detectAmong(list string, root rawjson.Value) Format {
	var left []Format
	for i, p := range protocols {
		if p.List == list {
			left = append(left, Format(i))
		}
	}
	narrow := func(has func(s *protocol.Signs) bool) (found bool) {
		var having []Format
		for _, f := range left {
			if has(&f.Protocol().Signs) {
				having = append(having, f)
			}
		}
		if len(having) > 0 {
			left = having
		}
		return len(left) == 1
	}
	is := func(sign func(rawjson.Value) bool, v rawjson.Value) bool { return sign != nil && sign(v) }
	for t := range root.Get("tools").Elems() {
		if narrow(func(s *protocol.Signs) bool { return is(s.Tool, t) }) {
			return left[0]
		}
	}
	content := left[0].Protocol().Content
	for m := range root.Get(list).Elems() {
		if narrow(func(s *protocol.Signs) bool { return is(s.Message, m) }) {
			return left[0]
		}
		for p := range m.Get(content).Elems() {
			if narrow(func(s *protocol.Signs) bool { return is(s.Part, p) }) {
				return left[0]
			}
		}
	}
	for k := range root.Members() {
		name := string(protocol.Key(k))
		if narrow(func(s *protocol.Signs) bool { return slices.Contains(s.Fields, name) }) {
			return left[0]
		}
	}
	model := root.Get("model").Raw()
	if !narrow(func(s *protocol.Signs) bool { return s.Model != "" && bytes.Contains(model, []byte(s.Model)) }) {
		narrow(func(s *protocol.Signs) bool { return s.Usual })
	}
	return left[0]
}
