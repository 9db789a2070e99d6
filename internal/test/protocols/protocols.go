// Package protocols has for each protocol of package wire what tests of all protocols need: a
// generator of bodies and a judge of them, neither of which shares code with wire.
package protocols

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/strict"
	"github.com/oriel-context/oriel/wire"
)

// Kit is what tests need of a protocol.
type Kit struct {
	Format wire.Format
	// Draw draws a body.
	Draw func(*rapid.T, histories.Options) []byte
	// Judge returns how a body breaks the vendor's rules.
	Judge func(body []byte) []strict.Problem
}

// String returns the name of the protocol.
func (k Kit) String() string { return k.Format.String() }

// kits has a row for each protocol.
var kits = []Kit{
	{wire.Anthropic, histories.Anthropic, strict.Anthropic},
	{wire.Chat, histories.Chat, strict.Chat},
	{wire.Responses, histories.Responses, strict.Responses},
	{wire.Gemini, histories.Gemini, strict.Gemini},
	{wire.Ollama, histories.Ollama, strict.Ollama},
	{wire.Interactions, histories.Interactions, strict.Interactions},
	{wire.Converse, histories.Converse, strict.Converse},
}

// All returns the kits of all protocols.
func All() []Kit {
	var all []Kit
	for _, f := range wire.Protocols() {
		all = append(all, Of(f))
	}
	return all
}

// Of returns the kit of a protocol. It panics if there is none.
func Of(f wire.Format) Kit {
	for _, k := range kits {
		if k.Format == f {
			return k
		}
	}
	panic(fmt.Sprintf("the protocol %s has no kit for tests: give it a row in internal/test/protocols", f))
}
