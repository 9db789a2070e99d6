package token

import (
	"math"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

func (c *Counter) parts(parts []chat.Part) raw {
	var r raw
	for i := range parts {
		r.add(c.part(&parts[i]))
	}
	return r
}

// part counts one part by its kind (SPEC B6).
func (c *Counter) part(p *chat.Part) raw {
	s := &c.model.structure
	switch p.Kind {
	case chat.Text, chat.Refusal:
		return raw{text: countString(c.enc, p.Text)}
	case chat.Call:
		return raw{
			text:  c.enc.Count(p.Name) + c.json(p.Args),
			fixed: s.Call,
			rough: true,
		}
	case chat.Result:
		r := c.parts(p.Parts)
		r.text += countString(c.enc, p.Text)
		r.fixed += s.Result
		r.rough = r.rough || s.Result > 0
		return r
	case chat.Thinking, chat.Compaction:
		return c.opaque(p)
	case chat.Image:
		return c.picture(p.Media)
	case chat.Document:
		return c.document(p)
	case chat.Audio:
		return c.audio(p.Media)
	}
	// Unknown, Reference, Catalog and whatever a later version adds.
	if len(p.Raw) == 0 {
		return raw{text: countString(c.enc, p.Text), rough: true}
	}
	return raw{text: c.enc.CountBytes(p.Raw), rough: true}
}

// json counts a value's text; a string literal is taken for what it holds.
func (c *Counter) json(b []byte) int {
	if len(b) > 0 && b[0] == '"' {
		return countString(c.enc, chat.String(b))
	}
	return c.enc.CountBytes(b)
}

// opaque counts reasoning. What can be read is counted as text; what is signed
// or encrypted is judged by its length, since providers return a summary, or
// nothing, in place of the words that they count: base64 holds 3 bytes in 4
// characters, and a token is about 4 bytes.
func (c *Counter) opaque(p *chat.Part) raw {
	r := raw{text: countString(c.enc, p.Text), rough: true}
	hidden := len(p.Raw) - len(p.Text)
	if p.Text.Empty() {
		hidden = len(p.Raw)
	}
	if p.Signed || p.Text.Empty() {
		if sealed := ceilDiv(hidden*3, 16); sealed > c.local(r) {
			return raw{fixed: sealed, rough: true}
		}
	}
	return r
}

// documentPages is taken for a document that cannot be seen, pdfPage for the
// bytes of a page of one that can.
const (
	documentPages = 5
	pdfPage       = 40_000
)

func (c *Counter) document(p *chat.Part) raw {
	m := p.Media
	if m == nil {
		if !p.Text.Empty() {
			return raw{text: countString(c.enc, p.Text)}
		}
		return raw{text: c.enc.CountBytes(p.Raw), rough: true}
	}
	if !m.Text.Empty() {
		return raw{text: countString(c.enc, m.Text)}
	}
	pages := documentPages
	if len(m.Data) > 0 {
		if strings.HasPrefix(m.Type, "text/") {
			// Base64 of plain text, at 3 bytes a token.
			return raw{fixed: ceilDiv(len(m.Data)*3, 12), rough: true}
		}
		pages = max(1, ceilDiv(len(m.Data)/4*3, pdfPage))
	}
	return raw{fixed: pages * max(c.model.structure.Page, 1), rough: true}
}

// Bytes a second: of uncompressed speech at 16 kHz, and of compressed sound at
// 64 kbit/s, both on the low side so that seconds come out high.
const (
	wavSecond    = 32_000
	soundSecond  = 8_000
	audioSeconds = 60 // of a recording that cannot be seen
	audioTokens  = 32 // a second, where the table does not say
)

func (c *Counter) audio(m *chat.Media) raw {
	perSecond := c.model.structure.Audio
	if perSecond == 0 {
		perSecond = audioTokens
	}
	if m == nil || len(m.Data) == 0 {
		return raw{fixed: audioSeconds * perSecond, rough: true}
	}
	rate := soundSecond
	if strings.Contains(m.Type, "wav") || strings.Contains(m.Type, "pcm") {
		rate = wavSecond
	}
	n := math.Ceil(float64(len(m.Data)) * 3 / 4 / float64(rate) * float64(perSecond))
	return raw{fixed: max(1, int(n)), rough: true}
}

func ceilDiv(a, b int) int {
	if a <= 0 {
		return 0
	}
	return (a + b - 1) / b
}
