package wire

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/internal/secret"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// responsesItem reads one element of "input" of a Responses request.
func responsesItem(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	t := v.Get("type")
	if t.Exists() && t.Kind() != rawjson.String {
		return protocol.In(protocol.Wrong(t, "a string"), "type")
	}
	var err error
	if m.ID, err = protocol.Member(v, "id", protocol.Str); err != nil {
		return err
	}
	m.Type = protocol.Word(t)
	if m.Type == "message" || m.Type == "" && v.Has("role") {
		return responsesMessage(r, v, m)
	}
	m.Role = chat.Assistant
	if m.Parts, err = r.Take(v, 1); err != nil {
		return err
	}
	p := &m.Parts[0]
	p.Type, p.Raw = m.Type, v.Raw()
	return responsesOther(r, v, m, p)
}

func responsesMessage(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	if err := protocol.Role(v, v.Get("role"), m); err != nil {
		return err
	}
	content := v.Get("content")
	if !content.Exists() {
		return protocol.Missing(v, "content")
	}
	var err error
	if m.Parts, err = r.Content(content, responsesPart); err != nil {
		return protocol.In(err, "content")
	}
	return nil
}

// responsesOther reads every item that is not a message.
func responsesOther(r *protocol.Reader, v rawjson.Value, m *chat.Message, p *chat.Part) error {
	switch m.Type {
	case "reasoning":
		p.Kind = chat.Thinking
		p.Signed = v.Get("encrypted_content").Kind() == rawjson.String || m.ID != ""
		return reasoningText(r, v, p)
	case "compaction", "compaction_summary", "context_compaction":
		p.Kind = chat.Compaction
		return nil
	case "item_reference":
		p.Kind, p.ID = chat.Reference, m.ID
		return nil
	case "mcp_list_tools", "additional_tools":
		p.Kind = chat.Catalog
		return nil
	case "tool_search_output":
		// A client's search result answers its call; the provider's own needs no
		// call.
		p.Kind = chat.Catalog
		if id := v.Get("call_id"); id.Kind() == rawjson.String {
			p.Kind, m.Role, p.ID = chat.Result, chat.Tool, id.Str()
			p.Parts = []chat.Part{{Kind: chat.Catalog, Raw: p.Raw}}
		}
		return nil
	case "mcp_approval_request":
		p.Kind = chat.Call
		return protocol.Call(v, p, "id", "arguments")
	case "mcp_approval_response":
		p.Kind, m.Role = chat.Result, chat.Tool
		var err error
		p.ID, err = protocol.Member(v, "approval_request_id", protocol.Str)
		return err
	}
	switch {
	case strings.HasSuffix(m.Type, "_output"):
		p.Kind, m.Role = chat.Result, chat.Tool
		var err error
		if p.ID, err = protocol.Member(v, "call_id", protocol.Str); err != nil {
			return err
		}
		if p.ID == "" {
			p.ID = m.ID // results of local shells refer to the item's id
		}
		return r.Result(v, "output", p, responsesPart)
	case strings.HasSuffix(m.Type, "_call"):
		p.Kind = chat.Call
		for _, args := range []string{"arguments", "input", "action", "operation"} {
			if v.Has(args) {
				p.Args = v.Get(args).Raw()
				break
			}
		}
		var err error
		if p.Name, err = protocol.Member(v, "name", protocol.Str); err != nil {
			return err
		}
		if p.Name == "" {
			p.Name = strings.TrimSuffix(m.Type, "_call")
		}
		if p.ID, err = protocol.Member(v, "call_id", protocol.Str); err != nil {
			return err
		}
		// Without a call id, the provider ran it itself.
		p.Hosted = p.ID == ""
		p.Within, err = protocol.Member(v, "approval_request_id", protocol.Str)
		if err != nil {
			return err
		}
		return nil
	}
	return nil
}

// reasoningText reads the summary of a reasoning item, if it has one.
func reasoningText(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	for _, name := range []string{"summary", "content"} {
		list := v.Get(name)
		if list.Kind() != rawjson.Array || list.Len() == 0 {
			continue
		}
		parts, err := r.Content(list, responsesPart)
		if err != nil {
			return protocol.In(err, name)
		}
		p.Parts = append(p.Parts, parts...)
	}
	return nil
}

// responsesPart reads one element of an item's content.
func responsesPart(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	t := v.Get("type")
	if t.Kind() != rawjson.String {
		return nil
	}
	p.Type = protocol.Word(t)
	var err error
	switch p.Type {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		p.Kind = chat.Text
		p.Text, err = protocol.Member(v, "text", protocol.Text)
	case "refusal":
		p.Kind = chat.Refusal
		p.Text, err = protocol.Member(v, "refusal", protocol.Text)
	case "input_image", "computer_screenshot":
		p.Kind = chat.Image
		p.Media = mediaURL(v.Get("image_url"))
		p.Media.FileID = v.Get("file_id").Str()
		p.Media.Detail = v.Get("detail").Str()
	case "input_file":
		p.Kind = chat.Document
		p.Media = mediaURL(v.Get("file_data"))
		p.Media.FileID = v.Get("file_id").Str()
		if u := v.Get("file_url"); u.Exists() {
			p.Media.URL = u.Str()
		}
	case "input_audio":
		p.Kind = chat.Audio
		a := v.Get("input_audio")
		p.Media = &chat.Media{Type: "audio/" + a.Get("format").Str(), Data: protocol.Inner(a.Get("data"))}
	}
	return err
}

