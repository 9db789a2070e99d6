package wire

import (
	"fmt"

	"github.com/oriel-context/oriel/chat"
)

// Encode writes a whole request in the given protocol from the chat model, for
// messages built by a program and to convert a history from one protocol to
// another. It does not use the raw bytes of messages.
//
// What the protocol cannot express becomes text: an unknown part becomes a text
// with its JSON. Encode drops thinking, which is useful only to the model that
// produced it, and what a provider keeps for itself (references, compactions,
// catalogues). Calls and results without ids get some, since most protocols need them.
func Encode(f Format, r *chat.Request) ([]byte, error) {
	p := f.Protocol()
	if !p.IsProtocol() {
		return nil, fmt.Errorf("encode: format %s has no requests: use %s", f, ProtocolNames())
	}
	identified := *r
	identified.Messages = chat.Identified(r.Messages)
	return p.Encode(&identified)
}
