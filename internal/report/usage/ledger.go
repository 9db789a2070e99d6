package usage

import (
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
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
	// Repeats is how much of the prompt the call before began with, too; nil if that is not
	// known.
	Repeats *call.Repeats
	// Would is what other profiles would have sent, by their names; nil unless that is recorded.
	Would map[string]call.Would
	// Outcome is how it ended, Error why the answer is incomplete; empty if it is not.
	Outcome event.Outcome
	Error   string
}

// Price is the price of one call.
type Price struct {
	// Billed is false for a call that failed without a report of what was used: then
	// nothing else is set.
	Billed bool
	// Reported is false where the provider reported no usage: Usage is then an estimate,
	// without output.
	Reported bool
	// Usage is what the call used, Whole what it would have used had everything been sent.
	Usage, Whole token.Usage
	// Known reports whether the model has a price. Cost and Without are in US dollars.
	Known         bool
	Cost, Without float64
	// Would is what the call would have used and cost under other profiles, in the order of
	// call.Observed; nil unless that is recorded.
	Would []Would
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
	began       time.Time
	long        bool            // what was written last stays in the cache for the longer lifetime
	would       map[string]bool // profiles that would have left something out
	// hit is the largest part of a repeated prompt that the provider read from its cache.
	hit float64
	met bool // hit is known
}

// cold reports whether the provider's cache has nothing of the last prompt any more.
func (s *line) cold(rule *token.CacheRule, now time.Time) bool {
	if len(rule.TTL) == 0 {
		return false
	}
	lifetime := rule.TTL[0]
	if s.long {
		lifetime = slices.Max(rule.TTL)
	}
	return now.Sub(s.began) > time.Duration(lifetime)*time.Second
}

// hits returns which part of what a call repeats the provider read from its cache, and whether
// the call shows it: what it repeats is most of its prompt. Of others it is what the
// conversation had at best.
func (s *line) hits(rule *token.CacheRule, c *Call) (hit float64, seen bool) {
	if r := c.Repeats; r != nil && c.Sent > 0 && c.Usage.Prompt() > 0 && r.Sent >= max(rule.Min, leastShown) &&
		2*r.Sent >= c.Sent {
		hit = float64(c.Usage.CacheRead) / (float64(c.Usage.Prompt()) * float64(r.Sent) / float64(c.Sent))
		if hit > mostlyHit {
			hit = 1 // caches work in steps
		}
		if s.hit = max(s.hit, hit); !s.met {
			s.hit, s.met = hit, true
		}
		return hit, true
	}
	return s.hit, false
}

// leastShown is the smallest repeated prompt, in tokens, that shows whether a provider caches,
// and mostlyHit the part of it from which on all of it counts as read.
const (
	leastShown = 1024
	mostlyHit  = .8
)

// NewLedger returns a ledger with the prices of a model table.
func NewLedger(models *token.Models) *Ledger {
	return &Ledger{models: models, known: map[string]token.Model{}, lines: map[lineKey]*line{}}
}

// Price prices a call. The calls of a conversation must come in the order in which they
// ended.
//
// A call costs what the provider's usage says. Where it reported none, the prompt is counted
// here; if the model's provider caches by itself, what the call before was sent with is read
// from the cache.
//
// A call that was sent as it came would have cost the same. Where something was left out, of
// that call or of one before it in the conversation, the call as it came is this: the prompt
// with what was left out; what the call before began with as it came is read from the cache,
// as far as the provider reads from its cache what a call repeats, and the rest is new. If it
// is not known what the call before began with, that is all of it.
func (l *Ledger) Price(c *Call) Price {
	if c.Usage == nil && c.Outcome.Failed() {
		return Price{} // nobody reports what was used, if anything
	}
	at, m := lineKey{c.Conversation, c.Model}, l.model(c.Model)
	s := l.lines[at]
	if s == nil {
		s = &line{hit: 1}
		l.lines[at] = s
	}
	cold := s.cold(&m.Cache, c.Began)
	p := Price{Billed: true}
	hit, seen := s.hit, false
	if c.Usage != nil {
		p.Usage, p.Reported = *c.Usage, true
		hit, seen = s.hits(&m.Cache, c)
	} else {
		p.Usage = estimate(&m.Cache, c, cold)
	}
	s.cached = s.cached || p.Usage.Prompt() > p.Usage.Input
	if p.Usage.CacheWrite+p.Usage.CacheWrite1h > 0 {
		s.long = p.Usage.CacheWrite1h > 0
	}
	p.Whole = p.Usage
	if s.cut = s.cut || c.Came > c.Sent; s.cut {
		prompt, had := p.Usage.Prompt()+max(0, c.Came-c.Sent), s.whole
		if c.Repeats != nil && c.Came > 0 {
			repeated := float64(prompt) * float64(c.Repeats.Came) / float64(c.Came)
			// What was read of what was sent shows what the provider caches, whatever its rules say.
			had = max(cacheable(&m.Cache, int(hit*repeated)), min(p.Usage.CacheRead, int(repeated)))
		}
		switch {
		case !s.cached:
			had = 0
		case cold && !seen && c.Repeats != nil && 2*p.Usage.CacheRead <= c.Repeats.Sent:
			had = min(had, p.Usage.CacheRead) // what other conversations have, too, such as the tools
		}
		p.Whole = asItCame(p.Usage, prompt, had)
	}
	p.Would = s.others(&m.Cache, c, p.Usage, hit)
	s.whole, s.began = p.Whole.Prompt(), c.Began
	if m.Known && m.Prices.Known() {
		p.Known, p.Date = true, m.Date
		p.Cost, p.Without = m.Prices.Cost(p.Usage), m.Prices.Cost(p.Whole)
		for i := range p.Would {
			p.Would[i].Cost = m.Prices.Cost(p.Would[i].Usage)
		}
	}
	return p
}

// estimate returns the usage of a call of which the provider reported none.
func estimate(rule *token.CacheRule, c *Call, cold bool) token.Usage {
	if rule.Mode != "automatic" || c.Repeats == nil || cold {
		return token.Usage{Input: c.Sent}
	}
	had := cacheable(rule, min(c.Repeats.Sent, c.Sent))
	return token.Usage{Input: c.Sent - had, CacheRead: had}
}

// cacheable returns how much of the first n tokens of a prompt a provider reads from its
// cache.
func cacheable(rule *token.CacheRule, n int) int {
	if n < rule.Min {
		return 0
	}
	return n - n%max(1, rule.Step)
}

func (l *Ledger) model(name string) token.Model {
	m, ok := l.known[name]
	if !ok {
		m = l.models.Lookup(name)
		l.known[name] = m
	}
	return m
}

// asItCame returns the usage of a call if its prompt had been sent as it came; had is how
// much of that would have been in the cache.
func asItCame(sent token.Usage, prompt, had int) token.Usage {
	u := token.Usage{CacheRead: min(had, prompt), Output: sent.Output, Service: sent.Service}
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
