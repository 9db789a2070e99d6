package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/wire/internal/anthropic"
	"github.com/oriel-context/oriel/wire/internal/chat"
	"github.com/oriel-context/oriel/wire/internal/converse"
	"github.com/oriel-context/oriel/wire/internal/gemini"
	"github.com/oriel-context/oriel/wire/internal/interactions"
	"github.com/oriel-context/oriel/wire/internal/ollama"
	"github.com/oriel-context/oriel/wire/internal/protocol"
	"github.com/oriel-context/oriel/wire/internal/responses"
)

// Protocol is what a program may ask about one protocol: its name, its members, its rules, and
// how its messages and replies are read and written.
type Protocol = protocol.Protocol

// protocols has a row for each format. Auto and Trajectories are no protocols and have only
// a name.
var protocols = []*Protocol{
	Auto:         {Name: "auto"},
	Anthropic:    anthropic.Protocol(),
	Chat:         chat.Protocol(),
	Responses:    responses.Protocol(),
	Trajectories: {Name: "trajectory"},
	Gemini:       gemini.Protocol(),
	Ollama:       ollama.Protocol(),
	Interactions: interactions.Protocol(),
	Converse:     converse.Protocol(),
}

// Protocol returns the protocol of a format. That of Auto, of Trajectories and of an unknown
// format has only a name.
func (f Format) Protocol() *Protocol {
	if int(f) < len(protocols) {
		return protocols[f]
	}
	return protocols[Auto]
}

// IsProtocol reports whether requests have the format.
func (f Format) IsProtocol() bool { return f.Protocol().IsProtocol() }

// Protocols returns the formats of all protocols.
func Protocols() []Format {
	var all []Format
	for i := range protocols {
		if f := Format(i); f.IsProtocol() {
			all = append(all, f)
		}
	}
	return all
}

// ByName returns the format of the protocol with a name, or false.
func ByName(name string) (Format, bool) {
	for i, p := range protocols {
		if p.Name == name {
			return Format(i), Format(i).IsProtocol()
		}
	}
	return Auto, false
}

// ProtocolNames lists the protocols for errors: "anthropic, openai or responses".
func ProtocolNames() string {
	var out string
	all := Protocols()
	for i, f := range all {
		switch {
		case i == 0:
		case i == len(all)-1:
			out += " or "
		default:
			out += ", "
		}
		out += f.String()
	}
	return out
}

// listNames lists the members that hold messages, each with the protocols that have it.
func listNames() string {
	var out []string
	for i, p := range protocols {
		named := func(q *Protocol) bool { return q.List == p.List }
		if !p.IsProtocol() || slices.IndexFunc(protocols, named) < i {
			continue
		}
		var titles []string
		for _, q := range protocols {
			if named(q) {
				titles = append(titles, q.Title)
			}
		}
		out = append(out, fmt.Sprintf("%q (%s)", p.List, strings.Join(titles, ", ")))
	}
	return strings.Join(out, ", ")
}

// Framing is how a streamed reply is divided into events.
type Framing uint8

const (
	// Events are server-sent events: an empty line ends one.
	Events Framing = iota
	// Lines are events of a line each.
	Lines
	// Frames are those of Amazon's event stream.
	Frames
)

// FramingOf returns how a streamed reply of a media type is divided, and whether the type is that
// of a streamed reply of some protocol.
func FramingOf(mediaType string) (f Framing, ok bool) {
	switch mediaType {
	case protocol.EventStream:
	case protocol.Frames:
		f = Frames
	default:
		f = Lines
	}
	return f, slices.ContainsFunc(protocols, func(p *Protocol) bool { return p.IsStream(mediaType) })
}

// IsOpening reports whether an event with a name may come before an error in a stream that is
// a refusal.
func IsOpening(event string) bool {
	return slices.ContainsFunc(protocols, func(p *Protocol) bool { return slices.Contains(p.Opening, event) })
}

// IsReplyMember reports whether an answer with a member is a reply of some protocol, even if it
// also has an error.
func IsReplyMember(name string) bool {
	return slices.ContainsFunc(protocols, func(p *Protocol) bool { return slices.Contains(p.Replies, name) })
}
