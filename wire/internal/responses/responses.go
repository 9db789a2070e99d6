// Package responses is OpenAI's Responses: POST /v1/responses.
//
// A history is a list of items: messages, calls, results, reasoning and what tools of the
// provider leave. The provider may hold the history, and a request may continue a reply by its
// id.
package responses

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/wire/internal/openai"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// Protocol returns the protocol.
func Protocol() *protocol.Protocol {
	return &protocol.Protocol{
		Name:   "responses",
		Title:  "OpenAI Responses",
		Vendor: "openai",

		Route:   "/v1/responses",
		IsCall:  isCall,
		IsCount: isCount,
		Sockets: true,

		List:      "input",
		System:    "instructions",
		Tools:     []string{"tools"},
		Field:     readField,
		Message:   readItem,
		FromText:  fromText,
		LacksList: heldByProvider,
		Managed:   managed,
		Held:      []string{"previous_response_id", "conversation"},

		Content:    "content",
		Result:     locateResult,
		Arguments:  locateArguments,
		AllowsText: allowsText,
		TextPart:   textPart,

		Encode: encode,

		Reply:        readReply,
		Replies:      []string{"output"},
		NamesReplies: true,
		StreamType:   protocol.EventStream,
		Opening:      []string{"response.created", "response.queued", "response.in_progress"},
		NewStream:    func() protocol.Assembly { return new(stream) },

		Refusal:      openai.Refusal,
		TooLong:      tooLong,
		TooLongCodes: []string{"context_length_exceeded"},

		Bare: bare,
	}
}

var tooLong = []string{
	`your input exceeds the context window of this model(?:\. please adjust your input and try again)?`,
}

func isCall(path string) bool {
	return protocol.IsAt(path, "/responses", "/v1", "/openai", "/backend-api/codex")
}

func isCount(path string) bool {
	call, ok := strings.CutSuffix(path, "/input_tokens")
	return ok && isCall(call)
}

func readField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	if name == "instructions" {
		r.Request.System, err = r.Content(v, readPart)
		return err
	}
	return r.Member(name, v)
}

// heldByProvider reports whether a request may omit input because the provider holds it.
func heldByProvider(body rawjson.Value) bool {
	given := func(name string) bool {
		k := body.Get(name).Kind()
		return k == rawjson.String || k == rawjson.Object
	}
	return given("previous_response_id") || given("conversation") || body.Get("prompt").Kind() == rawjson.Object
}

func managed(body rawjson.Value) string {
	for _, name := range []string{"previous_response_id", "conversation"} {
		if v := body.Get(name); v.Exists() && v.Kind() != rawjson.Null {
			return name
		}
	}
	if body.Get("truncation").EqualStr("auto") {
		return "truncation"
	}
	if body.Get("context_management").Len() > 0 {
		return "context_management"
	}
	return ""
}

// fromText returns the message that a plain input stands for.
func fromText(literal []byte) []byte {
	out := append([]byte(`{"role":"user","content":`), literal...)
	return append(out, '}')
}

// bare removes the credentials of items that name tool servers.
func bare(m *chat.Message) []byte {
	if plainItems[m.Type] {
		return m.Raw
	}
	return secret.RemoveFromItem(m.Raw)
}

// plainItems are the kinds of items that name no server.
var plainItems = map[string]bool{
	"": true, "message": true, "reasoning": true, "item_reference": true, "function_call": true,
	"function_call_output": true, "custom_tool_call": true, "custom_tool_call_output": true,
	"local_shell_call": true, "local_shell_call_output": true, "shell_call": true, "shell_call_output": true,
	"apply_patch_call": true, "apply_patch_call_output": true, "computer_call": true,
	"computer_call_output": true, "web_search_call": true, "file_search_call": true,
	"code_interpreter_call": true, "image_generation_call": true, "compaction": true,
}
