package protocol

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire/internal/bedrock"
)

// The media types of streams that are not lines of JSON.
const (
	// EventStream is that of server-sent events.
	EventStream = "text/event-stream"
	// Frames is that of Amazon's frames.
	Frames = bedrock.MediaType
)

// Protocol is all that Oriel knows of one protocol. A part may be left empty only where its
// comment says what that means; TestEveryProtocolIsWhole names any other part that is
// missing.
type Protocol struct {
	// Names.

	// Name stands in settings, in stores and on screens. What was stored under a name is
	// read back by it, so it never changes.
	Name string
	// Title is the vendor's name for it, for people.
	Title string
	// Vendor is the vendor whose server speaks the protocol: "openai", "anthropic", "gemini",
	// "ollama" or "bedrock".
	Vendor string

	// Paths.

	// Route is the path of a call on the vendor's server.
	Route string
	// IsCall reports whether a POST to a path is a call. Providers and gateways have
	// prefixes of their own before the route, and some leave its version out.
	IsCall func(path string) bool
	// Sockets reports whether calls may also come over a WebSocket at the path of a call.
	Sockets bool
	// IsCount reports whether a POST to a path only asks how many tokens a call would have;
	// nil if the protocol has no such request.
	IsCount func(path string) bool
	// CountIn are the names of the member of such a request that may hold the call; empty if the
	// call's members are its own.
	CountIn []string
	// FromPath reads what the path of a call says, such as the model, into its request; nil
	// if bodies say everything.
	FromPath func(r *chat.Request, path string)
	// Accepts returns an error if a body at the path of a call, with certain members, is another
	// protocol's; nil if the path tells.
	Accepts func(path string, has func(member string) bool) error

	// Bodies.

	// List is the member of a body that holds the messages.
	List string
	// System is the member of a body that holds the system prompt; empty if only
	// messages do.
	System string
	// Tools are the members of a body that define tools.
	Tools []string
	// Signs distinguish bodies from those of other protocols with the same List; empty if
	// there are none.
	Signs Signs
	// Streams reports that a body which does not say whether its reply is streamed asks for a
	// stream.
	Streams bool
	// Field reads a member of a body beside List into r.Request and r.Hints.
	Field func(r *Reader, name string, v rawjson.Value) error
	// Message reads one element of List, which is an object, into m; m.Raw is set.
	Message func(r *Reader, v rawjson.Value, m *chat.Message) error
	// FromText returns the message that List means if it is a plain text, whose literal is
	// given; nil if List is always an array.
	FromText func(literal []byte) []byte
	// LacksList reports whether a body may be without List because the provider has the
	// messages; nil if it never may.
	LacksList func(body rawjson.Value) bool
	// Managed returns the member with which a body asks its provider to manage the window,
	// or "".
	Managed func(body rawjson.Value) string
	// Window is the window that the vendor's server gives a request for which neither the
	// request nor the server says another; 0 if that is the model's.
	Window int
	// Held are the results of Managed with which the provider holds a part of the prompt;
	// empty if none does.
	Held []string
	// Rules are the rules for calls and results, except chat.Rules.Held.
	Rules chat.Rules

	// Changes of a message and of a body. The editor splices; the protocol says where.

	// Content is the member of a message that holds its parts: a list or, in some protocols,
	// also a string.
	Content string
	// Before returns how many parts of a message come before those of Content, which are in
	// members of their own; nil if none do.
	Before func(m *chat.Message) int
	// Result returns where the content of the result in part i is, or an error if it cannot
	// be a text.
	Result func(e *Edit, i int) (parent rawjson.Value, name string, err error)
	// AsResult returns what stands in the place of Result for a text, whose literal is given;
	// nil if it is the literal.
	AsResult func(e *Edit, i int, literal []byte) []byte
	// Arguments returns where the arguments of the call in part i are; a zero Value if they
	// are not there.
	Arguments func(e *Edit, i int) (parent rawjson.Value, name string)
	// AllowsText returns an error if no text may be added to the message before its parts
	// from the given one up to end. Results of tools are refused before it is called.
	AllowsText func(e *Edit, from, end int) error
	// TextPart returns how an element with a text begins in a message of a role; the literal
	// and a brace end it. It is nil if Content is never a list.
	TextPart func(role chat.Role) string
	// Joint stands, as the inside of a literal, between a text that is added and the others of
	// a Content that is always a string; empty if Content may be a list. It begins with a
	// character that clients do not write: where it stands beside a text of Oriel's, the content
	// is several texts again (see Reader.Joined).
	Joint string
	// MarksCache reports whether clients mark in messages what the provider caches, so that
	// marks must move when messages leave; otherwise marks are fields like others.
	MarksCache bool
	// Steady returns a body that was made from a request without what changes with every
	// call although nothing was said: a plain prefix cache finds nothing behind it. The length
	// stays the same. It returns body itself without such a part; nil if there never is one.
	Steady func(r *chat.Request, body []byte) []byte
	// AskCache returns a body with a field that asks the provider to cache the prompt, or body
	// itself if it asks already; nil if providers cache without being asked.
	AskCache func(body []byte) []byte
	// Between returns a message to stand between two of a role that a view makes neighbours;
	// nil if a role may follow itself.
	Between func(role chat.Role) []byte
	// AskDrop returns a body with a field that has the provider drop thinking that lost its
	// place, where it would refuse the request, or body itself if that has a choice of its own.
	// The request then needs DropBeta in the header Anthropic-Beta. Nil if providers have no such
	// field.
	AskDrop  func(body []byte) []byte
	DropBeta string

	// Requests that a program makes.

	// Encode writes a whole request from the chat model; see Encode of package wire for what
	// the protocol cannot express.
	Encode func(r *chat.Request) ([]byte, error)

	// Replies.

	// Reply reads a reply that was not streamed, which is an object, into r; its ID and Model
	// are set. If it cannot, the object may still be an error in a common form.
	Reply func(r *Reply, body rawjson.Value) error
	// Replies are the members of a whole reply that hold what the model said: an answer that
	// has one of them beside an error is not a refusal.
	Replies []string
	// StreamType is the media type of a streamed reply. In EventStream an empty line ends an
	// event; in Frames a frame is one; in any other type each line is.
	StreamType string
	// Framed reports that a streamed reply may also come in Frames, as from Amazon Bedrock.
	Framed bool
	// Opening are the names of the events that may come before an error that ends a stream
	// as a refusal; empty if none do.
	Opening []string
	// ListsEvents reports that an answer in JSON may be a list of events.
	ListsEvents bool
	// NewStream returns what combines the events of a streamed reply.
	NewStream func() Assembly
	// NamesReplies reports whether a request may continue a reply by the id of the reply.
	NamesReplies bool
	// NamesHeld is NamesReplies for the replies to requests of which the provider holds messages, if
	// only these may be named.
	NamesHeld bool

	// Refusals.

	// Refusal returns the body of an error response as the vendor writes it, so that SDKs
	// raise the error that they raise for the vendor's own. code is a word for programs.
	Refusal func(status int, code, message string) []byte
	// TooLong are regular expressions for the beginnings of the messages, in lower case, with
	// which servers refuse a request that is too long. They have groups: <size> and <limit> as
	// the server counts them; <prompt>, a size of the prompt alone, which exceeds the limit by
	// itself; <reply>, to be added to size. A sentence without a size is matched to its end,
	// because a page that a server quotes may follow it.
	TooLong []string
	// TooLongCodes are the codes and types, in lower case, of such errors; empty if there are
	// none.
	TooLongCodes []string
	// Unbound matches the message, in lower case, of a refusal because something before the
	// model's thinking differs from when the model thought it; nil if servers do not check
	// that.
	Unbound *regexp.Regexp

	// Storing.

	// Bare returns a message as it may be stored: without credentials, which some kinds of
	// messages have fields for. It returns m.Raw itself if there are none.
	Bare func(m *chat.Message) []byte
}

