package timeline

import (
	"encoding/json"
	"iter"
	"strconv"
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
	// FormatQwenCode is a line of a Qwen Code session, of any type.
	FormatQwenCode = "qwen-code"
	// FormatOpenCode is a message of opencode: an object with info and parts.
	FormatOpenCode = "opencode"
	// FormatCline is a message of a session of Cline.
	FormatCline = "cline"
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
	case "message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call",
		"custom_tool_call_output", "web_search_call":
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
		say(strings.TrimSpace(thought.Get("summary").Str() + "\n" + thought.Get("content").Str()))
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

// claudeAIMessage parses a message of a Claude export, with the text of its attachments and
// the names of its files.
func claudeAIMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	say := func(kind chat.Kind, text string) {
		if strings.TrimSpace(text) != "" {
			out.Parts = append(out.Parts, chat.Part{Kind: kind, Text: chat.Quote(text)})
		}
	}
	called := "" // the id of the last call
	for block := range message.Get("content").Elems() {
		switch block.Get("type").Str() {
		case "text", "voice_note":
			say(chat.Text, block.Get("text").Str())
		case "thinking":
			say(chat.Thinking, block.Get("thinking").Str())
		case "tool_use":
			if called = block.Get("id").Str(); called == "" { // earlier exports have none
				called = message.Get("uuid").Str() + "/" + strconv.Itoa(len(out.Parts))
			}
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: called, Name: block.Get("name").Str(),
				Args: block.Get("input").Raw()})
		case "tool_result":
			id := block.Get("tool_use_id").Str()
			if id == "" {
				id = called
			}
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Result, ID: id, Name: block.Get("name").Str(),
				IsError: block.Get("is_error").Bool(), Text: chat.Quote(texts(block.Get("content")))})
		}
	}
	if len(out.Parts) == 0 {
		say(chat.Text, message.Get("text").Str())
	}
	for file := range message.Get("attachments").Elems() {
		say(chat.Text, strings.TrimSpace("("+file.Get("file_name").Str()+")\n"+file.Get("extracted_content").Str()))
	}
	for file := range message.Get("files").Elems() { // pictures, which are not in the export
		if name := file.Get("file_name").Str(); name != "" {
			say(chat.Text, "("+name+")")
		}
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

// geminiMessage parses a message of a Gemini CLI session. The model's message has its calls,
// and their results once they are there. Messages that were restored when a session was
// resumed have the calls, or the results, in their content.
func geminiMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	for thought := range message.Get("thoughts").Elems() {
		text := strings.TrimSpace(thought.Get("subject").Str() + "\n" + thought.Get("description").Str())
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Thinking, Text: chat.Quote(text)})
	}
	var calls []chat.Part
	called := map[[2]string]bool{} // by id and name; there may be no id
	for call := range message.Get("toolCalls").Elems() {
		id, name := call.Get("id").Str(), call.Get("name").Str()
		called[[2]string{id, name}] = true
		calls = append(calls, chat.Part{Kind: chat.Call, ID: id, Name: name, Args: call.Get("args").Raw()})
		for r := range googleParts(call.Get("result")) {
			// The results of parallel calls may be in the list of each of them.
			if response := r.Get("functionResponse"); response.Exists() && (!response.Has("id") ||
				response.Get("id").EqualStr(id)) {
				calls = append(calls, geminiResult(id, name, response.Get("response"),
					call.Get("status").EqualStr("error")))
			}
		}
	}
	if content := message.Get("content"); content.Kind() == rawjson.String && strings.TrimSpace(content.Str()) != "" {
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: content.Raw()})
	}
	for part := range googleParts(message.Get("content")) {
		call := part.Get("functionCall")
		if called[[2]string{call.Get("id").Str(), call.Get("name").Str()}] && call.Exists() ||
			part.Get("thought").Bool() && message.Get("thoughts").Exists() {
			continue
		}
		if p, ok := googlePart(part); ok {
			out.Parts = append(out.Parts, p)
		}
	}
	out.Parts = append(out.Parts, calls...)
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// googleParts returns the parts of a value in Google's form: a list, or one part alone.
func googleParts(v rawjson.Value) iter.Seq[rawjson.Value] {
	if v.Kind() == rawjson.Object {
		return func(yield func(rawjson.Value) bool) { yield(v) }
	}
	return v.Elems()
}

// googlePart parses a part of a message in Google's form, or returns false for what is not
// said.
func googlePart(part rawjson.Value) (chat.Part, bool) {
	call, response := part.Get("functionCall"), part.Get("functionResponse")
	switch {
	case part.Kind() == rawjson.String:
		return chat.Part{Kind: chat.Text, Text: part.Raw()}, true
	case part.Get("thought").Bool():
		return chat.Part{Kind: chat.Thinking, Text: chat.Quote(part.Get("text").Str())}, true
	case part.Get("text").Kind() == rawjson.String:
		return chat.Part{Kind: chat.Text, Text: part.Get("text").Raw()}, true
	case call.Exists():
		return chat.Part{Kind: chat.Call, ID: call.Get("id").Str(), Name: call.Get("name").Str(),
			Args: call.Get("args").Raw()}, true
	case response.Exists():
		return geminiResult(response.Get("id").Str(), response.Get("name").Str(), response.Get("response"),
			response.Get("response").Has("error")), true
	case part.Has("inlineData"):
		data := part.Get("inlineData")
		return mediaPart(data.Get("mimeType").Str(), &chat.Media{Data: []byte(data.Get("data").Str())}), true
	case part.Has("fileData"):
		data := part.Get("fileData")
		return mediaPart(data.Get("mimeType").Str(), &chat.Media{URL: data.Get("fileUri").Str()}), true
	}
	return chat.Part{}, false
}