func responsesProtocol() *Protocol {
	return &Protocol{
		Name:         "responses",
		Title:        "OpenAI Responses",
		Vendor:       "openai",
		Route:        "/v1/responses",
		List:         "input",
		System:       "instructions",
		IsCall:       responsesCall,
		IsCount:      responsesCount,
		Signs:        protocol.Signs{Usual: true},
		Field:        responsesField,
		Message:      responsesItem,
		FromText:     responsesFromText,
		LacksList:    heldByProvider,
		Managed:      responsesManaged,
		Held:         []string{"previous_response_id", "conversation"},
		Tools:        []string{"tools"},
		NamesReplies: true,
		Encode:       encodeResponses,
		Reply:        readResponses,
		StreamType:   protocol.EventStream,
		Opening:      []string{"response.created", "response.queued", "response.in_progress"},
		Replies:      []string{"output"},
		NewStream:    func() protocol.Assembly { return new(responsesStream) },
		Content:      "content",
		Result:       responsesResultOf,
		Arguments:    responsesArguments,
		AllowsText:   responsesAllowsText,
		TextPart:     responsesTextPart,
		TooLong:      []string{`your input exceeds the context window of this model(?:\. please adjust your input and try again)?`},
		TooLongCodes: []string{"context_length_exceeded"},
		Bare:         responsesBare,
		Refusal:      openAIRefusal,
	}
}

// responsesBare removes the credentials of items that name tool servers.
func responsesBare(m *chat.Message) []byte {
	if plainItems[m.Type] {
		return m.Raw
	}
	return secret.StripItem(m.Raw)
}

// plainItems are the kinds of items that name no server.
var plainItems = map[string]bool{
	"": true, "message": true, "reasoning": true, "item_reference": true, "function_call": true, "function_call_output": true,
	"custom_tool_call": true, "custom_tool_call_output": true, "local_shell_call": true, "local_shell_call_output": true,
	"shell_call": true, "shell_call_output": true, "apply_patch_call": true, "apply_patch_call_output": true,
	"computer_call": true, "computer_call_output": true, "web_search_call": true, "file_search_call": true,
	"code_interpreter_call": true, "image_generation_call": true, "compaction": true,
}

func responsesCall(path string) bool { return protocol.IsAt(path, "/responses", "/v1", "/openai") }

func responsesCount(path string) bool {
	call, ok := strings.CutSuffix(path, "/input_tokens")
	return ok && responsesCall(call)
}

func responsesField(r *protocol.Reader, name string, v rawjson.Value) (err error) {
	if name == "instructions" {
		r.Request.System, err = r.Content(v, responsesPart)
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

func responsesManaged(body rawjson.Value) string {
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

// responsesFromText returns the message that a plain input stands for.
func responsesFromText(literal []byte) []byte {
	out := append([]byte(`{"role":"user","content":`), literal...)
	return append(out, '}')
}

func responsesResultOf(e *protocol.Edit, _ int) (parent rawjson.Value, name string, err error) {
	switch e.Message.Type {
	case "function_call_output", "custom_tool_call_output":
	case "mcp_approval_response", "tool_search_output":
		return parent, "", protocol.Fail(e.Root, "an item of type %q has no output", e.Message.Type)
	default: // shells, screenshots, patches: some return text, some never do
		switch e.Root.Get("output").Kind() {
		case rawjson.String, rawjson.Null, rawjson.Invalid:
		default:
			return parent, "", protocol.Fail(e.Root, "the output of a %s cannot be a text", e.Message.Type)
		}
	}
	return e.Root, "output", nil
}

func responsesArguments(e *protocol.Edit, _ int) (parent rawjson.Value, name string) {
	if e.Root.Has("arguments") {
		return e.Root, "arguments"
	}
	return e.Root, "input"
}

// responsesAllowsText allows text in messages alone, whatever comes before it.
func responsesAllowsText(e *protocol.Edit, _, _ int) error {
	if e.Message.Type != "" && e.Message.Type != "message" || e.Root.Kind() == rawjson.Object && !e.Root.Has("role") {
		return protocol.Fail(e.Root, "text cannot be added to an item of type %q", e.Message.Type)
	}
	return nil
}

func responsesTextPart(role chat.Role, literal []byte) []byte {
	if role == chat.Assistant {
		return protocol.TextPartOf("output_text", literal)
	}
	return protocol.TextPartOf("input_text", literal)
}
