package main

import (
	"encoding/json"
	"strings"

	"github.com/oriel-context/oriel/chat"
)

// message is a neutral message of a case.
type message struct {
	ID         string  `json:"id"`
	Role       string  `json:"role"`
	Text       string  `json:"text"`
	Blocks     []block `json:"blocks"`
	Tokens     int     `json:"tokens"`
	TS         *int64  `json:"ts"`
	ToolCallID string  `json:"tool_call_id"`
	Name       string  `json:"name"`
	ToolCalls  []struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"tool_calls"`
}

type block struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Text    string          `json:"text"`
	TextLen int             `json:"text_len"`
	Input   json.RawMessage `json:"input"`
}

// chatMessages converts neutral messages to chat messages.
func chatMessages(in []message) []chat.Message {
	out := make([]chat.Message, len(in))
	for i, m := range in {
		out[i] = chat.Message{Role: chat.Role(m.Role), ID: m.ID}
		add := func(p chat.Part) { out[i].Parts = append(out[i].Parts, p) }
		if m.Text != "" && m.ToolCallID == "" {
			add(chat.Part{Kind: chat.Text, Text: chat.Quote(m.Text)})
		}
		if m.ToolCallID != "" {
			add(chat.Part{Kind: chat.Result, ID: m.ToolCallID, Name: m.Name, Text: chat.Quote(m.Text)})
		}
		for _, c := range m.ToolCalls {
			add(chat.Part{Kind: chat.Call, ID: c.ID, Name: c.Name, Args: c.Args})
		}
		for _, b := range m.Blocks {
			switch b.Type {
			case "tool_use":
				add(chat.Part{Kind: chat.Call, ID: b.ID, Name: b.Name, Args: b.Input})
			case "tool_result":
				text := b.Text
				if b.TextLen > 0 {
					text = strings.Repeat("x", b.TextLen)
				}
				add(chat.Part{Kind: chat.Result, ID: b.ID, Text: chat.Quote(text)})
			case "image":
				add(chat.Part{Kind: chat.Image, Media: &chat.Media{}})
			default:
				add(chat.Part{Kind: chat.Text, Text: chat.Quote(b.Text)})
			}
		}
	}
	return out
}

// ids returns the ids of the messages whose shown flag equals want.
func ids(in []message, shown []bool, want bool) []string {
	out := []string{}
	for i, m := range in {
		if shown[i] == want {
			out = append(out, m.ID)
		}
	}
	return out
}

// words counts a text by its words: the counter of the cases, whose texts are
// only figures.
func words(text string) int { return len(strings.Fields(text)) }
