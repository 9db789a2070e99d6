package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/test/mixtext"
)

type message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []call `json:"tool_calls,omitempty"`
	CallID    string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// writeConversations writes request bodies in OpenAI's Chat format: a system
// message and then the given number of messages, about 1 kB each.
func writeConversations(folder string, sizes []int) error {
	source, err := mixtext.Build(2 << 20)
	if err != nil {
		return err
	}
	for _, size := range sizes {
		body, err := json.Marshal(map[string]any{"model": "gpt-4o", "messages": conversation(source, size)})
		if err != nil {
			return err
		}
		if err := os.WriteFile(inputFile(folder, size), body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// conversation repeats nine messages: a prompt, two calls at once with their
// results, two calls one after the other with theirs, an answer. A size of
// 9n+1 ends with a prompt. Texts are taken from prose, source, JSON and logs
// at random positions; the same source and size give the same conversation.
func conversation(source []byte, size int) []message {
	r := rand.New(rand.NewPCG(7, uint64(size)))
	text := func(least, most int) string {
		n := least + r.IntN(most-least)
		at := r.IntN(len(source) - n - utf8.UTFMax)
		for !utf8.RuneStart(source[at]) {
			at++
		}
		end := at + n
		for !utf8.RuneStart(source[end]) {
			end--
		}
		return string(source[at:end])
	}
	calls := 0
	ask := func() call {
		calls++
		f := function{"read", fmt.Sprintf(`{"path":"src/part_%d.go"}`, r.IntN(1+size/3))}
		switch r.IntN(3) {
		case 0:
			f = function{"run", fmt.Sprintf(`{"command":"make check PART=%d"}`, r.IntN(1+size/3))}
		case 1:
			f = function{"query", fmt.Sprintf(`{"table":"events","from":%d,"limit":20}`, r.IntN(size))}
		}
		return call{fmt.Sprintf("call_%06d", calls), "function", f}
	}
	out := []message{{Role: "system", Content: text(1500, 2000)}}
	var open []call
	for i := range size {
		m := message{Role: "assistant"}
		switch i % 9 {
		case 0:
			m.Role, m.Content = "user", text(400, 1200)
		case 1:
			open = []call{ask(), ask()}
			m.Content, m.ToolCalls = text(200, 800), open
		case 4, 6:
			open = []call{ask()}
			m.Content, m.ToolCalls = text(200, 800), open
		case 8:
			m.Content = text(400, 1200)
		default:
			m.Role, m.Content, m.CallID = "tool", text(800, 2000), open[0].ID
			open = open[1:]
		}
		out = append(out, m)
	}
	return out
}
