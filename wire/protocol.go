package wire

import "github.com/oriel-context/oriel/chat"

// Protocol is what a program has to know of one protocol. What it may leave empty says so;
// TestEveryProtocolIsWhole fails for any other part that is missing.
type Protocol struct {
	// Name stands in settings, in stores and on screens. What was stored under a name is
	// read back by it, so it never changes.
	Name string
	// Vendor is the vendor whose server speaks the protocol: "openai" or "anthropic".
	Vendor string
	// Route is the path of a call on the vendor's server.
	Route string

	// List is the member of a body that holds the messages.
	List string
	// System is the member of a body that holds the system prompt; empty if only
	// messages do.
	System string
	// Tools are the members of a body that define tools.
	Tools []string

	// MarksCache reports whether clients mark in messages what the provider caches, so that
	// marks must move when messages leave; otherwise marks are fields like others.
	MarksCache bool
	// BindsThinking reports whether a provider may refuse a message whose thinking was
	// produced behind another history.
	BindsThinking bool
	// NamesReplies reports whether a request may continue a reply by the id of the reply.
	NamesReplies bool

	// Bare returns a message as it may be stored: without credentials, which some kinds of
	// messages have fields for. It returns m.Raw itself if there are none.
	Bare func(m *chat.Message) []byte
	// Refusal returns the body of an error response as the vendor writes it, so that SDKs
	// raise the error that they raise for the vendor's own. code is a word for programs.
	Refusal func(status int, code, message string) []byte
}

// protocols has a row for each format. Auto and Trajectories are no protocols and have only
// a name.
var protocols = []*Protocol{
	Auto:         {Name: "auto"},
	Anthropic:    anthropicProtocol(),
	Chat:         chatProtocol(),
	Responses:    responsesProtocol(),
	Trajectories: {Name: "trajectory"},
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
func (f Format) IsProtocol() bool { return f.Protocol().List != "" }

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
