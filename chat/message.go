package chat

import (
	"bytes"
	"strings"
)

// Role says who speaks. It is the provider's own word, kept as it came; the
// constants are the ones that Oriel gives a meaning to.
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

// Kind is what a part is, whatever the provider calls it.
type Kind uint8

const (
	// Unknown is a part that this version has no meaning for. It is carried by
	// its raw bytes alone.
	Unknown Kind = iota
	Text
	Image
	Document
	Audio
	// Call asks for a tool to be run.
	Call
	// Result answers the call with the same ID.
	Result
	// Thinking is a model's reasoning, plain, signed, redacted or encrypted.
	Thinking
	Refusal
	// Compaction stands for everything before it: the provider drops that.
	Compaction
	// Reference points at something the provider keeps (item_reference).
	Reference
	// Catalog announces tools that later calls may use (mcp_list_tools,
	// tool_reference).
	Catalog
)

// Message is one element of a request's history as its provider means it: a
// message, or for OpenAI Responses an item.
type Message struct {
	Role Role
	// Type is the item type of OpenAI Responses ("function_call"); empty for
	// plain messages.
	Type string
	// ID is the item's own id where the protocol has one.
	ID string
	// Name is the participant's name, or for role function the function's.
	Name string
	// Raw is the message as it came: a slice of the request's body. It is nil
	// for a message that a program made.
	Raw   []byte
	Parts []Part
}

// Part is one piece of a message.
type Part struct {
	Kind Kind
	// Signed says of a Thinking part that the provider can check or decrypt it,
	// so that it must be sent back byte for byte or not at all.
	Signed bool
	// IsError says of a Result that the tool reported a failure.
	IsError bool
	// Hosted says of a Call or Result that the provider runs the tool itself: the
	// result is in the assistant's own turn, or, where the call has no id, within
	// the call.
	Hosted bool
	// Cached says that the part carries a prompt-cache breakpoint.
	Cached bool
	// Type is the provider's own name of the part ("tool_use", "input_image").
	Type string
	// Raw is the part's JSON as it came; nil where the content was a plain
	// string or the part was made by a program.
	Raw []byte
	// Text is what a Text, Thinking or Refusal part says, and the whole of a
	// Result whose content is one string.
	Text String
	// ID joins a Call and its Result.
	ID string
	// Within is the id of another call that this Call belongs to: the code that
	// the provider runs and that called the tool, or the approval that it had.
	Within string
	// Name is the tool of a Call, or of a Result where the protocol repeats it.
	Name string
	// Args is the JSON of a Call's arguments: an object as it came (Anthropic)
	// or a string literal that holds one (OpenAI).
	Args []byte
	// Parts is the content of a Result that is a list.
	Parts []Part
	// Media describes an Image, Document or Audio.
	Media *Media
}

// Mark begins every text that Oriel puts into a request: markers, digests, summaries,
// recalled passages, and what stands in the place of something that was left out.
const Mark = "[Oriel"

// Inserted reports whether a part is a text of Oriel's.
func (p *Part) Inserted() bool {
	return p.Kind == Text && len(p.Text) > len(Mark)+1 && string(p.Text[1:len(Mark)+1]) == Mark && (p.Text[len(Mark)+1] == ':' || p.Text[len(Mark)+1] == ' ')
}

// Media is a picture, a document or a recording, inline or by reference.
type Media struct {
	// Type is the MIME type, where it is known.
	Type string
	// Data is the base64 text of inline content, as it stands in the body.
	Data []byte
	// URL is where the content lies (never a data: URL; those become Data).
	URL string
	// FileID names a file that the provider keeps.
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

// Request is what every provider's request comes down to.
type Request struct {
	Model string
	// System is the system prompt where the protocol keeps it apart from the
	// messages (Anthropic's system, Responses' instructions).
	System   []Part
	Tools    []ToolDef
	Messages []Message
	// MaxOutput is the most tokens that the reply may have; 0 when not said.
	MaxOutput int
	// ThinkingBudget is the part of the reply reserved for thinking; 0 when not
	// said.
	ThinkingBudget int
	Stream         bool
	// Managed names the field by which the request asks its provider to manage
	// the window ("truncation", "previous_response_id", …); empty when nobody
	// but Oriel does.
	Managed string
}

// Arguments gives the JSON text of a call's arguments, whichever form they
// came in. Malformed arguments are given as they are.
func (p *Part) Arguments() string {
	if len(p.Args) > 0 && p.Args[0] == '"' {
		return String(p.Args).String()
	}
	return string(p.Args)
}

// Prompts reports whether a user says or shows something of their own in the
// message: not only results of tools, and not only reminders that the agent
// program put in their mouth.
func (m *Message) Prompts() bool {
	if m.Role != User {
		return false
	}
	for i := range m.Parts {
		if m.Parts[i].Own() {
			return true
		}
	}
	return false
}

// Own reports whether a part of a user's message is the user's own: words, a picture, a
// file. Results of tools are not, and neither are texts that are nothing but what an
// agent program put there. See [Message.Words] for the words alone.
func (p *Part) Own() bool {
	return p.Kind != Result && !(p.Kind == Text && reminds(p.Text))
}

// reminders are the elements that Claude Code adds to user messages: what it reminds the
// model of, and what commands printed that the user ran.
var reminders = []string{"system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-stdout", "bash-stderr", "task-notification"}

// reminds reports whether a text is nothing but one of the reminders. A user's words
// behind one make it theirs.
func reminds(text String) bool {
	head := bytes.TrimLeft(text, "\" ")
	if len(head) == 0 || head[0] != '<' && head[0] != '\\' {
		return false // most texts are told without decoding them
	}
	s := strings.TrimSpace(text.String())
	for _, name := range reminders {
		if strings.HasPrefix(s, "<"+name+">") && strings.HasSuffix(s, "</"+name+">") {
			return true
		}
	}
	return false
}

// onlyResults reports whether a user message is nothing but results of tools.
func (m *Message) onlyResults() bool {
	for i := range m.Parts {
		if m.Parts[i].Kind != Result {
			return false
		}
	}
	return len(m.Parts) > 0
}

// returns reports whether the message has the result of a tool.
func (m *Message) returns() bool {
	for i := range m.Parts {
		if m.Parts[i].Kind == Result {
			return true
		}
	}
	return false
}

// endsThinking reports whether an assistant stops in mid-thought, as when a reply
// was interrupted.
func (m *Message) endsThinking() bool {
	n := len(m.Parts)
	return m.Role == Assistant && n > 0 && m.Parts[n-1].Kind == Thinking
}

// startsThinking reports whether an assistant thinks before it says anything.
func (m *Message) startsThinking() bool {
	return m.Role == Assistant && len(m.Parts) > 0 && m.Parts[0].Kind == Thinking
}
