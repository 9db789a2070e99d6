package converse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/wire/internal/protocol"
)

// encode writes a body. The model and whether the reply is streamed are in the path.
func encode(r *chat.Request) ([]byte, error) {
	w := encoder{}
	w.Raw("{")
	lead := 0
	for lead < len(r.Messages) && (r.Messages[lead].Role == chat.System || r.Messages[lead].Role == chat.Developer) {
		lead++
	}
	var system protocol.Writer
	if system.SystemPrompt("text", r.System, r.Messages[:lead]); len(system.Out) > 0 {
		w.Member("system").Raw("[{")
		w.Bytes(system.Out)
		w.Raw("}]")
	}
	var tools protocol.Writer
	if err := tools.Tools(r.Tools, `{"toolSpec":{`, "inputSchema.json", "}}"); err != nil {
		return nil, err
	}
	if len(tools.Out) > 0 {
		w.Member("toolConfig").Raw("{")
		w.Bytes(tools.Out)
		w.Raw("}")
	}
	if r.MaxOutput > 0 {
		w.Member("inferenceConfig").Raw(`{"maxTokens":`)
		w.Integer(r.MaxOutput)
		w.Raw("}")
	}
	w.Member("messages").Raw("[")
	for _, t := range protocol.Turns(r.Messages[lead:]) {
		w.turn(&t)
	}
	w.end()
	w.Raw("]}")
	return w.Out, nil
}

type encoder struct {
	protocol.Writer
	role      string // of the message that is being written
	documents int
}

// turn writes the blocks of a turn. Roles alternate: turns of one side are one message.
func (w *encoder) turn(t *protocol.Turn) {
	role := "user"
	if t.Role == chat.Assistant {
		role = "assistant"
	}
	for i := range t.Parts {
		p := &t.Parts[i]
		if (p.Kind == chat.Text || p.Kind == chat.Refusal) && strings.TrimSpace(p.Text.String()) == "" {
			continue // Bedrock refuses empty texts, and messages without blocks
		}
		if role != w.role {
			w.end()
			w.Open("{")
			w.Member("role").Quote(role)
			w.Member("content").Raw("[")
			w.role = role
		}
		w.part(p)
	}
}

// end ends the message that is being written.
func (w *encoder) end() {
	if w.role != "" {
		w.Raw("]}")
	}
}

func (w *encoder) part(p *chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		w.Open(`{"text":`)
		w.Literal(p.Text)
		w.Raw("}")
	case chat.Image, chat.Audio, chat.Document:
		w.media(p)
	case chat.Call:
		w.Open(`{"toolUse":{"toolUseId":`)
		w.Quote(protocol.CallID(p))
		w.Member("name").Quote(p.Name)
		w.Member("input").Bytes(protocol.Object(p))
		w.Raw("}}")
	case chat.Result:
		w.Open(`{"toolResult":{"toolUseId":`)
		w.Quote(protocol.CallID(p))
		w.Member("content").Raw(`[{"text":`)
		w.Quote(protocol.Plain([]chat.Part{*p}))
		w.Raw("}]")
		if p.IsError {
			w.Member("status").Raw(`"error"`)
		}
		w.Raw("}}")
	default:
		w.Open(`{"text":`)
		w.Quote(string(p.Raw))
		w.Raw("}")
	}
}

// formats are the formats that Bedrock knows of each kind.
var formats = map[chat.Kind][]string{
	chat.Image:    {"png", "jpeg", "gif", "webp"},
	chat.Audio:    {"mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mpeg", "pcm", "webm"},
	chat.Document: {"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"},
}

// media writes a picture, a recording or a document. Bedrock fetches nothing but objects of S3: what
// is elsewhere, or in a format that it does not know, becomes a text.
func (w *encoder) media(p *chat.Part) {
	m := p.Media
	if m == nil {
		m = &chat.Media{}
	}
	name := map[chat.Kind]string{chat.Image: "image", chat.Audio: "audio", chat.Document: "document"}[p.Kind]
	format := formatOf(m.Type)
	switch known := slices.Contains(formats[p.Kind], format); {
	case m.Text != nil:
		w.Open(`{"text":`)
		w.Literal(m.Text)
		w.Raw("}")
		return
	case !known || m.Data == nil && !strings.HasPrefix(m.URL, "s3://"):
		w.Open(`{"text":`)
		w.Quote("[" + name + " " + m.Type + " " + m.URL + m.FileID + "]")
		w.Raw("}")
		return
	}
	w.Open("{")
	w.Member(name).Raw("{")
	w.Member("format").Quote(format)
	if p.Kind == chat.Document { // each needs a name of its own
		w.documents++
		w.Member("name").Quote("document " + strconv.Itoa(w.documents))
	}
	w.Member("source").Raw("{")
	if m.Data != nil {
		w.Member("bytes").Inner(m.Data)
	} else {
		w.Member("s3Location").Raw(`{"uri":`)
		w.Quote(m.URL)
		w.Raw("}")
	}
	w.Raw("}}}")
}

// formatOf returns Bedrock's name of a media type.
func formatOf(mediaType string) string {
	for format, t := range mediaTypes {
		if t == mediaType {
			return format
		}
	}
	_, format, _ := strings.Cut(mediaType, "/")
	return format
}
