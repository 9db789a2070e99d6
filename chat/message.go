package chat

import (
	"bytes"
	"strings"
)

// Role is the author of a message, in the provider's own word. The constants are the
// roles that Oriel interprets.
type Role string

const (
	System    Role = "system"
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
	// Function is OpenAI's older word for Tool; its results are paired by name.
	Function Role = "function"
)

// Kind is the kind of a part, independent of the provider's name for it.
type Kind uint8

const (
	// Unknown is a part that this version does not interpret. Only its raw bytes are
	// kept.
	Unknown Kind = iota
	Text
	Image
	Document
	Audio
	// Call is a request to run a tool.
	Call
	// Result answers the call with the same ID.
	Result
	// Thinking is a model's reasoning: plain, signed, redacted or encrypted.
	Thinking
	Refusal
	// Compaction replaces everything before it, which the provider drops.
	Compaction
	// Reference refers to something that the provider keeps (item_reference).
	Reference
	// Catalog announces tools that later calls may use (mcp_list_tools,
	// tool_reference).
	Catalog
)

// Message is one element of a request's history: a message, or an item of OpenAI
// Responses.
type Message struct {
	Role Role
	// Type is the item type of OpenAI Responses ("function_call"); empty for
	// plain messages.
	Type string
	// ID is the item's own id where the protocol has one.
	ID string
	// Name is the participant's name, or the function's name for role function.
	Name string
	// Raw is the message as received: a slice of the request's body. It is nil for a
	// message built by a program.
	Raw   []byte
	Parts []Part
	// Sum is Sum(Raw), so that the bytes need not be hashed again; 0 if it was
	// not computed.
	Sum uint64
}

// Part is one piece of a message.
type Part struct {
	Kind Kind
	// Signed reports that the provider can verify or decrypt a part, which is Thinking except
	// in Gemini, so that it must be sent back byte for byte or not at all.
	Signed bool
	// IsError reports that a Result is a tool's failure.
	IsError bool
	// Hosted reports that the provider runs the tool of a Call or Result itself: the
	// result is in the assistant's own turn or, if the call has no id, inside the call.
	Hosted bool
	// Written reports that Oriel put the text into the request, because a plan of its own
	// says so. What a text begins with proves nothing: it may be a page that an agent read.
	Written bool
	// Cached reports that the part carries a prompt-cache breakpoint.
	Cached bool
	// Type is the provider's own name of the part ("tool_use", "input_image").
	Type string
	// Raw is the part's JSON as received; nil if the content was a plain string or the
	// part was built by a program.
	Raw []byte
	// Text is the text of a Text, Thinking or Refusal part, or of a Result whose content
	// is one string.
	Text String
	// ID pairs a Call with its Result.
	ID string
	// Within is the id of the call that this Call belongs to: the hosted code that made
	// it, or its approval.
	Within string
	// Name is the tool's name in a Call, and in a Result if the protocol repeats it.
	Name string
	// Args is the JSON of a Call's arguments: an object (Anthropic) or a string literal
	// that holds one (OpenAI).
	Args []byte
	// Parts is the content of a Result whose content is a list.
	Parts []Part
	// Media describes an Image, Document or Audio.
	Media *Media
}

// JSON is the Type of a Text part that is JSON in the place of a text: the value that a function
// returned. Its Text is Raw as a string.
const JSON = "json"

// Breakpoint is the Type of an Unknown part that only marks the end of what the provider caches.
const Breakpoint = "breakpoint"

// Mark begins every text that Oriel inserts into a request: markers, digests, summaries,
// recalled passages and stubs of omitted content.
const Mark = "[Oriel"

// Inserted reports whether the part looks like one that Oriel inserted, so that it is
// nobody's words. It may be a copy: only Written tells that it is Oriel's.
func (p *Part) Inserted() bool {
	return p.Kind == Text && len(p.Text) > len(Mark)+1 && string(p.Text[1:len(Mark)+1]) == Mark &&
		(p.Text[len(Mark)+1] == ':' || p.Text[len(Mark)+1] == ' ')
}

