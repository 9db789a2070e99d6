package token

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/number"
)

// Accuracy is the quality of a count.
type Accuracy string

const (
	Exact      Accuracy = "exact"
	Estimate   Accuracy = "estimate"
	Calibrated Accuracy = "calibrated"
)

// Count is a number of tokens with its accuracy.
type Count struct {
	Tokens   int      `json:"tokens"`
	Accuracy Accuracy `json:"accuracy"`
}

// Breakdown is the count of a whole request:
// Total = System + Tools + Overhead + the sum of Messages, none of which is
// negative. What is not empty has at least a token, unless Total has fewer tokens
// than there are parts.
type Breakdown struct {
	Total  int `json:"total"`
	System int `json:"system"`
	Tools  int `json:"tools"`
	// Messages holds the tokens of each message's content.
	Messages []int `json:"messages"`
	// Overhead is what the provider adds in total; [Counter.Overhead] is the
	// share of one message.
	Overhead int `json:"overhead"`
	// Local is the total before calibration, for [Calibration.Observe].
	Local    int      `json:"local"`
	Accuracy Accuracy `json:"accuracy"`
	// Error is the expected relative error of a Total whose Accuracy is Calibrated; 0 if
	// unknown.
	Error float64 `json:"error,omitempty"`
}

// Options are the options of a counter.
type Options struct {
	// Cache keeps counts between requests; nil means no cache.
	Cache *Cache
	// Scale corrects estimates; the zero Scale leaves them alone.
	Scale Scale
}

// Counter counts for one model. It is immutable and safe for concurrent use.
type Counter struct {
	model Model
	enc   encoder
	exact bool
	cache *Cache
	rules uint64 // distinguishes this counter's cache entries from others'
	scale Scale
	roles [len(usualRoles)]int
}

// NewCounter returns a counter for a model of a table. It is cheap.
func NewCounter(m Model, o Options) *Counter {
	enc, ok := encoderFor(m.Encoding)
	c := &Counter{model: m, enc: enc, exact: m.Exact && ok, cache: o.Cache, scale: o.Scale}
	if c.model.Multiplier <= 0 {
		c.model.Multiplier = 1
	}
	if c.cache != nil {
		c.rules = c.cache.rules(m)
	}
	for i, r := range usualRoles {
		c.roles[i] = c.enc.Count(string(r))
	}
	return c
}

// raw is a count before multiplier and calibration. Only this is cached, so
// that it stays true when those change.
type raw struct {
	text  int  // tokens of the encoding
	fixed int  // tokens in the model's own currency: structure and media
	rough bool // the rule is only an estimate
}

func (r *raw) add(o raw) {
	r.text += o.text
	r.fixed += o.fixed
	r.rough = r.rough || o.rough
}

// local returns a raw count in the model's tokens.
func (c *Counter) local(r raw) int {
	return max(scale(r.text, c.model.Multiplier)+r.fixed, 0)
}

func (c *Counter) finish(r raw) Count {
	n := c.local(r)
	if c.exact && !r.rough {
		return Count{n, Exact}
	}
	if c.scale.Calibrated() {
		return Count{c.scale.part(n), Calibrated}
	}
	return Count{n, Estimate}
}

// Text counts plain text.
func (c *Counter) Text(s string) Count {
	return c.finish(raw{text: c.enc.Count(s)})
}

// Part counts one part.
func (c *Counter) Part(p *chat.Part) Count { return c.finish(c.part(p)) }

// Message counts a message's content: 0 if it has none (SPEC B6).
func (c *Counter) Message(m *chat.Message) Count { return c.finish(c.message(m)) }

// Overhead returns what a message costs beyond its content.
func (c *Counter) Overhead(m *chat.Message) Count { return c.finish(c.overhead(m)) }

// Tool counts one tool definition, without what having tools at all costs.
func (c *Counter) Tool(t *chat.ToolDef) Count { return c.finish(c.tool(t)) }

// Request counts everything that a request sends.
func (c *Counter) Request(r *chat.Request) Breakdown { return c.Sum(c.Sizes(r)) }

// calibrate corrects the total and makes the parts sum up to it. Each part is multiplied by
// the slope. An offset above 0 is a provider's hidden prompt and belongs to the overhead. An
// offset below 0 is an error in the table's costs: all parts bear it in proportion.
func (b *Breakdown) calibrate(s Scale) {
	b.Total = s.Apply(b.Local)
	overhead := b.Total - s.part(b.System) - s.part(b.Tools)
	for _, n := range b.Messages {
		overhead -= s.part(n)
	}
	if s.Offset < 0 || overhead < min(b.Overhead, 1) { // the latter by rounding
		parts := append(slices.Clone(b.Messages), b.System, b.Tools, b.Overhead)
		number.Split(parts, b.Total)
		n := copy(b.Messages, parts)
		b.System, b.Tools, b.Overhead = parts[n], parts[n+1], parts[n+2]
		return
	}
	b.System, b.Tools, b.Overhead = s.part(b.System), s.part(b.Tools), overhead
	for i, n := range b.Messages {
		b.Messages[i] = s.part(n)
	}
}

func (c *Counter) overhead(m *chat.Message) raw {
	s := &c.model.structure
	r := raw{fixed: s.Message}
	if s.Role {
		r.text += c.role(m.Role)
	}
	if m.Name != "" {
		r.text += c.enc.Count(m.Name)
		r.fixed += s.Name
	}
	return r
}

// role returns the tokens of a role's name; the usual ones are precomputed.
func (c *Counter) role(r chat.Role) int {
	for i, usual := range usualRoles {
		if r == usual {
			return c.roles[i]
		}
	}
	return c.enc.Count(string(r))
}

var usualRoles = [...]chat.Role{chat.User, chat.Assistant, chat.Tool, chat.System}

// message counts a message's parts, using the cache if possible. A message
// without Raw was built by a program and is not cached.
func (c *Counter) message(m *chat.Message) raw {
	if len(m.Raw) == 0 {
		return c.parts(m.Parts)
	}
	if c.cache == nil {
		return c.content(m)
	}
	k := c.cache.keyOf(c.rules, m.Summed(), len(m.Raw), shape(m.Parts))
	if r, ok := c.cache.get(k); ok {
		return r
	}
	r := c.content(m)
	c.cache.put(k, r)
	return r
}

func (c *Counter) content(m *chat.Message) raw {
	r := c.parts(m.Parts)
	r.add(c.messageRest(m))
	return r
}

// shape keeps apart two readings of the same bytes: a part that one protocol
// understands may be unknown to another.
func shape(parts []chat.Part) uint64 {
	h := uint64(len(parts))
	for i := range parts {
		h = h*31 + uint64(parts[i].Kind)
	}
	return h
}

// systemPart caches a system prompt by its JSON: the prompt is the longest
// text that comes back with every request.
func (c *Counter) systemPart(p *chat.Part) raw {
	if c.cache == nil || p.Kind != chat.Text || p.Text.Empty() {
		return c.part(p)
	}
	k := c.cache.key(c.rules, literal(p), shapeSystem)
	if r, ok := c.cache.get(k); ok {
		return r
	}
	r := c.part(p)
	c.cache.put(k, r)
	return r
}

const (
	shapeSystem = 1<<63 + iota
	shapeTool
)
