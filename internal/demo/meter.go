package demo

import (
	"crypto/sha256"

	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Name is the model whose token counts and prices the built-in model uses.
const Name = "claude-sonnet-4-6"

// Meter counts requests as their provider does: the longest beginning of any earlier
// request, up to the end of a message, is read from the cache, and the rest is written
// to it.
type Meter struct {
	model   token.Model
	counter *token.Counter
	known   map[[sha256.Size]byte]bool // beginnings
}

// NewMeter returns a meter with an empty cache.
func NewMeter() *Meter {
	m := token.Builtin().Lookup(Name)
	return &Meter{model: m, counter: token.NewCounter(m, token.Options{Cache: counts}),
		known: map[[sha256.Size]byte]bool{}}
}

// counts is shared by all meters, so that a message is counted once.
var counts = token.NewCache(1 << 12)

// Add counts a request.
func (m *Meter) Add(b *wire.Body) (token.Usage, error) {
	n := m.counter.Request(&b.Request)
	size, read := n.Total, 0 // size is that of a beginning
	for i := range b.Messages {
		size -= n.Messages[i] + m.counter.Overhead(&b.Messages[i]).Tokens
	}
	beginning := sha256.New()
	for _, top := range b.Members() {
		if top.Name == "system" || top.Name == "tools" {
			beginning.Write(top.Raw)
		}
	}
	for i := range b.Messages {
		bare, _, err := wire.WithoutCacheMarks(b.Format, b.Messages[i].Raw)
		if err != nil {
			return token.Usage{}, err
		}
		beginning.Write(bare)
		size += n.Messages[i] + m.counter.Overhead(&b.Messages[i]).Tokens
		sum := [sha256.Size]byte(beginning.Sum(nil))
		if m.known[sum] {
			read = size
		}
		m.known[sum] = true
	}
	if n.Total < m.model.Cache.Min {
		return token.Usage{Input: n.Total}, nil
	}
	if read < m.model.Cache.Min {
		read = 0
	}
	return token.Usage{CacheRead: read, CacheWrite: n.Total - read}, nil
}

// Cost returns the price of a call in US dollars.
func Cost(u token.Usage) float64 { return token.Builtin().Lookup(Name).Prices.Cost(u) }

// Tokens counts a text.
func Tokens(text string) int {
	return token.NewCounter(token.Builtin().Lookup(Name), token.Options{Cache: counts}).Text(text).Tokens
}
