package view

import (
	"time"

	"github.com/oriel-context/oriel/chat"
	core "github.com/oriel-context/oriel/internal/report/replay"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Prices and lifetime of Anthropic's five-minute cache, in units of one
// uncached input token.
const (
	readPrice  = 0.1
	writePrice = 1.25
	lifetime   = 5 * time.Minute
)

// rulesOf returns the rules of a model's cache, with the prices above.
func rulesOf(model string) core.Rules {
	r := core.RulesOf(token.Builtin().Lookup(model), false)
	r.Prices = core.Units(readPrice, writePrice)
	return r
}

// prompt is a call as a cache sees it: system prompt and tools, then one
// message after the other.
type prompt = core.Prompt

func newPrompt(body []byte, f wire.Format, c *token.Counter, at time.Time) (*prompt, error) {
	b, err := wire.Read(body, f, wire.Limits{})
	if err != nil {
		return nil, err
	}
	n := c.Request(&b.Request)
	p := &prompt{Model: b.Model, At: at, Parts: make([]core.Part, 1, len(b.Messages)+1)}
	base := n.System + n.Tools + n.Overhead
	for i := range b.Messages {
		over := c.Overhead(&b.Messages[i]).Tokens
		base -= over
		p.Parts = append(p.Parts, core.Part{Sum: chat.Sum(b.Messages[i].Raw), Tokens: float64(n.Messages[i] + over)})
	}
	p.Parts[0].Tokens = float64(base)
	return p, nil
}

// beyond returns the tokens of the messages that another prompt does not begin
// with.
func beyond(p, last *prompt) int {
	shared := int(p.Parts[0].Tokens)
	if last != nil {
		shared, _ = p.Shared(last)
	}
	return p.Tokens() - shared
}

// alive reports whether the cache still has what the last call wrote.
func alive(p, last *prompt) bool {
	return last != nil && p.Model == last.Model && p.At.Sub(last.At) < lifetime
}

// bill is the cost of calls.
type bill struct {
	cost float64
	// shallow is the cost if a call whose beginning changed finds only system
	// prompt and tools in the cache, because the client's marks are far from
	// the change.
	shallow float64
	// expired is the part of cost for rewriting what had expired; rewritten
	// the part for what was sent before and changed or followed a change.
	expired, rewritten float64
}

// add bills a call: what it shares with the last one, up to the last equal
// message, is read, the rest is written. fresh counts the tokens that no call
// had before.
func (b *bill) add(p, last *prompt, fresh int) {
	total := p.Tokens()
	read, whole := p.Shared(last)
	shallow := read
	if last != nil && !whole {
		shallow = int(p.Parts[0].Tokens)
	}
	if !alive(p, last) {
		b.expired += (writePrice - readPrice) * float64(max(0, total-fresh))
		read, shallow = 0, 0
	} else {
		b.rewritten += (writePrice - readPrice) * float64(max(0, total-read-fresh))
	}
	b.cost += price(p, total, read)
	b.shallow += price(p, total, shallow)
}

func price(p *prompt, total, read int) float64 {
	r := rulesOf(p.Model)
	return 1e6 * r.Prices.Cost(r.Bill(total, read, 0))
}

// free bills a call as if cuts cost nothing: everything that is not new is
// read.
func (b *bill) free(p, last *prompt, fresh int) {
	total := p.Tokens()
	read := max(0, total-fresh)
	if !alive(p, last) {
		read = 0
	}
	b.cost += price(p, total, read)
}
