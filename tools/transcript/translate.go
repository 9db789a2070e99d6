package transcript

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/internal/report/replay/recording"
)

// translate returns the session with other messages: each returns the messages
// that replace one message. fresh reports that the message is a reply that is
// not yet in the history; it is passed again as a message right after.
func (s *Session) translate(to Format, each func(raw []byte, fresh bool) ([][]byte, error)) (*Session, error) {
	out := &Session{Name: s.Name, Format: to, Tools: s.Tools, System: s.System}
	for i, st := range s.steps {
		made, err := orNone(st.raw, st.kind == calls, each)
		for _, raw := range st.told {
			more, e := orNone(raw, false, each)
			made, err = append(made, more...), errors.Join(err, e)
		}
		if err != nil {
			return nil, fmt.Errorf("turn session %s into %s: step %d: %w", s.Name, to, i, err)
		}
		switch st.kind {
		case says:
			for _, raw := range made {
				out.steps = append(out.steps, step{kind: says, raw: raw})
			}
			continue
		case calls:
			st.raw = nil
			for j, raw := range made {
				if j > 0 {
					st.raw = append(st.raw, ',')
				}
				st.raw = append(st.raw, raw...)
			}
		case rewinds:
			st.told = made
		}
		out.steps = append(out.steps, st)
	}
	return out, nil
}

func orNone(raw []byte, fresh bool, each func([]byte, bool) ([][]byte, error)) ([][]byte, error) {
	if raw == nil {
		return nil, nil
	}
	return each(raw, fresh)
}

// Signed returns an Anthropic session in which blanked signatures of thinking blocks
// are replaced by unique ones derived from the block's text.
func (s *Session) Signed() (*Session, error) {
	if s.Format != Anthropic {
		return nil, fmt.Errorf("sign session %s: it is of format %s", s.Name, s.Format)
	}
	return s.translate(Anthropic, func(raw []byte, _ bool) ([][]byte, error) {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		if m.Role != "assistant" || isString(m.Content) {
			return [][]byte{raw}, nil
		}
		blocks, err := recording.Blocks(m.Content)
		if err != nil {
			return nil, err
		}
		var list [][]byte
		for _, b := range blocks {
			if b.Kind == "thinking" {
				if b.Raw, err = sign(b.Raw); err != nil {
					return nil, err
				}
			}
			list = append(list, b.Raw)
		}
		return [][]byte{spoken("assistant", list)}, nil
	})
}

// contentOf returns the blocks of a message.
func contentOf(raw []byte) ([]recording.Block, error) {
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	return recording.Blocks(m.Content)
}

func sign(raw []byte) ([]byte, error) {
	var b struct {
		Type      string          `json:"type"`
		Thinking  json.RawMessage `json:"thinking"`
		Signature string          `json:"signature"`
	}
	if err := json.Unmarshal(raw, &b); err != nil || b.Signature != "" {
		return raw, err
	}
	b.Signature = signature(b.Thinking)
	return json.Marshal(b)
}

// signature returns a signature of about the length of a real one for a short
// thought.
func signature(said []byte) string {
	var sum []byte
	for i := range 8 {
		h := sha256.Sum256(append([]byte{byte(i)}, said...))
		sum = append(sum, h[:]...)
	}
	return base64.StdEncoding.EncodeToString(sum)
}

// AsChat converts an Anthropic session to Chat Completions bodies. Results become
// messages of role tool; pictures in them follow as a user's message, because tool
// messages hold only text. Thinking becomes reasoning_content.
func (s *Session) AsChat() (*Session, error) {
	if s.Format != Anthropic {
		return nil, fmt.Errorf("turn session %s into chat: it is of format %s", s.Name, s.Format)
	}
	out, err := s.translate(Chat, func(raw []byte, _ bool) ([][]byte, error) {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		if isString(m.Content) {
			return [][]byte{raw}, nil
		}
		var blocks []anthropicBlock
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			return nil, err
		}
		if m.Role == "assistant" {
			return chatReply(blocks)
		}
		return chatTurn(blocks)
	})
	if err == nil && s.System != "" {
		first := concat(`{"role":"system","content":`, quote(s.System), `}`)
		var steps []step
		for i, st := range out.steps {
			if st.kind == rewinds {
				st.told = append([][]byte{first}, st.told...)
			}
			if i == 0 {
				steps = append(steps, step{kind: says, raw: first})
			}
			if steps = append(steps, st); st.kind == resets {
				steps = append(steps, step{kind: says, raw: first})
			}
		}
		out.steps, out.System = steps, ""
	}
	return out, err
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        json.RawMessage `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID json.RawMessage `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		Type, Data string
		Media      string `json:"media_type"`
	} `json:"source"`
}

// chatReply writes an assistant message.
func chatReply(blocks []anthropicBlock) ([][]byte, error) {
	m := chatMessage{Role: "assistant"}
	text := ""
	for _, b := range blocks {
		switch b.Type {
		case "text":
			text += b.Text
		case "thinking":
			m.Reasoning += b.Thinking
		case "tool_use":
			c := chatCall{ID: b.ID, Type: "function"}
			c.Function.Name, c.Function.Arguments = b.Name, quote(string(b.Input))
			m.ToolCalls = append(m.ToolCalls, c)
		}
	}
	if text != "" {
		m.Content = quote(text)
	} else if len(m.ToolCalls) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(m)
	return [][]byte{raw}, err
}

