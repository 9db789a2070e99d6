package timeline

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/rawjson"
	"github.com/oriel-context/oriel/wire"
)

// The values of Message.Format, which names the format of Raw.
const (
	// FormatItem is an item that a program added: a JSON object with source and
	// content, or plain text.
	FormatItem = "item"
	// FormatAnthropic, FormatOpenAI and FormatResponses are elements of the
	// message lists in request bodies of these protocols. All protocols of package
	// wire have a format here, with the name that they have there.
	FormatAnthropic = "anthropic"
	FormatOpenAI    = "openai"
	FormatResponses = "responses"
	// FormatClaudeCode is a line of a Claude Code session, of any type.
	FormatClaudeCode = "claude-code"
	// FormatGeneric is an object with role, name and text.
	FormatGeneric = "generic"
	// FormatLocomo is a turn of a LoCoMo conversation, FormatBeam of a BEAM chat.
	FormatLocomo = "locomo"
	FormatBeam   = "beam"
)

// RoleMeta is the role of entries that are not messages: lines that an agent
// writes for itself.
const RoleMeta = "meta"

// ErrNoMessage: the entry of the history is not a message.
var ErrNoMessage = errors.New("not a message")

// Chat parses the message from any format. The result shares memory with Raw
// where it can. For an entry of RoleMeta it returns ErrNoMessage.
//
// Chat accepts invalid JSON that providers' own tools write (half a surrogate
// pair, invalid UTF-8, a byte order mark) and replaces the invalid bytes with
// U+FFFD.
func (m *Message) Chat() (chat.Message, error) {
	if m.Role == RoleMeta {
		return chat.Message{}, ErrNoMessage
	}
	out, err := m.chat()
	if err != nil {
		return chat.Message{}, fmt.Errorf("read a message of format %s: %w", m.Format, err)
	}
	return out, nil
}

func (m *Message) chat() (chat.Message, error) {
	if f, ok := wire.ByName(m.Format); ok {
		return readWire(f, m.Raw)
	}
	switch m.Format {
	case FormatItem:
		return m.item(), nil
	case FormatAider:
		return aiderMessage(m.Role, m.Raw)
	}
	root, err := rawjson.ParseLenient(m.Raw, MaxContent)
	if err != nil {
		return chat.Message{}, err
	}
	switch m.Format {
	case FormatClaudeCode:
		if !root.Has("message") {
			return chat.Message{}, ErrNoMessage
		}
		return readWire(wire.Anthropic, root.Get("message").Raw())
	case FormatCodex:
		return codexMessage(root)
	case FormatChatGPT:
		return chatGPTMessage(m.Role, root)
	case FormatClaudeAI:
		return claudeAIMessage(m.Role, root)
	case FormatGeminiCLI:
		return geminiMessage(m.Role, root)
	case FormatQwenCode:
		return qwenMessage(m.Role, root)
	case FormatOpenCode:
		return openCodeMessage(m.Role, root)
	case FormatCline:
		return clineMessage(m.Role, root)
	case FormatPi:
		return piMessage(m.Role, root)
	case FormatCopilot:
		return copilotMessage(m.Role, root)
	case FormatContinue:
		return continueMessage(m.Role, root)
	case FormatGoose:
		return gooseMessage(m.Role, root)
	case FormatCrush:
		return crushMessage(m.Role, root)
	case FormatGeneric:
		return said(m.Role, root.Get("name").Str(), root.Get("text").Raw()), nil
	case FormatLocomo:
		out := said(m.Role, root.Get("speaker").Str(), root.Get("text").Raw())
		if caption := root.Get("blip_caption"); caption.Kind() == rawjson.String {
			out.Parts = append(out.Parts,
				chat.Part{Kind: chat.Text, Text: chat.Quote("(picture: " + caption.Str() + ")")})
		}
		return out, nil
	case FormatBeam:
		text := root.Get("content").Raw()
		if i := beamMark.FindIndex(text); i != nil {
			text = append(append([]byte{}, text[:i[0]]...), '"')
		}
		return said(m.Role, "", text), nil
	}
	return chat.Message{}, errors.New("unknown format")
}

// beamMark matches what BEAM appends to the texts of users.
var beamMark = regexp.MustCompile(` *->-> *[0-9N][^"\\]{0,20}"$`)

// item parses an item that a program added. Its role is its source if providers
// know that role, and otherwise user.
func (m *Message) item() chat.Message {
	role := m.Role
	switch chat.Role(role) {
	case chat.System, chat.Developer, chat.User, chat.Assistant, chat.Tool:
	default:
		role = string(chat.User)
	}
	root, err := rawjson.ParseLenient(m.Raw, MaxContent)
	if text := root.Get("content"); err == nil && text.Kind() == rawjson.String {
		if full := root.Get("full"); full.Kind() == rawjson.String && full.Str() != "" {
			text = full
		}
		if root.Get("bytes").Bool() { // each character is one byte
			narrow := make([]byte, 0, len(text.Raw()))
			for _, r := range text.Str() {
				narrow = append(narrow, byte(r))
			}
			return said(role, "", chat.Quote(string(narrow)))
		}
		return said(role, "", text.Raw())
	}
	return said(role, "", chat.Quote(string(m.Raw)))
}

func said(role, name string, literal []byte) chat.Message {
	return chat.Message{Role: chat.Role(role), Name: name, Parts: []chat.Part{{Kind: chat.Text, Text: literal}}}
}

// readWire parses a provider's message, even if it is not quite JSON.
func readWire(f wire.Format, raw []byte) (chat.Message, error) {
	out, err := wire.ReadMessage(f, raw)
	if err != nil {
		if mended := rawjson.Mend(raw); !bytes.Equal(mended, raw) {
			return wire.ReadMessage(f, mended)
		}
	}
	return out, err
}
