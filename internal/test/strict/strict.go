// Package strict judges request bodies by the rules that the vendors document
// or enforce, and says which rule a body breaks.
//
// It exists so that a cut of a history can be checked by something that shares
// no code with the cutter: it reads JSON with the standard library only and
// imports no other package of this module. It is written for tests, replays and
// checks of recorded traffic, not for the path of a request.
//
// A rule is here when a vendor documents it or answers its breach with HTTP 400;
// the comment beside each check names the document or the error text. Where
// sources disagree, or a rule holds for some models only, the check takes the
// reading that refuses less, and its comment begins with "Doubtful:". Shapes
// that this package does not know (new block, part or item types) pass: vendors
// add them every month.
//
// Keys are matched exactly, as the vendors do, and the last of two equal keys
// wins, as in every parser that accepts them.
package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The stable words of Problem.Code.
const (
	BadJSON            = "bad-json"             // not a JSON object, or a field of the wrong JSON type
	MissingField       = "missing-field"        // a required field is absent or empty
	UnknownRole        = "unknown-role"         // a role the format does not have
	FirstRole          = "first-role"           // the history opens on a role that may not open it
	SameRole           = "same-role"            // two messages of one role in a row where roles must alternate
	LastRole           = "last-role"            // the history ends on a role that may not end it
	SystemPlace        = "system-place"         // a mid-conversation system message between the wrong neighbours
	WrongRole          = "wrong-role"           // a block in a message of the other side
	EmptyContent       = "empty-content"        // no messages, no content, or a text without text
	TrailingSpace      = "trailing-space"       // a final assistant text that ends in white space
	OrphanResult       = "orphan-result"        // a result without its call
	UnansweredCall     = "unanswered-call"      // a call without its result, with more history after it
	OpenEnd            = "open-end"             // the history ends while a call is being answered: the agent is running
	DuplicateResult    = "duplicate-result"     // two results for one call
	DuplicateCall      = "duplicate-call"       // two calls with one id where ids must be unique
	DuplicateItem      = "duplicate-item"       // two input items with one id
	ResultNotFirst     = "result-not-first"     // something stands before a result in its user turn
	BadID              = "bad-id"               // an id with characters the vendor refuses
	MissingTools       = "missing-tools"        // calls in the history, no tools in the request
	TooManyBreakpoints = "too-many-breakpoints" // more than four cache breakpoints
	BadBreakpoint      = "bad-breakpoint"       // a cache breakpoint where none may be
	TTLOrder           = "ttl-order"            // a breakpoint of one hour after one of five minutes
	ThinkingMissing    = "thinking-missing"     // a tool loop that lost the thinking it must begin with
	ThinkingLast       = "thinking-last"        // the last assistant turn ends on thinking
	ThinkingChanged    = "thinking-changed"     // a thinking block that was not in the history before
	ThinkingUnbound    = "thinking-unbound"     // a thinking block kept although something before it changed
	ReasoningAlone     = "reasoning-alone"      // a reasoning item without the item it led to
	ReasoningDropped   = "reasoning-dropped"    // an item that lost the reasoning that led to it
	BadPart            = "bad-part"             // a content part that the message's role may not have
)

// A Problem is one broken rule.
type Problem struct {
	// Code is one of the constants of this package.
	Code string
	// Index is the position in messages or input, -1 for the body as a whole.
	Index int
	// Msg is what is wrong, for a person.
	Msg string
}

func (p Problem) String() string {
	if p.Index < 0 {
		return p.Code + ": " + p.Msg
	}
	return fmt.Sprintf("%s at %d: %s", p.Code, p.Index, p.Msg)
}

// Codes returns the distinct codes of problems, sorted.
func Codes(problems []Problem) []string {
	var codes []string
	for _, p := range problems {
		codes = append(codes, p.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// Options loosen or tighten the rules where a body alone cannot tell.
type Options struct {
	// BlankSignatures accepts thinking blocks whose signature or data is an
	// empty string, as recordings have that were scrubbed.
	BlankSignatures bool
	// NoPrefill refuses a history that ends on an assistant message. Models
	// since Claude Opus 4.6 do ("This model does not support assistant message
	// prefill. The conversation must end with a user message."), older ones
	// complete the message.
	NoPrefill bool
	// Cloud, if set, is the version that a cloud wants, where the path has the model: "model:
	// Extra inputs are not permitted", "anthropic_version: Field required".
	Cloud string
}

// Anthropic judges a body for POST /v1/messages with the zero Options.
func Anthropic(body []byte) []Problem { return Options{}.Anthropic(body) }

// AnthropicOnVertex judges a body for Claude on Vertex AI.
func AnthropicOnVertex(body []byte) []Problem { return Options{Cloud: vertexVersion}.Anthropic(body) }

// AnthropicOnBedrock judges a body for Claude by Bedrock's InvokeModel.
func AnthropicOnBedrock(body []byte) []Problem { return Options{Cloud: bedrockVersion}.Anthropic(body) }

// The versions of Anthropic's protocol that clouds accept.
const vertexVersion, bedrockVersion = "vertex-2023-10-16", "bedrock-2023-05-31"

// problems collects what is wrong with one body.
type problems struct{ list []Problem }

func (p *problems) add(code string, index int, format string, args ...any) {
	p.list = append(p.list, Problem{Code: code, Index: index, Msg: fmt.Sprintf(format, args...)})
}

// object is a JSON object by exact keys; values stay as written.
type object map[string]json.RawMessage

// asObject reads raw as an object, nil if it is something else.
func asObject(raw json.RawMessage) object {
	var o object
	if !isKind(raw, '{') || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// asArray reads raw as an array; ok is false if it is something else.
func asArray(raw json.RawMessage) (list []json.RawMessage, ok bool) {
	if !isKind(raw, '[') || json.Unmarshal(raw, &list) != nil {
		return nil, false
	}
	return list, true
}

// asString reads raw as a string; ok is false if it is something else.
func asString(raw json.RawMessage) (s string, ok bool) {
	if !isKind(raw, '"') || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// isKind reports whether the value raw begins with the given byte.
func isKind(raw json.RawMessage, first byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == first
}

// has reports whether key is there with a value other than null.
func (o object) has(key string) bool {
	raw, ok := o[key]
	return ok && !isKind(raw, 'n')
}

// text returns the string at key, "" if there is none.
func (o object) text(key string) string {
	s, _ := asString(o[key])
	return s
}

// blank reports whether s holds nothing but white space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
