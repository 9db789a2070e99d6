package token

import (
	"math"
	"strings"
)

// Model describes one model. Its JSON form is an entry of models.json and of a
// user's own file.
type Model struct {
	// ID is the name of the entry; for an unknown name, the name that was looked
	// up.
	ID string `json:"id"`
	// Aliases are further names of the same model.
	Aliases []string `json:"aliases,omitempty"`
	// Like names the entry from which a new one starts; only in users' files.
	Like string `json:"like,omitempty"`
	// Family makes the entry match every name that starts with one of its names
	// and a dash, not just dated snapshots, unless another version's number
	// follows.
	Family bool `json:"family,omitempty"`
	// Guess marks a fallback entry for unknown names of a vendor; Lookup returns
	// it with Known false.
	Guess    bool   `json:"guess,omitempty"`
	Provider string `json:"provider"`

	// Window is the limit of input and output together, in tokens.
	Window int `json:"window"`
	// MaxInput is the limit of the input in tokens if it is below the window;
	// otherwise 0.
	MaxInput int `json:"max_input,omitempty"`
	// MaxOutput is the limit of a reply in tokens; 0 if unknown.
	MaxOutput int `json:"max_output,omitempty"`
	// Reserves reports that the provider refuses a request whose input and
	// max_tokens together exceed the window, instead of stopping the reply.
	Reserves bool `json:"reserves,omitempty"`
	// Binds reports that the provider accepts the model's thinking back only if
	// nothing before it has changed.
	Binds bool `json:"binds,omitempty"`
	// Widen lists beta headers that enlarge the window.
	Widen []Widen `json:"widen,omitempty"`

	// Encoding is the BPE encoding that text is counted with.
	Encoding string `json:"encoding"`
	// Exact reports that Encoding is the model's own, as its vendor published it.
	Exact bool `json:"exact,omitempty"`
	// Multiplier turns the encoding's count into this model's tokens. 1 if
	// Exact.
	Multiplier float64 `json:"multiplier"`
	// Structure and Image name the rules for what is not plain text.
	Structure string `json:"structure"`
	Image     string `json:"image"`

	Prices Prices    `json:"prices"`
	Cache  CacheRule `json:"cache"`

	// Source is the origin of the figures and Date the day on which they were
	// looked up (YYYY-MM-DD). Confidence is "published" if the vendor states
	// window, limits, prices, cache and image rule, and "reported" if any of
	// them comes from others. Multiplier and structure never come from the
	// vendor unless Exact.
	Source string `json:"source"`
	// Figures is the origin of window, limits and prices if they come from a snapshot or
	// from the user; "" if Source is.
	Figures    string `json:"figures,omitempty"`
	Date       string `json:"date"`
	Confidence string `json:"confidence,omitempty"`

	// Known is false for a name without an entry in the table.
	Known bool `json:"known"`

	structure Structure
	image     ImageRule
}

// Widen is a larger window behind a beta header.
type Widen struct {
	// Beta is the start of the header's word ("context-1m-").
	Beta   string `json:"beta"`
	Window int    `json:"window"`
}

// CacheRule describes a provider's prompt cache.
type CacheRule struct {
	// Mode is "explicit" (cache_control marks), "automatic" (exact prefix) or
	// "" (none known).
	Mode string `json:"mode,omitempty"`
	// Min is the shortest prefix that is cached, in tokens.
	Min int `json:"min,omitempty"`
	// Step is the granularity of a cached prefix in tokens; 0 when any.
	Step int `json:"step,omitempty"`
	// Breakpoints is the limit of marks in a request.
	Breakpoints int `json:"breakpoints,omitempty"`
	// TTL lists the lifetimes on offer, in seconds, the default first.
	TTL []int `json:"ttl,omitempty"`
}

// InputLimit returns the token limit of a request whose reply needs reserved
// tokens. betas are values of the anthropic-beta header, each possibly a
// comma-separated list. It respects all limits: the window, as widened by the
// headers, the largest input, and the reserved output if the provider enforces
// it. It is never negative.
func (m Model) InputLimit(reserved int, betas ...string) int {
	limit := m.WindowFor(betas...)
	if m.Reserves {
		limit -= max(reserved, 0)
	}
	if m.MaxInput > 0 && m.MaxInput < limit && limit <= m.Window {
		limit = m.MaxInput
	}
	return max(limit, 0)
}

// Served returns the model as a server runs it with a window of its own, whatever the table
// says of the model.
func (m Model) Served(window int) Model {
	m.Window, m.Widen, m.Known = window, nil, true
	m.MaxOutput = min(m.MaxOutput, window)
	if m.MaxInput >= window {
		m.MaxInput = 0
	}
	return m
}

