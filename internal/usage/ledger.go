package usage

import (
	"strings"
	"time"

	"github.com/oriel-context/oriel/token"
)

// Call is what is known about one call.
type Call struct {
	Conversation, Model string
	Began               time.Time
	// Came and Sent are the tokens of the prompt as it came and as it was sent, as
	// counted here.
	Came, Sent int
	// Usage is what the provider reported, or nil.
	Usage *token.Usage
	// Error is why the answer is incomplete; empty if it is not.
	Error string
}

// clientLeft begins the error of a call whose client left: some do at the last event,
// when they have all that they want.
const clientLeft = "the client left"

// Failed reports whether the provider, or the way to it, gave no whole answer.
func (c *Call) Failed() bool { return c.Error != "" && !strings.HasPrefix(c.Error, clientLeft) }

// Price is the price of one call.
type Price struct {
	// Billed is false for a call that failed without a report of what was used: then
	// nothing else is set.
	Billed bool
	// Reported is false where the provider reported no usage: Usage is then what was
	// counted here.
	Reported bool
	// Usage is what the call used, Whole what it would have used had everything been sent.
	Usage, Whole token.Usage
	// Known reports whether the model has a price. Cost and Without are in US dollars.
	Known         bool
	Cost, Without float64
	// Date is when the model's prices were looked up (YYYY-MM-DD).
	Date string
}

// Ledger prices calls. It remembers what the last prompt of each conversation would have
// been, and is not safe for concurrent use.
type Ledger struct {
	models *token.Models
	known  map[string]token.Model
	lines  map[lineKey]*line
}

// lineKey identifies the calls that share a provider's cache.
type lineKey struct{ conversation, model string }

type line struct {
	whole       int  // tokens of the last prompt as it came
	cut, cached bool // something was ever left out; the provider's cache is used
}

// NewLedger returns a ledger with the prices of a model table.
func NewLedger(models *token.Models) *Ledger {
	return &Ledger{models: models, known: map[string]token.Model{}, lines: map[lineKey]*line{}}
}

// Price prices a call. The calls of a conversation must come in the order in which they
// ended.
//
// A call that was sent as it came costs what the provider's usage says. Where something
// was left out, of that call or of one before it in the conversation, the call as it came
// is this: the prompt with what was left out; what the call before had is read from the
// cache, if the conversation uses one, and the rest is new.
func (l *Ledger) Price(c *Call) Price {
	if c.Usage == nil && c.Error != "" {
		return Price{} // nobody reports what was used, if anything
	}
	p := Price{Billed: true, Usage: token.Usage{Input: c.Sent}}
	if c.Usage != nil {
		p.Usage, p.Reported = *c.Usage, true
	}
	at := lineKey{c.Conversation, c.Model}
	s := l.lines[at]
	if s == nil {
		s = &line{}
		l.lines[at] = s
	}
	s.cached = s.cached || p.Usage.Prompt() > p.Usage.Input
	p.Whole = p.Usage
	if s.cut = s.cut || c.Came > c.Sent; s.cut {
		had := s.whole
		if !s.cached {
			had = 0
		}
		p.Whole = asItCame(p.Usage, max(0, c.Came-c.Sent), had)
	}
	s.whole = p.Whole.Prompt()
	if m := l.model(c.Model); m.Known && m.Prices.Known() {
		p.Known, p.Date = true, m.Date
		p.Cost, p.Without = m.Prices.Cost(p.Usage), m.Prices.Cost(p.Whole)
	}
	return p
}

func (l *Ledger) model(name string) token.Model {
	m, ok := l.known[name]
	if !ok {
		m = l.models.Lookup(name)
		l.known[name] = m
	}
	return m
}

// asItCame returns the usage of a call as it would have been if left tokens
// had not been left out; had is how much of the prompt would have been in the
// cache.
func asItCame(sent token.Usage, left, had int) token.Usage {
	prompt := sent.Prompt() + left
	u := token.Usage{CacheRead: min(had, prompt), Output: sent.Output}
	switch fresh := prompt - u.CacheRead; {
	case sent.CacheWrite1h > sent.CacheWrite:
		u.CacheWrite1h = fresh
	case sent.CacheWrite > 0:
		u.CacheWrite = fresh
	default:
		u.Input = fresh
	}
	return u
}