// Media is an image, a document or a recording, inline or by reference.
type Media struct {
	// Type is the MIME type, if known.
	Type string
	// Data is the base64 text of inline content, as in the body.
	Data []byte
	// URL locates the content. It is never a data: URL; those become Data.
	URL string
	// FileID identifies a file that the provider keeps.
	FileID string
	// Detail is OpenAI's "low", "high" or "auto".
	Detail string
	// Text is the content of a plain-text document.
	Text String
}

// ToolDef is one tool definition.
type ToolDef struct {
	Name string
	Raw  []byte
}

// Request is the provider-independent form of a request.
type Request struct {
	Model string
	// System is the system prompt if the protocol keeps it outside the messages
	// (Anthropic's system, Responses' instructions).
	System   []Part
	Tools    []ToolDef
	Messages []Message
	// MaxOutput is the reply's token limit; 0 if not given.
	MaxOutput int
	// ThinkingBudget is the part of MaxOutput reserved for thinking; 0 if not given.
	ThinkingBudget int
	// Window is the context window that the request asks its server for; 0 if it asks for
	// none.
	Window int
	Stream bool
	// Betas are the beta features that the body asks for; a header may name others.
	Betas []string
	// Managed is the field with which the request asks the provider to manage the window
	// ("truncation", "previous_response_id", …); empty if there is none.
	Managed string
	// Compacts reports that a field of the request asks the provider for the summary that
	// replaces the history.
	Compacts bool
}

// Arguments returns the JSON text of a call's arguments in either form. Malformed
// arguments are returned unchanged.
func (p *Part) Arguments() string {
	if len(p.Args) > 0 && p.Args[0] == '"' {
		return String(p.Args).String()
	}
	return string(p.Args)
}

// Prompts reports whether a user's message contains something of the user's own: more
// than tool results and reminders that an agent program inserted.
func (m *Message) Prompts() bool {
	if m.Role != User {
		return false
	}
	for i := range m.Parts {
		if m.Parts[i].Own() {
			return !m.observes()
		}
	}
	return false
}

// Own reports whether a part of a user's message is the user's own: text, a picture, a
// file. Tool results, breakpoints and texts that consist only of an agent program's insertions
// are not. See [Message.Words] for the text alone.
func (p *Part) Own() bool {
	return p.Kind != Result && p.Type != Breakpoint && !(p.Kind == Text && reminds(p.Text))
}

// reminders are the elements that Claude Code adds to user messages: reminders to the
// model, and the output of commands that the user ran.
var reminders = []string{"system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat",
	"bash-stdout", "bash-stderr", "task-notification"}

// reminds reports whether a text consists of exactly one reminder, with no words of the
// user after it.
func reminds(text String) bool {
	head := bytes.TrimLeft(text, "\" ")
	if len(head) == 0 || head[0] != '<' && head[0] != '\\' {
		return false // most texts need no decoding
	}
	s := strings.TrimSpace(text.String())
	for _, name := range reminders {
		if strings.HasPrefix(s, "<"+name+">") && strings.HasSuffix(s, "</"+name+">") {
			return true
		}
	}
	return false
}

// onlyResults reports whether a user's message contains only tool results, and breakpoints.
func (m *Message) onlyResults() bool {
	n := 0
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == Result:
			n++
		case p.Type != Breakpoint:
			return false
		}
	}
	return n > 0
}

// returns reports whether the message contains a tool result.
func (m *Message) returns() bool {
	for i := range m.Parts {
		if m.Parts[i].Kind == Result {
			return true
		}
	}
	return false
}

// endsThinking reports whether an assistant's message ends with thinking, as an
// interrupted reply does.
func (m *Message) endsThinking() bool {
	n := len(m.Parts)
	return m.Role == Assistant && n > 0 && m.Parts[n-1].Kind == Thinking
}

// startsThinking reports whether an assistant's message begins with thinking.
func (m *Message) startsThinking() bool {
	return m.Role == Assistant && len(m.Parts) > 0 && m.Parts[0].Kind == Thinking
}
