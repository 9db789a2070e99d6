package timeline

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire"
)

// The formats of other agents' files and of providers' exports.
const (
	// FormatCodex is a line of a Codex rollout, of any type.
	FormatCodex = "codex"
	// FormatChatGPT is a message of a ChatGPT export, FormatClaudeAI of a Claude export.
	FormatChatGPT  = "chatgpt"
	FormatClaudeAI = "claude-ai"
	// FormatGeminiCLI is a message of a Gemini CLI session.
	FormatGeminiCLI = "gemini-cli"
	// FormatOpenCode is a message of opencode: an object with info and parts.
	FormatOpenCode = "opencode"
	// FormatAider is a passage of aider's chat history, which is Markdown.
	FormatAider = "aider"
)

// CodexItem returns the item of a rollout's line. Lines of early versions are the items
// themselves.
func CodexItem(line rawjson.Value) (item rawjson.Value, ok bool) {
	if payload := line.Get("payload"); payload.Exists() {
		return payload, line.Get("type").EqualStr("response_item")
	}
	switch line.Get("type").Str() {
	case "message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output", "web_search_call":
		return line, true
	}
	return line, false
}

func codexMessage(line rawjson.Value) (chat.Message, error) {
	item, ok := CodexItem(line)
	if !ok {
		return chat.Message{}, ErrNoMessage
	}
	return readWire(wire.Responses, item.Raw())
}

// chatGPTMessage parses a message of a ChatGPT export. The export lacks pictures and
// other files, but shows where they were.
func chatGPTMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role), Name: message.Get("author").Get("name").Str()}
	content := message.Get("content")
	kind := chat.Text
	if t := content.Get("content_type"); t.EqualStr("thoughts") || t.EqualStr("reasoning_recap") {
		kind = chat.Thinking
	}
	say := func(text string) {
		if strings.TrimSpace(text) != "" {
			out.Parts = append(out.Parts, chat.Part{Kind: kind, Text: chat.Quote(text)})
		}
	}
	for part := range content.Get("parts").Elems() {
		switch {
		case part.Kind() == rawjson.String:
			say(part.Str())
		case part.Get("text").Kind() == rawjson.String: // what was said aloud
			say(part.Get("text").Str())
		case part.Kind() == rawjson.Object:
			say("(" + part.Get("content_type").Str() + ")")
		}
	}
	for thought := range content.Get("thoughts").Elems() {
		say(thought.Get("content").Str())
	}
	for _, key := range []string{"text", "result", "content"} { // code, output, recap
		if v := content.Get(key); v.Kind() == rawjson.String {
			say(v.Str())
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// claudeAIMessage parses a message of a Claude export, with the text of its attachments.
func claudeAIMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	say := func(kind chat.Kind, text string) {
		if strings.TrimSpace(text) != "" {
			out.Parts = append(out.Parts, chat.Part{Kind: kind, Text: chat.Quote(text)})
		}
	}
	for block := range message.Get("content").Elems() {
		switch block.Get("type").Str() {
		case "text":
			say(chat.Text, block.Get("text").Str())
		case "thinking":
			say(chat.Thinking, block.Get("thinking").Str())
		case "tool_use":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: block.Get("id").Str(), Name: block.Get("name").Str(), Args: block.Get("input").Raw()})
		case "tool_result":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Result, ID: block.Get("tool_use_id").Str(), Name: block.Get("name").Str(), IsError: block.Get("is_error").Bool(), Text: chat.Quote(texts(block.Get("content")))})
		}
	}
	if len(out.Parts) == 0 {
		say(chat.Text, message.Get("text").Str())
	}
	for file := range message.Get("attachments").Elems() {
		say(chat.Text, strings.TrimSpace("("+file.Get("file_name").Str()+")\n"+file.Get("extracted_content").Str()))
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// texts joins the texts of a value: a string, or a list of objects with text.
func texts(v rawjson.Value) string {
	if v.Kind() == rawjson.String {
		return v.Str()
	}
	var all []string
	for e := range v.Elems() {
		if t := e.Get("text"); t.Kind() == rawjson.String {
			all = append(all, t.Str())
		} else if e.Kind() == rawjson.String {
			all = append(all, e.Str())
		}
	}
	return strings.Join(all, "\n")
}

// geminiMessage parses a message of a Gemini CLI session. Calls and their results are in
// the model's message.
func geminiMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	for thought := range message.Get("thoughts").Elems() {
		text := strings.TrimSpace(thought.Get("subject").Str() + "\n" + thought.Get("description").Str())
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Thinking, Text: chat.Quote(text)})
	}
	if text := texts(message.Get("content")); strings.TrimSpace(text) != "" {
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: chat.Quote(text)})
	}
	for call := range message.Get("toolCalls").Elems() {
		id, name := call.Get("id").Str(), call.Get("name").Str()
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: id, Name: name, Args: call.Get("args").Raw()})
		var results []string
		for r := range call.Get("result").Elems() {
			response := r.Get("functionResponse").Get("response")
			if output := response.Get("output"); output.Kind() == rawjson.String {
				results = append(results, output.Str())
			} else if response.Exists() {
				results = append(results, string(response.Raw()))
			}
		}
		if len(results) > 0 {
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Result, ID: id, Name: name, IsError: call.Get("status").EqualStr("error"), Text: chat.Quote(strings.Join(results, "\n"))})
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// openCodeMessage parses a message of opencode. A tool part has both the call and its
// result.
func openCodeMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	for part := range message.Get("parts").Elems() {
		switch part.Get("type").Str() {
		case "text":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: chat.Quote(part.Get("text").Str())})
		case "reasoning":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Thinking, Text: chat.Quote(part.Get("text").Str())})
		case "file":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: chat.Quote("(" + part.Get("filename").Str() + ")")})
		case "tool":
			id, name, state := part.Get("callID").Str(), part.Get("tool").Str(), part.Get("state")
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: id, Name: name, Args: state.Get("input").Raw()})
			if state.Has("output") || state.Has("error") {
				failed := state.Get("status").EqualStr("error")
				text := state.Get("output").Str()
				if failed {
					text = state.Get("error").Str()
				}
				out.Parts = append(out.Parts, chat.Part{Kind: chat.Result, ID: id, Name: name, IsError: failed, Text: chat.Quote(text)})
			}
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// aiderMessage parses a passage of aider's history. A person's lines begin with ####.
func aiderMessage(role string, raw []byte) (chat.Message, error) {
	lines := strings.Split(strings.ToValidUTF8(string(raw), "\ufffd"), "\n")
	if role == string(chat.User) {
		for i, line := range lines {
			lines[i] = strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(line, "####"), " "), " \r")
		}
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if text == "" {
		return chat.Message{}, ErrNoMessage
	}
	return said(role, "", chat.Quote(text)), nil
}
