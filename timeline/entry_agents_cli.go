package timeline

import (
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
)

const (
	// FormatPi is a line of a session of Pi, of any type.
	FormatPi = "pi"
	// FormatCopilot is an event of a session of GitHub Copilot CLI, of any type.
	FormatCopilot = "copilot-cli"
	// FormatContinue is an item of the history of a session of Continue.
	FormatContinue = "continue"
	// FormatGoose is a message of Goose: its row, with content as a list.
	FormatGoose = "goose"
	// FormatCrush is a message of Crush: its row, with parts as a list.
	FormatCrush = "crush"
)

// piMessage parses a line of a session of Pi.
func piMessage(role string, line rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	message := line.Get("message")
	if message.Get("role").EqualStr("toolResult") {
		out.Role = chat.Tool
		out.Parts = []chat.Part{{Kind: chat.Result, ID: message.Get("toolCallId").Str(),
			Name: message.Get("toolName").Str(), IsError: message.Get("isError").Bool(),
			Text: chat.Quote(texts(message.Get("content")))}}
		return out, nil
	}
	if text := message.Get("content"); text.Kind() == rawjson.String && strings.TrimSpace(text.Str()) != "" {
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: text.Raw()})
	}
	for block := range message.Get("content").Elems() {
		switch kind := block.Get("type").Str(); kind {
		case "text":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: chat.Quote(block.Get("text").Str())})
		case "thinking":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Thinking, Text: chat.Quote(block.Get("thinking").Str())})
		case "toolCall":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: block.Get("id").Str(),
				Name: block.Get("name").Str(), Args: block.Get("arguments").Raw()})
		case "image":
			out.Parts = append(out.Parts,
				mediaPart(block.Get("mimeType").Str(), &chat.Media{Data: []byte(block.Get("data").Str())}))
		default:
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Unknown, Type: kind})
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// copilotMessage parses an event of a session of Copilot CLI.
func copilotMessage(role string, event rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	data := event.Get("data")
	say := func(kind chat.Kind, v rawjson.Value) {
		if v.Kind() == rawjson.String && strings.TrimSpace(v.Str()) != "" {
			out.Parts = append(out.Parts, chat.Part{Kind: kind, Text: v.Raw()})
		}
	}
	switch event.Get("type").Str() {
	case "user.message", "assistant.message":
		say(chat.Thinking, data.Get("reasoningText"))
		say(chat.Text, data.Get("content"))
		for call := range data.Get("toolRequests").Elems() {
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: call.Get("toolCallId").Str(),
				Name: call.Get("name").Str(), Args: call.Get("arguments").Raw()})
		}
	case "tool.execution_complete":
		result := data.Get("result").Get("content")
		failed := data.Get("success").Kind() == rawjson.Bool && !data.Get("success").Bool()
		if failed && result.Kind() != rawjson.String {
			result = data.Get("error").Get("message")
		}
		code := data.Get("shellExecution").Get("exitCode")
		failed = failed || code.Kind() == rawjson.Number && string(code.Raw()) != "0"
		out.Parts = []chat.Part{{Kind: chat.Result, ID: data.Get("toolCallId").Str(), IsError: failed,
			Text: chat.Quote(result.Str())}}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// continueMessage parses an item of the history of a session of Continue. The model's message