// Signs are what only one protocol has in a body. Tools and messages decide before other
// members: compatible servers accept each other's members, but a call or a result has only
// one form. A nil function finds nothing.
type Signs struct {
	// Tool, Message and Part report whether the definition of a tool, a message or an
	// element of a message's content has the protocol's own form.
	Tool, Message, Part func(v rawjson.Value) bool
	// Fields are members of a body.
	Fields []string
	// Model is a part of the names of the vendor's models.
	Model string
	// Usual reports that a body without any sign is taken for the protocol's. Of protocols
	// that do not say so, the first one with the list gets it.
	Usual bool
}

// BindsThinking reports whether a provider may refuse a message whose thinking was produced
// behind another history.
func (p *Protocol) BindsThinking() bool { return p.Unbound != nil }

// IsProtocol reports whether requests have the format; otherwise it has only a name.
func (p *Protocol) IsProtocol() bool { return p.List != "" }

// IsStream reports whether an answer of a media type is a streamed reply of the protocol.
func (p *Protocol) IsStream(mediaType string) bool {
	return p.IsProtocol() && (p.StreamType == mediaType || p.Framed && mediaType == Frames)
}

// RawOf is Protocol.Bare of a protocol whose messages have no fields for credentials.
func RawOf(m *chat.Message) []byte { return m.Raw }

// IsAt reports whether a path ends with a resource that is alone or behind one of the
// prefixes.
func IsAt(path, resource string, prefixes ...string) bool {
	rest, ok := strings.CutSuffix(path, resource)
	if !ok || rest == "" {
		return ok
	}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasSuffix(rest, p) })
}
