package misses

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Prompt is a request as the cache of its provider compares it with the next one: the tools, the
// system prompt, then message by message.
type Prompt struct{ parts []part }

// part is a tool, a part of the system prompt or a message.
type part struct {
	where  string
	at     int // its number there, from 1 on
	name   string
	raw    []byte // its JSON in one form, without marks
	sum    timeline.Hash
	means  timeline.Hash // the identity of a message; otherwise zero
	tokens int
}

// NewPrompt returns the prompt of a body, counted with c.
func NewPrompt(b *wire.Body, c *token.Counter) *Prompt {
	p := &Prompt{}
	add := func(where string, at int, name string, raw []byte, tokens int) *part {
		bare := canonical(raw)
		p.parts = append(p.parts, part{where: where, at: at, name: name, raw: bare, sum: timeline.HashOf(bare),
			tokens: tokens})
		return &p.parts[len(p.parts)-1]
	}
	for i := range b.Tools {
		add(Tools, i+1, b.Tools[i].Name, b.Tools[i].Raw, c.Tool(&b.Tools[i]).Tokens)
	}
	for i := range b.System {
		text := b.System[i].Text.String()
		raw := b.System[i].Raw
		if raw == nil {
			raw, _ = json.Marshal(text) // cannot fail
		}
		add(System, i+1, "", raw, c.Text(text).Tokens)
	}
	leading := true
	for i := range b.Messages {
		m, where := &b.Messages[i], Messages
		if leading = leading && (m.Role == chat.System || m.Role == chat.Developer); leading {
			where = System
		}
		add(where, i+1, string(m.Role), m.Raw, c.Message(m).Tokens).means = timeline.Identity(m)
	}
	return p
}

// Tokens returns the size of the prompt.
func (p *Prompt) Tokens() (n int) {
	for i := range p.parts {
		n += p.parts[i].tokens
	}
	return n
}

var (
	markBefore = regexp.MustCompile(`"cache_control":(?:\{[^{}]*\}|null),`)
	mark       = regexp.MustCompile(`,?"cache_control":(?:\{[^{}]*\}|null)`)
	oneText    = regexp.MustCompile(`\[\{(?:"type":"(?:input_|output_)?text","text":("(?:[^"\\]|\\.)*")|` +
		`"text":("(?:[^"\\]|\\.)*"),"type":"(?:input_|output_)?text")\}\]`)
)

// canonical returns JSON without white space and cache marks, and with a text in place of a list of
// one text. Quotes in strings are escaped, so that no text matches.
func canonical(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	out := b.Bytes()
	if bytes.Contains(out, []byte(`"cache_control":`)) {
		out = mark.ReplaceAll(markBefore.ReplaceAll(out, nil), nil)
	}
	if bytes.Contains(out, []byte(`[{"t`)) {
		out = oneText.ReplaceAll(out, []byte("$1$2"))
	}
	return out
}

// Difference is how a prompt relates to the one before it; sizes are in tokens as counted.
type Difference struct {
	// Shared, Again and Change are those of Facts.
	Shared, Again int
	Change        *Break
	// Rewritten is the first message that means the same in other bytes, such as arguments in
	// another order, and lies before Change; nil if there is none. RewrittenAt is how much
	// stands before it. Whether that matters to a provider shows in what it reads.
	Rewritten   *Break
	RewrittenAt int

	old, now *part // at Change
}

// Compare compares a prompt with the one before it.
func Compare(before, now *Prompt) *Difference {
	d, i := &Difference{}, 0
	for ; i < len(before.parts) && i < len(now.parts); i++ {
		a, b := &before.parts[i], &now.parts[i]
		if a.where != b.where || a.sum != b.sum && (a.means != b.means || a.means == timeline.Hash{}) {
			break
		}
		if a.sum != b.sum && d.Rewritten == nil {
			d.Rewritten, d.RewrittenAt = changeOf(a, b), d.Shared
		}
		d.Shared += b.tokens
	}
	if i == len(before.parts) || i == len(now.parts) {
		return d // one continues the other
	}
	d.old, d.now = &before.parts[i], &now.parts[i]
	d.Change = changeOf(d.old, d.now)
	had := map[timeline.Hash]int{}
	for k := range before.parts[i:] {
		had[before.parts[i+k].sum]++
	}
	rest := now.parts[i:]
	if d.old.where == d.now.where && had[d.now.sum] == 0 { // a part that was changed
		n := len(d.now.raw)
		head := commonHead(d.old.raw, d.now.raw)
		tail := min(commonTail(d.old.raw, d.now.raw), n-head, len(d.old.raw)-head)
		d.Shared += d.now.tokens * head / max(1, n)
		d.Again += d.now.tokens * tail / max(1, n)
		rest = rest[1:]
	}
	for k := range rest {
		if p := &rest[k]; had[p.sum] > 0 {
			had[p.sum]--
			d.Again += p.tokens
		}
	}
	return d
}

// changeOf describes the change of one part to another. If they are of different kinds, a part was
// added or removed where the kind that comes first ends.
func changeOf(old, now *part) *Break {
	order := []string{Tools, System, Messages}
	p := now
	if slices.Index(order, old.where) < slices.Index(order, now.where) {
		p = old
	}
	c := &Break{Where: p.where, At: p.at, Name: p.name}
	if old.where != now.where {
		c.Old, c.New = around(old.raw, 0), around(now.raw, 0)
		if p == now {
			c.Old = ""
		} else {
			c.New = ""
		}
		c.Byte = 1
		return c
	}
	n := commonHead(old.raw, now.raw)
	c.Byte, c.Old, c.New = n+1, around(old.raw, n), around(now.raw, n)
	return c
}

// An excerpt has so many bytes before and after the first one that differs.
const (
	excerptBefore = 24
	excerptAfter  = 56
)

// around returns what stands around a byte, in whole characters.
func around(raw []byte, at int) string {
	from, to := max(0, at-excerptBefore), min(len(raw), at+excerptAfter)
	for from > 0 && !utf8.RuneStart(raw[from]) {
		from--
	}
	for to < len(raw) && !utf8.RuneStart(raw[to]) {
		to++
	}
	out := string(raw[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(raw) {
		out += "…"
	}
	return out
}

func commonHead(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonTail(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
