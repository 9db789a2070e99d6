package token

import (
	"math"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson/passes"
)

// Sizes holds the sizes of a request's system prompt, tools and messages, by which
// [Counter.Sum] counts the request. A request that differs from another in its messages
// only is counted by replacing Messages: what both have is not read again. Sizes belong to
// the counter that made them.
type Sizes struct {
	system, tools, frame raw
	// Messages are the sizes of the messages, in order.
	Messages []Size
}

// Size is the size of one message, for [Sizes].
type Size struct{ content, overhead raw }

// Size returns the size of a message.
func (c *Counter) Size(m *chat.Message) Size { return Size{c.message(m), c.overhead(m)} }

// Tokens returns the tokens of a message of a size, with what it costs beyond its content.
func (c *Counter) Tokens(s Size) int {
	s.content.add(s.overhead)
	return c.finish(s.content).Tokens
}

// Sizes returns the sizes of everything that a request sends.
func (c *Counter) Sizes(r *chat.Request) Sizes {
	passes.Add(passes.Counts, 1)
	s := &c.model.structure
	z := Sizes{frame: raw{fixed: s.Request}, Messages: make([]Size, len(r.Messages))}
	for i := range r.System {
		z.system.add(c.systemPart(&r.System[i]))
	}
	if len(r.System) > 0 {
		z.frame.fixed += s.System
	}
	for i := range r.Tools {
		z.tools.add(c.tool(&r.Tools[i]))
	}
	if len(r.Tools) > 0 {
		z.tools.fixed += s.Tools
	}
	c.measure(r.Messages, z.Messages)
	return z
}

// measure sets the sizes of messages. What an earlier request began with is found in the
// cache as a whole, not message by message.
func (c *Counter) measure(messages []chat.Message, sizes []Size) {
	run := c.newRun(messages)
	known := run.find()
	for i := range messages {
		m := &messages[i]
		if i < len(known) {
			sizes[i].content = known[i].raw()
		} else {
			sizes[i].content = c.message(m)
		}
		sizes[i].overhead = c.overhead(m)
	}
	if len(known) < len(messages) {
		run.keep(known, sizes)
	}
}

// Added returns the tokens that the content of each message adds to the request that b
// counts. Unlike [Breakdown.Messages] they do not bear an offset below 0, which stays when a
// message leaves.
func (c *Counter) Added(z Sizes, b Breakdown) []int {
	added := slices.Clone(b.Messages)
	if b.Accuracy != Exact && c.scale.Calibrated() && c.scale.Offset < 0 {
		for i := range added {
			added[i] = c.scale.part(c.local(z.Messages[i].content))
		}
	}
	return added
}

// Unsaved returns how many of the tokens that [Counter.Added] attributes to messages are not
// saved when messages leave until the request that b counts has the given total. They are
// what small requests do not bear of an offset below 0 (see [Scale.Apply]).
func (c *Counter) Unsaved(b Breakdown, total int) int {
	if b.Accuracy == Exact || !c.scale.Calibrated() || total >= b.Total {
		return 0
	}
	return int(math.Round(c.scale.above(c.scale.most(total, b.Local)) - c.scale.above(b.Local)))
}

// Sum counts a request by the sizes that c measured.
func (c *Counter) Sum(z Sizes) Breakdown {
	over, rough := z.frame, z.system.rough || z.tools.rough
	b := Breakdown{Messages: make([]int, len(z.Messages))}
	sum := 0
	for i := range z.Messages {
		m := &z.Messages[i]
		rough = rough || m.content.rough
		b.Messages[i] = c.local(m.content)
		sum += b.Messages[i]
		over.add(m.overhead)
	}
	rough = rough || over.rough
	b.System, b.Tools, b.Overhead = c.local(z.system), c.local(z.tools), c.local(over)
	b.Local = b.System + b.Tools + b.Overhead + sum
	b.Accuracy = Estimate
	switch {
	case c.exact && !rough:
		b.Accuracy = Exact
	case c.scale.Calibrated():
		if b.Local >= c.scale.Least { // nobody knows the error below
			b.Accuracy, b.Error = Calibrated, c.scale.Error
		}
		b.calibrate(c.scale)
		return b
	}
	b.Total = b.Local
	return b
}
