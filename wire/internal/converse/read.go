package converse

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// readMessage reads one element of "messages".
func readMessage(r *protocol.Reader, v rawjson.Value, m *chat.Message) error {
	var role, content rawjson.Value
	for k, val := range v.Members() {
		switch string(protocol.Key(k)) {
		case "role":
			role = val
		case "content":
			content = val
		}
	}
	if err := protocol.Role(v, role, m); err != nil {
		return err
	}
	if !content.Exists() {
		return protocol.Missing(v, "content")
	}
	var err error
	if m.Parts, err = r.Content(content, readPart); err != nil {
		return protocol.In(err, "content")
	}
	for i := range m.Parts { // the tool ran at Amazon
		if p := &m.Parts[i]; p.Kind == chat.Result && m.Role == chat.Assistant {
			p.Hosted = true
		}
	}
	return nil
}

// blocks are the members that say what a block is.
var blocks = []string{"text", "image", "audio", "document", "video", "toolUse", "toolResult", "reasoningContent",
	"citationsContent", "toolAddition", "toolRemoval", "cachePoint"}

// readPart reads one block: its member says what it is.
func readPart(r *protocol.Reader, v rawjson.Value, p *chat.Part) (err error) {
	for k := range v.Members() {
		name := string(protocol.Key(k))
		if !slices.Contains(blocks, name) {
			continue
		}
		val := v.Get(name) // the last one with the name
		switch name {
		case "text":
			p.Kind = chat.Text
			p.Text, err = protocol.Text(val)
		case "image":
			p.Kind, p.Media = chat.Image, readMedia(val, "image/")
		case "audio":
			p.Kind, p.Media = chat.Audio, readMedia(val, "audio/")
		case "document":
			p.Kind, p.Media = chat.Document, readMedia(val, "application/")
		case "video":
			p.Kind, p.Media = chat.Document, readMedia(val, "video/")
		case "toolUse":
			p.Kind, p.Hosted = chat.Call, val.Get("type").EqualStr("server_tool_use")
			err = protocol.Call(val, p, "toolUseId", "input")
		case "toolResult":
			p.Kind = chat.Result
			err = readResult(r, val, p)
		case "reasoningContent":
			p.Kind = chat.Thinking
			err = readReasoning(val, p)
		case "citationsContent": // what the model said, with its sources: it stays as it came
			p.Kind, p.Signed = chat.Text, true
			p.Text = cited(val)
		case "toolAddition", "toolRemoval":
			p.Kind, p.Name = chat.Catalog, val.Get("tool").Get("name").Str()
		case "cachePoint":
			p.Type, p.Cached = chat.Breakpoint, true
			return nil
		}
		p.Type = name
		return protocol.In(err, name)
	}
	return nil
}

func readReasoning(v rawjson.Value, p *chat.Part) (err error) {
	text := v.Get("reasoningText")
	if p.Text, err = protocol.Member(text, "text", protocol.Text); err != nil {
		return protocol.In(err, "reasoningText")
	}
	signature := text.Get("signature")
	p.Signed = v.Has("redactedContent") || signature.Kind() == rawjson.String && len(signature.Raw()) > 2
	return nil
}

func readResult(r *protocol.Reader, v rawjson.Value, p *chat.Part) (err error) {
	if p.ID, err = protocol.Member(v, "toolUseId", protocol.Str); err != nil {
		return err
	}
	p.IsError = v.Get("status").EqualStr("error")
	if only := onlyText(v); only.Exists() {
		p.Text = chat.String(only.Get("text").Raw())
		return nil
	}
	return r.Result(v, "content", p, readResultPart)
}

// onlyText returns the block of a result that has nothing but a text.
func onlyText(result rawjson.Value) (block rawjson.Value) {
	content := result.Get("content")
	if content.Kind() != rawjson.Array || content.Len() != 1 {
		return block
	}
	only := content.First()
	if only.Kind() != rawjson.Object || only.Len() != 1 || only.Get("text").Kind() != rawjson.String {
		return block
	}
	return only
}

// readResultPart reads one block of a result, which may also be JSON.
func readResultPart(r *protocol.Reader, v rawjson.Value, p *chat.Part) error {
	if j := v.Get("json"); j.Exists() {
		p.Kind, p.Type, p.Text = chat.Text, chat.JSON, chat.Quote(string(j.Raw()))
		return nil
	}
	return readPart(r, v, p)
}

// cited returns the literal of the texts of a content with citations.
func cited(v rawjson.Value) chat.String {
	var inner []byte
	for c := range v.Get("content").Elems() {
		if text := c.Get("text"); text.Kind() == rawjson.String {
			inner = append(inner, protocol.Inner(text)...)
		}
	}
	return protocol.AppendQuoted(nil, inner)
}

// mediaTypes are the types of formats whose name is not the second half of one.
var mediaTypes = map[string]string{
	"csv": "text/csv", "html": "text/html", "txt": "text/plain", "md": "text/markdown", "doc": "application/msword",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xls":  "application/vnd.ms-excel",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"mp3":  "audio/mpeg", "three_gp": "video/3gpp",
}

// readMedia reads a picture, a recording or a document; kind is the first half of its type.
func readMedia(v rawjson.Value, kind string) *chat.Media {
	m := &chat.Media{}
	if format := v.Get("format").Str(); mediaTypes[format] != "" {
		m.Type = mediaTypes[format]
	} else if format != "" {
		m.Type = kind + format
	}
	source := v.Get("source")
	m.URL = source.Get("s3Location").Get("uri").Str()
	if data := source.Get("bytes"); data.Kind() == rawjson.String {
		m.Data = protocol.Inner(data)
	}
	switch text := source.Get("text"); {
	case text.Kind() == rawjson.String:
		m.Text = chat.String(text.Raw())
	case source.Get("content").Kind() == rawjson.Array:
		m.Text = cited(source)
	}
	return m
}
