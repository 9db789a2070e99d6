// Package histories draws whole request bodies for property tests: JSON text as
// clients of all kinds write it, for the formats that Oriel reads.
//
// Two things are drawn apart. What a history says (turns, calls, results, odd
// items) comes from ordinary rapid draws, so that a failing history shrinks to
// a small one. How it is written (white space, escapes, key order, number forms,
// keys that come twice) comes from one drawn seed, so that a failing history
// shrinks to plain JSON unless the writing is to blame.
//
// With Options.Valid a body obeys the rules of its vendor as package strict knows
// them; without it, the history may be damaged in every way that clients, crashed
// agents and careless trimmers damage one. Every body is a JSON object.
package histories

import (
	"fmt"

	"pgregory.net/rapid"
)

// Options say what to draw.
type Options struct {
	// Valid keeps the history within the vendor's rules.
	Valid bool
	// Turns is the number of exchanges; 0 draws up to five.
	Turns int
	// Plain writes compact JSON without oddities: no white space, keys in usual
	// order, escapes only where JSON needs them.
	Plain bool
}

// Anthropic draws a body for POST /v1/messages.
func Anthropic(t *rapid.T, opt Options) []byte {
	g := newGen(t, opt)
	return g.finish(anthropicBody(g))
}

// Chat draws a body for POST /v1/chat/completions.
func Chat(t *rapid.T, opt Options) []byte {
	g := newGen(t, opt)
	return g.finish(chatBody(g))
}

// Responses draws a body for POST /v1/responses.
func Responses(t *rapid.T, opt Options) []byte {
	g := newGen(t, opt)
	return g.finish(responsesBody(g))
}

// Gemini draws a body for POST …:generateContent.
func Gemini(t *rapid.T, opt Options) []byte {
	g := newGen(t, opt)
	return g.finish(geminiBody(g))
}

// Ollama draws a body for Ollama's POST /api/chat.
func Ollama(t *rapid.T, opt Options) []byte {
	g := newGen(t, opt)
	return g.finish(ollamaBody(g))
}

// Interactions draws a body for POST /v1beta/interactions.
func Interactions(t *rapid.T, opt Options) []byte {
	g := newGen(t, opt)
	return g.finish(interactionsBody(g))
}

// Converse draws a body for Amazon Bedrock's POST /model/MODEL/converse.
func Converse(t *rapid.T, opt Options) []byte {
	g := newGen(t, opt)
	return g.finish(converseBody(g))
}

// gen is the state of one draw.
type gen struct {
	t   *rapid.T
	opt Options
	n   int // last number given to an id

	lists []*list // lists that damage may change
	ids   []*id   // ids of calls that damage may change
}

func newGen(t *rapid.T, opt Options) *gen {
	g := &gen{t: t, opt: opt}
	if g.opt.Turns <= 0 {
		g.opt.Turns = rapid.IntRange(1, 5).Draw(t, "turns")
	}
	return g
}

// finish damages the history if it may, and writes the body.
func (g *gen) finish(body *object, history *list) []byte {
	if !g.opt.Valid {
		g.damage(body, history)
	}
	seed := uint64(0)
	if !g.opt.Plain {
		seed = rapid.Uint64().Draw(g.t, "writing")
	}
	return newWriter(seed).body(body)
}

// one in n draws is true.
func (g *gen) one(n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(g.t, label) == n-1
}

// upTo draws from 0 to n.
func (g *gen) upTo(n int, label string) int {
	return rapid.IntRange(0, n).Draw(g.t, label)
}

// pick draws one of the choices; the first is the simplest.
func (g *gen) pick(label string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(g.t, label)
}

// next returns an id that no other part of the body has.
func (g *gen) next(prefix string) *id {
	g.n++
	return &id{text: fmt.Sprintf("%s%04d", prefix, g.n)}
}

// call returns the id of a tool call, which damage may change.
func (g *gen) call(prefix string) *id {
	c := g.next(prefix)
	g.ids = append(g.ids, c)
	return c
}

// list makes a list that damage may change.
func (g *gen) list(items ...any) *list {
	l := &list{items}
	g.lists = append(g.lists, l)
	return l
}

// shuffled returns the items in a drawn order.
func shuffled[T any](g *gen, items []T) []T {
	if len(items) < 2 {
		return items
	}
	return rapid.Permutation(items).Draw(g.t, "order")
}

// extras adds fields that no vendor knows, before and after the known ones.
func (g *gen) extras(o *object) *object {
	switch g.upTo(7, "extras") {
	case 6:
		o.members = append([]member{{"x_first", raw(`{"messages":[{"role":"tool"}],"a":1.0}`)}}, o.members...)
	case 7:
		o.add("x_last", raw(`[1e2,-0.50,{"input":null,"content":"]}"},"\ud83d\ude00"]`))
	}
	return o
}