// WindowFor returns the window under the given beta headers.
func (m Model) WindowFor(betas ...string) int {
	window := m.Window
	for _, header := range betas {
		for word := range strings.SplitSeq(header, ",") {
			word = strings.TrimSpace(word)
			for _, w := range m.Widen {
				if w.Beta != "" && strings.HasPrefix(word, w.Beta) {
					window = max(window, w.Window)
				}
			}
		}
	}
	return window
}

// Rates are prices in US dollars per million tokens. A cache rate of 0 means that
// the input rate applies. CacheWrite1h is for the longer lifetime that a client may ask
// for: an hour of Anthropic's cache, twelve of OpenAI's.
type Rates struct {
	Input        float64 `json:"input"`
	Output       float64 `json:"output"`
	CacheRead    float64 `json:"cache_read,omitempty"`
	CacheWrite   float64 `json:"cache_write,omitempty"`
	CacheWrite1h float64 `json:"cache_write_1h,omitempty"`
}

// Prices are a model's rates, with other rates for long prompts if the vendor
// has them.
type Prices struct {
	Rates
	// Tiers are in rising order of Over. A tier replaces all rates for the
	// whole request.
	Tiers []Tier `json:"tiers,omitempty"`
	// Service has the factor on all rates for each service tier at another price than
	// the standard one ("flex", "priority").
	Service map[string]float64 `json:"service,omitempty"`
}

// Tier applies to requests whose prompt has more than Over tokens.
type Tier struct {
	Over int `json:"over"`
	Rates
}

// Usage is a provider's report on one call. The fields do not overlap: Input
// excludes what was read from or written to the cache. CacheWrite1h was written for the longer
// lifetime that clients may ask for; see Rates.
type Usage struct {
	Input        int `json:"input"`
	CacheRead    int `json:"cache_read"`
	CacheWrite   int `json:"cache_write"`
	CacheWrite1h int `json:"cache_write_1h"`
	Output       int `json:"output"`
	// Service is the service tier that the call was served with, in lower case; "" for
	// the standard one.
	Service string `json:"service,omitempty"`
}

// Prompt returns the size of the whole input, cached or not.
func (u Usage) Prompt() int {
	return u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h
}

// Known reports whether there are any prices.
func (p Prices) Known() bool { return p.Input > 0 || p.Output > 0 }

// For returns the rates for a prompt of the given size.
func (p Prices) For(prompt int) Rates {
	r := p.Rates
	for _, t := range p.Tiers {
		if prompt > t.Over {
			r = t.Rates
		}
	}
	return r
}

// Cost returns the price of one call in US dollars (SPEC B5). A service tier without a factor
// costs as much as the standard one.
func (p Prices) Cost(u Usage) float64 {
	r := p.For(u.Prompt())
	or := func(rate, otherwise float64) float64 {
		if rate == 0 {
			return otherwise
		}
		return rate
	}
	write := or(r.CacheWrite, r.Input)
	sum := float64(u.Input)*r.Input +
		float64(u.CacheRead)*or(r.CacheRead, r.Input) +
		float64(u.CacheWrite)*write +
		float64(u.CacheWrite1h)*or(r.CacheWrite1h, write) +
		float64(u.Output)*r.Output
	if factor := p.Service[u.Service]; factor > 0 {
		sum *= factor
	}
	return sum / 1e6
}

// Structure is what a provider adds to the text, in its own tokens.
type Structure struct {
	// Request is added once, Message to every message, Name to a message with
	// a name, System once if the system prompt is separate.
	Request int `json:"request,omitempty"`
	Message int `json:"message,omitempty"`
	Name    int `json:"name,omitempty"`
	System  int `json:"system,omitempty"`
	// Role reports that the name of the role is counted, too.
	Role bool `json:"role,omitempty"`
	// Call and Result are added to each tool call and result.
	Call   int `json:"call,omitempty"`
	Result int `json:"result,omitempty"`
	// Tools is added once if there are tools, Tool to each, Hosted to each
	// that the provider runs itself.
	Tools  int `json:"tools,omitempty"`
	Tool   int `json:"tool,omitempty"`
	Hosted int `json:"hosted,omitempty"`
	// Description is added for a tool's description, Properties once for a
	// schema that has any, Property for each, Nested for each object inside,
	// Enum for a list of values and EnumItem for each of them.
	Description int `json:"description,omitempty"`
	Properties  int `json:"properties,omitempty"`
	Property    int `json:"property,omitempty"`
	Nested      int `json:"nested,omitempty"`
	Enum        int `json:"enum,omitempty"`
	EnumItem    int `json:"enum_item,omitempty"`
	// Page is a page of a document, Audio a second of sound.
	Page  int `json:"page,omitempty"`
	Audio int `json:"audio,omitempty"`
}

func scale(n int, by float64) int {
	if n == 0 || by == 1 {
		return n
	}
	return int(math.Round(float64(n) * by))
}
