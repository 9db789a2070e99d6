package replay

import (
	"time"

	"github.com/oriel-context/oriel/token"
)

// Rules are how a provider caches the prompts of a model and what it charges.
type Rules struct {
	// Prices are in US dollars per million tokens. If Priced is false, the model has no
	// price, and they are in units of one uncached input token: 0.1 for reads, 1.25 for
	// writes.
	Prices token.Prices
	Priced bool
	// Cache says what is cached, Lifetime how long without use.
	Cache    token.CacheRule
	Lifetime time.Duration
	// Hour reports that the client has prompts cached for an hour.
	Hour bool
}

// units are the prices of a model without any.
var units = Units(.1, 1.25)

// Units returns prices in units of one uncached input token, for comparisons that hold for
// every model with such reads and writes.
func Units(read, write float64) token.Prices {
	return token.Prices{Rates: token.Rates{Input: 1, CacheRead: read, CacheWrite: write, CacheWrite1h: 2}}
}

// defaultLifetime is that of models of which no lifetime is known.
const defaultLifetime = 5 * time.Minute

// RulesOf returns the rules of a model. hour reports that the client has prompts cached for
// an hour, where a provider offers that.
func RulesOf(m token.Model, hour bool) Rules {
	r := Rules{Prices: m.Prices, Priced: m.Known && m.Prices.Known(), Cache: m.Cache, Hour: hour,
		Lifetime: defaultLifetime}
	if !r.Priced {
		r.Prices = units
	}
	if r.Cache.Mode == "" {
		r.Cache = token.CacheRule{Mode: "explicit", Min: 1024}
	}
	if ttl := r.Cache.TTL; len(ttl) > 0 {
		r.Lifetime = time.Duration(ttl[0]) * time.Second
	}
	if hour {
		r.Lifetime = time.Hour
	}
	return r
}

// Rate returns what a rate costs in parts of an uncached input token, for a prompt of the
// given size: a read and a write of the cache.
func (r Rules) Rate(prompt int) (read, write float64) {
	p := r.Prices.For(prompt)
	if p.Input == 0 {
		return 1, 1
	}
	or := func(rate, otherwise float64) float64 {
		if rate == 0 {
			return otherwise
		}
		return rate
	}
	write = or(p.CacheWrite, p.Input)
	if r.Hour {
		write = or(p.CacheWrite1h, write)
	}
	return or(p.CacheRead, p.Input) / p.Input, write / p.Input
}

// Bill divides a prompt into what is read from the cache, written to it and neither. read is
// how much of the prompt the cache has, uncached how much of the rest the client has not
// cached.
func (r Rules) Bill(prompt, read, uncached int) token.Usage {
	if prompt < r.Cache.Min {
		return token.Usage{Input: prompt}
	}
	if read < r.Cache.Min {
		read = 0
	}
	if step := r.Cache.Step; step > 1 {
		read -= read % step
	}
	read = min(read, prompt)
	u := token.Usage{CacheRead: read, Input: min(max(0, uncached), prompt-read)}
	rest := prompt - read - u.Input
	switch {
	case r.Cache.Mode != "explicit" && r.Prices.CacheWrite == 0:
		u.Input += rest
	case r.Hour && r.Cache.Mode == "explicit":
		u.CacheWrite1h = rest
	default:
		u.CacheWrite = rest
	}
	return u
}

// Part is a piece of a prompt: the tools and the system prompt together, or a message.
type Part struct {
	// Sum is equal for equal bytes.
	Sum    uint64
	Tokens float64
}

// Prompt is a request as its provider's cache sees it.
type Prompt struct {
	Model string
	At    time.Time
	Parts []Part
}

// Tokens returns the size of the prompt.
func (p *Prompt) Tokens() int {
	if p == nil {
		return 0
	}
	return p.first(len(p.Parts))
}

func (p *Prompt) first(n int) int {
	sum := 0.0
	for _, part := range p.Parts[:n] {
		sum += part.Tokens
	}
	return int(sum + .5)
}

// Common returns how many parts a prompt and another begin with. The other may be nil.
func (p *Prompt) Common(other *Prompt) int {
	n := 0
	for other != nil && n < len(p.Parts) && n < len(other.Parts) && p.Parts[n].Sum == other.Parts[n].Sum {
		n++
	}
	return n
}

// Shared returns the tokens with which a prompt and another begin, and whether the other has
// nothing beyond them. The other may be nil.
func (p *Prompt) Shared(other *Prompt) (tokens int, whole bool) {
	n := p.Common(other)
	return p.first(n), other != nil && n == len(other.Parts)
}
