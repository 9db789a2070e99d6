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

// part counts one part by its kind (SPEC B6), and what else its JSON contains.
func (c *Counter) part(p *chat.Part) raw {
	switch p.Kind {
	case chat.Thinking, chat.Compaction:
		return c.opaque(p)
	case chat.Text, chat.Refusal, chat.Call, chat.Result, chat.Image, chat.Document, chat.Audio:
		r := c.fields(p)
		r.add(c.rest(p))
		return r
	}
	// Unknown, Reference, Catalog and whatever a later version adds.
	if len(p.Raw) == 0 {
		return raw{text: countString(c.enc, p.Text), rough: true}
	}
	return c.whole(p.Raw)
}

// fields counts the fields of a part that this version understands.
func (c *Counter) fields(p *chat.Part) raw {
	s := &c.model.structure
	switch p.Kind {
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
	case chat.Image:
		return c.picture(p.Media)
	case chat.Document:
		return c.document(p)
	case chat.Audio:
		return c.audio(p.Media)
	}
	return raw{text: countString(c.enc, p.Text)}
}

// json counts a value's text; a string literal counts as the text in it.
func (c *Counter) json(b []byte) int {
	if len(b) > 0 && b[0] == '"' {
		return countString(c.enc, chat.String(b))
	}
	return c.enc.CountBytes(b)
}

// opaque counts reasoning. Readable text is counted as text; signed or
// encrypted text is estimated by its length, because providers return a
// summary or nothing instead of the words that they count. The larger of the
// two is used.
func (c *Counter) opaque(p *chat.Part) raw {
	r := c.parts(p.Parts)
	r.text += countString(c.enc, p.Text)
	r.rough = true
	w := c.remainder(p)
	if len(p.Raw) > 0 && w.read(p.Raw, false) {
		r.add(w.sum)
	} else if p.Signed {
		w.sealed = len(p.Raw) - len(p.Text)
	}
	if w.sealed == 0 && r.text == 0 && r.fixed == 0 {
		w.sealed = len(p.Raw) // only an id: the provider has the words
	}
	if sealed := sealedTokens(w.sealed); sealed.fixed > c.local(r) {
		return sealed
	}
	return r
}

// documentPages is assumed for a document whose data is not available, pdfPage
// is the number of bytes per page of others.
const (
	documentPages = 5
	pdfPage       = 40_000
)

func (c *Counter) document(p *chat.Part) raw {
	m := p.Media
	if m == nil {
		return raw{text: countString(c.enc, p.Text), rough: p.Text.Empty()}
	}
	if !m.Text.Empty() {
		return raw{text: countString(c.enc, m.Text)}
	}
	if len(p.Raw) > 0 && len(m.Data) == 0 && m.URL == "" && m.FileID == "" {
		return raw{rough: true} // it consists of blocks, which its JSON contains
	}
	pages := documentPages
	switch size := len(m.Data); {
	case size > 0 && strings.HasPrefix(m.Type, "text/"):
		// Base64 of plain text, at 3 bytes a token.
		return raw{fixed: ceilDiv(size*3, 12), rough: true}
	case size > 0:
		pages = max(1, ceilDiv(size/4*3, pdfPage))
	case len(m.URL) > quietURL:
		// Base64 without the beginning of a data: URL.
		pages = max(pages, ceilDiv(len(m.URL)/4*3, pdfPage))
	}
	return raw{fixed: pages * max(c.model.structure.Page, 1), rough: true}
}

// Bytes per second of uncompressed speech at 16 kHz and of compressed sound at
// 64 kbit/s. Both are low, so that seconds come out high.
const (
	wavSecond    = 32_000
	soundSecond  = 8_000
	audioSeconds = 60 // of a recording whose data is not available
	audioTokens  = 32 // per second, if the table has no figure
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
