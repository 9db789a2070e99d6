package api

import (
	"fmt"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/report"
)

// part is a part of a message. Images and files have a media type and a size, and no text.
type part struct {
	// One of text, thinking, call, result, image, document, audio and other.
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	// The name of a tool.
	Name string `json:"name,omitempty"`
	// The id of a call of a tool.
	ID    string `json:"id,omitempty"`
	Media string `json:"media,omitempty"`
	// The size of an image or a file.
	Bytes int `json:"bytes,omitempty"`
	// Whether the result is an error.
	Error bool `json:"error,omitempty"`
	// How the arguments of the call begin that a result answers; only of a single message.
	Asked string `json:"asked,omitempty"`
}

// partsOf returns the parts of a message, and whether texts are cut. Those inside of a
// result follow it.
func partsOf(m *report.Message, most int) (out []part, cut bool) {
	out = []part{}
	var add func(p *chat.Part)
	text := func(s string) string {
		s, _ = withoutBase64(s)
		if most > 0 && len(s) > most {
			s, cut = s[:clip.Floor(s, most)], true
		}
		return s
	}
	add = func(p *chat.Part) {
		switch p.Kind {
		case chat.Text, chat.Refusal, chat.Compaction:
			out = append(out, part{Kind: "text", Text: text(p.Text.String())})
		case chat.Thinking:
			out = append(out, part{Kind: "thinking", Text: text(p.Text.String())})
		case chat.Call:
			out = append(out, part{Kind: "call", Name: p.Name, ID: p.ID, Text: text(p.Arguments())})
		case chat.Result:
			out = append(out, part{Kind: "result", Name: p.Name, ID: p.ID, Error: p.IsError,
				Text: text(p.Text.String())})
			if len(p.Parts) == 1 && p.Parts[0].Kind == chat.Text {
				out[len(out)-1].Text = text(p.Parts[0].Text.String())
				return
			}
			for i := range p.Parts {
				add(&p.Parts[i])
			}
		case chat.Image:
			out = append(out, mediaPart("image", p, text))
		case chat.Document:
			out = append(out, mediaPart("document", p, text))
		case chat.Audio:
			out = append(out, mediaPart("audio", p, text))
		default:
			out = append(out, part{Kind: "other", Name: p.Type, Text: text(string(p.Raw))})
		}
	}
	if m.Chat == nil {
		return append(out, part{Kind: "other", Text: text(m.Text)}), cut
	}
	for i := range m.Chat.Parts {
		add(&m.Chat.Parts[i])
	}
	return out, cut
}

// mediaPart returns an image, a document or audio without its content, except for a plain
// text.
func mediaPart(kind string, p *chat.Part, text func(string) string) part {
	out := part{Kind: kind}
	if m := p.Media; m != nil {
		out.Media, out.Bytes, out.Text = m.Type, len(m.Data)/4*3, text(m.Text.String())
		if out.Text == "" {
			out.Name = clip.To(m.URL+m.FileID, clip.Line)
		}
	}
	if out.Media == "" {
		out.Media = kind
	}
	return out
}

// leastBase64 is the length from which a run of characters of base64 is not text.
const leastBase64 = 2048

// withoutBase64 returns a text with long runs of base64 replaced by their length, and
// whether there were any.
func withoutBase64(text string) (string, bool) {
	if len(text) < leastBase64 {
		return text, false
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); {
		if !inBase64[text[i]] {
			i++
			continue
		}
		end := i
		for end < len(text) && inBase64[text[end]] {
			end++
		}
		if end-i >= leastBase64 {
			b.WriteString(text[done:i])
			fmt.Fprintf(&b, "[base64, %d characters]", end-i)
			done = end
		}
		i = end
	}
	if done == 0 {
		return text, false
	}
	b.WriteString(text[done:])
	return b.String(), true
}

// inBase64 holds the characters of base64, in both alphabets.
var inBase64 = func() (in [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_") {
		in[c] = true
	}
	return in
}()