// qwenMessage parses a line of a Qwen Code session.
func qwenMessage(role string, line rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	for part := range line.Get("message").Get("parts").Elems() {
		if p, ok := googlePart(part); ok {
			out.Parts = append(out.Parts, p)
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// mediaPart returns the part of a picture, or of a document of another type.
func mediaPart(mime string, media *chat.Media) chat.Part {
	media.Type = mime
	if strings.HasPrefix(mime, "image/") {
		return chat.Part{Kind: chat.Image, Media: media}
	}
	return chat.Part{Kind: chat.Document, Media: media}
}

func geminiResult(id, name string, response rawjson.Value, failed bool) chat.Part {
	text := string(response.Raw())
	for _, key := range []string{"output", "error"} {
		if v := response.Get(key); v.Kind() == rawjson.String {
			text = v.Str()
			break
		}
	}
	return chat.Part{Kind: chat.Result, ID: id, Name: name, IsError: failed, Text: chat.Quote(text)}
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
			mime, url := part.Get("mime").Str(), part.Get("url").Str()
			if _, data, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(mime, "image/") {
				out.Parts = append(out.Parts, mediaPart(mime, &chat.Media{Data: []byte(data)}))
			} else {
				out.Parts = append(out.Parts,
					chat.Part{Kind: chat.Text, Text: chat.Quote("(" + part.Get("filename").Str() + ")")})
			}
		case "tool":
			id, name, state := part.Get("callID").Str(), part.Get("tool").Str(), part.Get("state")
			out.Parts = append(out.Parts,
				chat.Part{Kind: chat.Call, ID: id, Name: name, Args: state.Get("input").Raw()})
			if state.Has("output") || state.Has("error") {
				failed := state.Get("status").EqualStr("error")
				text := state.Get("output").Str()
				if failed {
					text = state.Get("error").Str()
				}
				out.Parts = append(out.Parts, chat.Part{Kind: chat.Result, ID: id, Name: name, IsError: failed,
					Text: chat.Quote(text)})
			}
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// clineMessage parses a message of a session of Cline.
func clineMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	if text := message.Get("content"); text.Kind() == rawjson.String {
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: chat.Quote(clineInput(text.Str()))})
	}
	for block := range message.Get("content").Elems() {
		var p chat.Part
		switch kind := block.Get("type").Str(); kind {
		case "text":
			p = chat.Part{Kind: chat.Text, Text: chat.Quote(clineInput(block.Get("text").Str()))}
		case "thinking":
			p = chat.Part{Kind: chat.Thinking, Text: chat.Quote(block.Get("thinking").Str())}
		case "file":
			p = chat.Part{Kind: chat.Text,
				Text: chat.Quote("(" + block.Get("path").Str() + ")\n" + block.Get("content").Str())}
		case "image":
			data := block
			if source := block.Get("source"); source.Exists() {
				data = source
			}
			mime := data.Get("media_type").Str()
			if mime == "" {
				mime = data.Get("mediaType").Str()
			}
			p = mediaPart(mime, &chat.Media{Data: []byte(data.Get("data").Str())})
			p.Kind = chat.Image
		case "tool_use":
			p = chat.Part{Kind: chat.Call, ID: block.Get("id").Str(), Name: block.Get("name").Str(),
				Args: block.Get("input").Raw()}
		case "tool_result":
			content := block.Get("content")
			text := texts(content)
			if text == "" && content.Kind() != rawjson.String {
				text = compact(content.Raw()) // as the model gets it
			}
			failed := block.Get("is_error").Bool()
			for e := range content.Elems() { // of several files or commands
				failed = failed || e.Get("success").Kind() == rawjson.Bool && !e.Get("success").Bool()
			}
			p = chat.Part{Kind: chat.Result, ID: block.Get("tool_use_id").Str(), Name: block.Get("name").Str(),
				IsError: failed, Text: chat.Quote(text)}
		default:
			p = chat.Part{Kind: chat.Unknown, Type: kind}
		}
		out.Parts = append(out.Parts, p)
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// compact returns JSON without white space between its tokens.
func compact(raw []byte) string {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if out.Encode(json.RawMessage(raw)) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// clineInput returns what the person wrote, without the tag that Cline puts around it in its
// file and does not send.
func clineInput(text string) string {
	rest, ok := strings.CutPrefix(text, "<user_input ")
	if !ok {
		return text
	}
	if _, own, ok := strings.Cut(rest, ">"); ok && strings.HasSuffix(own, "</user_input>") {
		return strings.TrimSuffix(own, "</user_input>")
	}
	return text
}

// aiderMessage parses a passage of aider's history. A person's lines begin with #### and end
// with two spaces.
func aiderMessage(role string, raw []byte) (chat.Message, error) {
	lines := strings.Split(strings.ToValidUTF8(string(raw), "\ufffd"), "\n")
	if role == string(chat.User) {
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(strings.TrimRight(line, "\r"), "  "),
				"####"), " ")
		}
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if text == "" {
		return chat.Message{}, ErrNoMessage
	}
	return said(role, "", chat.Quote(text)), nil
}