// has its calls, and their results once they are there.
func continueMessage(role string, item rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	message, kind := item.Get("message"), chat.Text
	switch role {
	case "thinking":
		out.Role, kind = chat.Assistant, chat.Thinking
	case "tool":
		out.Parts = []chat.Part{{Kind: chat.Result, ID: message.Get("toolCallId").Str(),
			Text: chat.Quote(continueText(message.Get("content")))}}
		return out, nil
	}
	if text := item.Get("reasoning").Get("text"); strings.TrimSpace(text.Str()) != "" {
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Thinking, Text: text.Raw()})
	}
	content := message.Get("content")
	if content.Kind() == rawjson.String && strings.TrimSpace(content.Str()) != "" {
		out.Parts = append(out.Parts, chat.Part{Kind: kind, Text: content.Raw()})
	}
	for part := range content.Elems() {
		if url := part.Get("imageUrl").Get("url").Str(); url != "" {
			mime, data, inline := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
			media := &chat.Media{URL: url}
			if inline {
				media = &chat.Media{Type: mime, Data: []byte(data)}
			}
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Image, Media: media})
		} else if text := part.Get("text"); text.Kind() == rawjson.String {
			out.Parts = append(out.Parts, chat.Part{Kind: kind, Text: text.Raw()})
		}
	}
	for call := range message.Get("toolCalls").Elems() {
		function := call.Get("function")
		out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: call.Get("id").Str(),
			Name: function.Get("name").Str(), Args: []byte(function.Get("arguments").Str())})
	}
	for state := range item.Get("toolCallStates").Elems() {
		if output := state.Get("output"); output.Kind() == rawjson.Array {
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Result, ID: state.Get("toolCallId").Str(),
				IsError: state.Get("status").EqualStr("errored"), Text: chat.Quote(continueText(output))})
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// continueText joins the texts of what tools gave: a string, or a list of objects with
// content or text.
func continueText(v rawjson.Value) string {
	var all []string
	for e := range v.Elems() {
		if t := e.Get("content"); t.Kind() == rawjson.String {
			all = append(all, t.Str())
		}
	}
	if len(all) == 0 {
		return texts(v)
	}
	return strings.Join(all, "\n")
}

// gooseMessage parses a message of Goose.
func gooseMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	for block := range message.Get("content").Elems() {
		switch kind := block.Get("type").Str(); kind {
		case "text":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: chat.Quote(block.Get("text").Str())})
		case "thinking":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Thinking, Text: chat.Quote(block.Get("thinking").Str())})
		case "image":
			out.Parts = append(out.Parts,
				mediaPart(block.Get("mimeType").Str(), &chat.Media{Data: []byte(block.Get("data").Str())}))
		case "toolRequest", "frontendToolRequest":
			call := block.Get("toolCall").Get("value")
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: block.Get("id").Str(),
				Name: call.Get("name").Str(), Args: call.Get("arguments").Raw()})
		case "toolResponse":
			result := block.Get("toolResult")
			content := result.Get("value").Get("content")
			if !content.Exists() { // of earlier versions
				content = result.Get("value")
			}
			text := texts(content)
			if text == "" {
				text = result.Get("error").Str()
			}
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Result, ID: block.Get("id").Str(),
				IsError: result.Get("status").EqualStr("error") || result.Get("value").Get("isError").Bool(),
				Text:    chat.Quote(text)})
		default:
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Unknown, Type: kind})
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}

// crushMessage parses a message of Crush.
func crushMessage(role string, message rawjson.Value) (chat.Message, error) {
	out := chat.Message{Role: chat.Role(role)}
	for part := range message.Get("content").Elems() {
		data := part.Get("data")
		switch kind := part.Get("type").Str(); kind {
		case "text":
			if strings.TrimSpace(data.Get("text").Str()) != "" {
				out.Parts = append(out.Parts, chat.Part{Kind: chat.Text, Text: data.Get("text").Raw()})
			}
		case "reasoning":
			if strings.TrimSpace(data.Get("thinking").Str()) != "" {
				out.Parts = append(out.Parts, chat.Part{Kind: chat.Thinking, Text: data.Get("thinking").Raw()})
			}
		case "tool_call":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Call, ID: data.Get("id").Str(),
				Name: data.Get("name").Str(), Args: []byte(data.Get("input").Str())})
		case "tool_result":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Result, ID: data.Get("tool_call_id").Str(),
				Name: data.Get("name").Str(), IsError: data.Get("is_error").Bool(),
				Text: chat.Quote(data.Get("content").Str())})
		case "binary", "image_url": // pictures are in other forms: their place is shown
			out.Parts = append(out.Parts,
				chat.Part{Kind: chat.Text, Text: chat.Quote("(" + data.Get("Path").Str() + data.Get("url").Str() +
					")")})
		case "shell_command":
			out.Parts = append(out.Parts, chat.Part{Kind: chat.Text,
				Text: chat.Quote("$ " + data.Get("command").Str() + "\n" + data.Get("output").Str())})
		}
	}
	if len(out.Parts) == 0 {
		return out, ErrNoMessage
	}
	return out, nil
}
