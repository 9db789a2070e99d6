// Package converse is Amazon Bedrock's own protocol for all of its models: POST …/model/MODEL/converse
// and /converse-stream.
//
// The model is in the path. A block of a message is an object whose only member says what it is.
// Results of tools are in the user's message after their calls, and the roles of messages
// alternate. What is to be cached is marked by blocks of their own, which leave with their message.
package converse

import (
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/bedrock"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Protocol returns the protocol.
func Protocol() *protocol.Protocol {
	return &protocol.Protocol{
		Name:   "converse",
		Title:  "Converse",
		Vendor: "bedrock",

		Route:    "/model/MODEL/converse",
		IsCall:   func(path string) bool { _, action := split(path); return action != "" },
		FromPath: readPath,

		List:   "messages",
		System: "system",
		Tools:  []string{"toolConfig"},
		Signs: protocol.Signs{
			Part: isOwnPart,
			Fields: []string{"toolConfig", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig",
				"additionalModelResponseFieldPaths", "promptVariables", "performanceConfig", "requestMetadata"},
		},
		Field:   readField,
		Message: readMessage,
		Managed: managed,
		Held:    []string{variables, prompt},
		Rules:   chat.Rules{ResultsFollow: true},

		Between:    between,
		Content:    "content",
		Result:     locateResult,
		AsResult:   asResult,
		Arguments:  locateArguments,
		AllowsText: allowsText,
		TextPart:   func(chat.Role) string { return `{"text":` },

		Encode: encode,

		Reply:      readReply,
		Replies:    []string{"output", "stopReason"},
		StreamType: protocol.Frames,
		NewStream:  func() protocol.Assembly { return new(stream) },

		Refusal: bedrock.Refusal,
		TooLong: bedrock.TooLong,
		Unbound: unbound,

		Bare: protocol.RawOf,
	}
}

// unbound is Claude's refusal, as Bedrock passes it on.
var unbound = regexp.MustCompile("^(the model returned the following errors: )?messages\\.[0-9]+\\.content\\.[0-9]+: " +
	"invalid `signature` in `thinking` block\\. the block is bound to a different conversation")

// The actions of the protocol.
const whole, streamed = "converse", "converse-stream"

// split returns the model and the action of a call, or "" for another path.
func split(path string) (model, action string) {
	model, action = bedrock.Split(path)
	if action != whole && action != streamed {
		return "", ""
	}
	return model, action
}

func readPath(r *chat.Request, path string) {
	model, action := split(path)
	if action == "" {
		return
	}
	r.Model, r.Stream = model, action == streamed
	if bedrock.IsARN(model) && strings.Contains(model, ":prompt/") {
		r.Managed = prompt
	}
}

// Bedrock has a part of the request that names a prompt of Bedrock's prompt management in the place
// of a model, and that gives variables for it.
const variables, prompt = "promptVariables", "prompt"

// managed returns the member with which Bedrock or the model changes the prompt.
func managed(body rawjson.Value) string {
	if body.Has(variables) {
		return variables
	}
	const more, name = "additionalModelRequestFields", "context_management" // Claude's own
	for e := range body.Get(more).Get(name).Get("edits").Elems() {
		if t := e.Get("type").Str(); strings.HasPrefix(t, "clear_tool_uses") || strings.HasPrefix(t, "compact") {
			return name
		}
	}
	return ""
}

// isOwnPart tells a block from those of protocols with the same list, all of which have a type.
func isOwnPart(p rawjson.Value) bool {
	if p.Has("type") {
		return false
	}
	for _, name := range []string{"text", "toolUse", "toolResult", "reasoningContent", "cachePoint"} {
		if p.Has(name) {
			return true
		}
	}
	return false
}

// readField reads a member of a body beside the messages.
func readField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	switch name {
	case "system":
		r.Request.System, err = r.Content(v, readPart)
	case "toolConfig":
		err = protocol.In(readTools(r, v.Get("tools")), "tools")
	case "inferenceConfig":
		r.Request.MaxOutput, err = protocol.Member(v, "maxTokens", protocol.Count)
	case "additionalModelRequestFields":
		err = readMore(r, v)
	}
	return err
}

// readMore reads what is for the model alone: Claude's budget of thinking and its beta features.
func readMore(r *protocol.Reader, v rawjson.Value) (err error) {
	for _, name := range []string{"thinking", "reasoning_config"} {
		if v.Get(name).Kind() != rawjson.Object {
			continue
		}
		if r.Request.ThinkingBudget, err = protocol.Member(v.Get(name), "budget_tokens", protocol.Count); err != nil {
			return protocol.In(err, name)
		}
	}
	r.Betas(v.Get("anthropic_beta"))
	return nil
}

// readTools reads the definitions of tools. One of Amazon's is named by its kind; a mark of what to
// cache is none.
func readTools(r *protocol.Reader, v rawjson.Value) error {
	r.Request.Tools = nil // the last member with a name counts
	switch v.Kind() {
	case rawjson.Array:
	case rawjson.Invalid, rawjson.Null:
		return nil
	default:
		return protocol.Wrong(v, "an array")
	}
	if err := r.Few(v, v.Len(), "tools"); err != nil {
		return err
	}
	i := 0
	for t := range v.Elems() {
		if t.Kind() != rawjson.Object {
			return protocol.At(protocol.Wrong(t, "an object"), i)
		}
		i++
		for _, kind := range []string{"toolSpec", "systemTool"} {
			if spec := t.Get(kind); spec.Exists() {
				r.Request.Tools = append(r.Request.Tools, chat.ToolDef{Name: spec.Get("name").Str(), Raw: t.Raw()})
				break
			}
		}
	}
	return nil
}

// between stands where the turns between two of one side are left out: roles alternate.
func between(role chat.Role) []byte {
	if role == chat.Assistant {
		return []byte(`{"role":"user","content":[{"text":"\u2026"}]}`)
	}
	return []byte(`{"role":"assistant","content":[{"text":"\u2026"}]}`)
}
