package view

import (
	"bytes"
	"strings"
	"time"

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

// leastCached returns the shortest prefix that is cached.
func leastCached(model string) int {
	for _, name := range []string{"haiku-4-5", "opus-4-5", "opus-4-6"} {
		if strings.Contains(model, name) {
			return 4096
		}
	}
	return 1024
}

// prompt is a call as a cache sees it: system prompt and tools, then one
// message after the other.
type prompt struct {
	model    string
	base     int
	messages [][]byte
	tokens   []int
	at       time.Time
}

func newPrompt(body []byte, f wire.Format, c *token.Counter, at time.Time) (*prompt, error) {
	b, err := wire.Read(body, f, wire.Limits{})
	if err != nil {
		return nil, err
	}
	n := c.Request(&b.Request)
	p := &prompt{model: b.Model, base: n.System + n.Tools + n.Overhead, tokens: n.Messages, at: at}
	for i := range b.Messages {
		over := c.Overhead(&b.Messages[i]).Tokens
		p.base -= over
		p.tokens[i] += over
		p.messages = append(p.messages, b.Messages[i].Raw)
	}
	return p, nil
}

func (p *prompt) total() int {
	n := p.base
	for _, t := range p.tokens {
		n += t
	}
	return n
}

// inCommon returns how many messages two consecutive calls have in common at
// the beginning.
func (p *prompt) inCommon(last *prompt) int {
	n := 0
	for last != nil && n < len(p.messages) && n < len(last.messages) && bytes.Equal(p.messages[n], last.messages[n]) {
		n++
	}
	return n
}

// alive reports whether the cache still has what the last call wrote.
func (p *prompt) alive(last *prompt) bool {
	return last != nil && p.model == last.model && p.at.Sub(last.at) < lifetime
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
	total, k := p.total(), p.inCommon(last)
	read := p.base
	for _, t := range p.tokens[:k] {
		read += t
	}
	shallow := read
	if last != nil && k < len(last.messages) {
		shallow = p.base
	}
	if !p.alive(last) {
		b.expired += (writePrice - readPrice) * float64(max(0, total-fresh))
		read, shallow = 0, 0
	} else {
		b.rewritten += (writePrice - readPrice) * float64(max(0, total-read-fresh))
	}
	b.cost += price(p, total, read)
	b.shallow += price(p, total, shallow)
}

func price(p *prompt, total, read int) float64 {
	least := leastCached(p.model)
	if total < least {
		return float64(total)
	}
	if read < least {
		read = 0
	}
	return readPrice*float64(read) + writePrice*float64(total-read)
}

// free bills a call as if cuts cost nothing: everything that is not new is
// read.
func (b *bill) free(p, last *prompt, fresh int) {
	total := p.total()
	read := max(0, total-fresh)
	if !p.alive(last) {
		read = 0
	}
	b.cost += price(p, total, read)
}