// chatTurn writes what follows a reply: results, then what the user says.
func chatTurn(blocks []anthropicBlock) ([][]byte, error) {
	var out [][]byte
	var parts []json.RawMessage
	for _, b := range blocks {
		if b.Type != "tool_result" {
			parts = append(parts, b.chatPart())
			continue
		}
		var nested []anthropicBlock
		text := ""
		if isString(b.Content) {
			if err := json.Unmarshal(b.Content, &text); err != nil {
				return nil, err
			}
		} else if b.Content != nil {
			if err := json.Unmarshal(b.Content, &nested); err != nil {
				return nil, err
			}
		}
		for _, n := range nested {
			if n.Type == "text" {
				text += n.Text
			} else {
				parts = append(parts, n.chatPart())
			}
		}
		raw, err := json.Marshal(chatMessage{Role: "tool", ToolCallID: b.ToolUseID, Content: quote(text)})
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	if len(parts) > 0 {
		content, err := json.Marshal(parts)
		if err != nil {
			return nil, err
		}
		out = append(out, concat(`{"role":"user","content":`, content, `}`))
	}
	return out, nil
}

// chatPart writes a block of a user's message, or the name of its kind if Chat
// Completions does not have it.
func (b *anthropicBlock) chatPart() json.RawMessage {
	switch {
	case b.Type == "text":
		return concat(`{"type":"text","text":`, quote(b.Text), `}`)
	case b.Type == "image" && b.Source.Type == "base64":
		return concat(`{"type":"image_url","image_url":{"url":`, quote("data:"+b.Source.Media+";base64,"+b.Source.Data),
			`}}`)
	}
	return concat(`{"type":"text","text":`, quote("["+b.Type+"]"), `}`)
}

// AsResponses converts a Chat session to Responses bodies: messages, calls and
// outputs become consecutive items; reasoning_content becomes an encrypted reasoning
// item on which the next item depends. An id that is used again in a later batch,
// which Chat Completions allows and Responses does not, gets a number appended.
func (s *Session) AsResponses() (*Session, error) {
	if s.Format != Chat {
		return nil, fmt.Errorf("turn session %s into responses: it is of format %s", s.Name, s.Format)
	}
	// A reply comes twice: with its call, and right after it as a message. Its ids
	// are counted with the call.
	return s.translate(Responses, wireIDs{times: make(map[string]int)}.items)
}

// wireIDs makes repeated ids unique by a number.
type wireIDs struct{ times map[string]int }

// items writes the items of one chat message.
func (w wireIDs) items(raw []byte, count bool) ([][]byte, error) {
	var m chatMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	needed := []json.RawMessage{m.Content}
	switch m.Role {
	case "tool":
		needed = append(needed, m.ToolCallID)
	case "assistant":
		needed = nil // the content of an assistant message may be absent
	}
	for _, c := range m.ToolCalls {
		needed = append(needed, c.ID, c.Function.Arguments)
	}
	if slices.ContainsFunc(needed, func(raw json.RawMessage) bool { return len(raw) == 0 }) {
		return nil, errors.New("a field is missing")
	}

	var items [][]byte
	switch m.Role {
	case "tool":
		return [][]byte{slices.Concat([]byte(`{"type":"function_call_output","call_id":`), w.id(m.ToolCallID),
			[]byte(`,"output":`), m.Content, []byte(`}`))}, nil
	case "assistant":
		id := ""
		if m.Reasoning != "" {
			items = append(items, reasoning(raw, m.Reasoning))
			id = `"id":"` + itemID("msg_", raw) + `",`
		}
		if isString(m.Content) {
			items = append(items,
				concat(`{"type":"message",`+id+`"role":"assistant","content":[{"type":"output_text","text":`, m.Content,
					`}]}`))
		}
	default:
		content, err := responsesContent(m.Content)
		if err != nil {
			return nil, err
		}
		items = append(items, concat(`{"type":"message","role":`+string(quote(m.Role))+`,"content":`, content, `}`))
	}
	for _, c := range m.ToolCalls {
		if count {
			w.times[string(c.ID)]++
		}
		id := ""
		if m.Reasoning != "" {
			id = `"id":"` + itemID("fc_", c.ID) + `",`
		}
		items = append(items, slices.Concat([]byte(`{"type":"function_call",`+id+`"call_id":`), w.id(c.ID),
			[]byte(`,"name":`), quote(c.Function.Name),
			[]byte(`,"arguments":`), c.Function.Arguments, []byte(`}`)))
	}
	return items, nil
}

// id returns the wire form of an id, a JSON string, by how often it was used.
func (w wireIDs) id(raw json.RawMessage) json.RawMessage {
	n := w.times[string(raw)]
	if n < 2 || !isString(raw) {
		return raw
	}
	return fmt.Appendf(nil, "%s_%d\"", raw[:len(raw)-1], n)
}

// reasoning writes the item that represents the thinking before a reply.
func reasoning(reply []byte, said string) []byte {
	return slices.Concat([]byte(`{"type":"reasoning","id":"`+itemID("rs_", reply)+
		`","summary":[],"encrypted_content":`), quote(signature([]byte(said))), []byte(`}`))
}

// itemID returns an id that is unique to the item.
func itemID(kind string, of []byte) string {
	h := sha256.Sum256(of)
	return kind + hex.EncodeToString(h[:16])
}

// responsesContent renames the parts of a user's content to their names in
// Responses.
func responsesContent(content json.RawMessage) (json.RawMessage, error) {
	if isString(content) {
		return content, nil
	}
	var parts []struct {
		Type  string          `json:"type"`
		Text  json.RawMessage `json:"text"`
		Image struct {
			URL json.RawMessage `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for _, p := range parts {
		if p.Type == "image_url" {
			out = append(out, concat(`{"type":"input_image","image_url":`, p.Image.URL, `}`))
		} else {
			out = append(out, concat(`{"type":"input_text","text":`, p.Text, `}`))
		}
	}
	return json.Marshal(out)
}
