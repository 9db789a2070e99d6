package replicas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kinds of conversations, by what happens in them.
const (
	plain   = iota // the client names a budget
	edited         // … and a person pins messages and undoes plans
	refused        // the model refuses requests above a limit that Oriel must learn
	counted        // the model counts otherwise than Oriel, which calibrates
	kinds
)

// conversation is one client that resends its history with every call. Everything that it
// sends depends on its number alone.
type conversation struct {
	number    int
	kind      int
	anthropic bool
	session   bool // it names itself
	random    *rand.Rand
	messages  []any
	pending   string // id of the tool call that waits for its result
	turn      int
}

type object = map[string]any

func newConversation(number int) *conversation {
	return &conversation{number: number, kind: number % kinds, anthropic: number/kinds%2 == 0, session: number%3 == 0,
		random: rand.New(rand.NewPCG(uint64(number), 7))}
}

var vocabulary = strings.Fields(`adjust balance cache delay error file graph handler index join key limit mutex node offset page queue
	record schema table update value window yield buffer cursor driver engine field gateway header image journal kernel ledger module`)

// words returns so many words.
func words(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(vocabulary[r.IntN(len(vocabulary))])
		b.WriteByte(' ')
	}
	return b.String()
}

// mark is in the newest message of a call and in no other.
func mark(conversation, turn int) string { return fmt.Sprintf("call-%d-%d.", conversation, turn) }

// next returns the body of the next call.
func (c *conversation) next() []byte {
	c.turn++
	text := mark(c.number, c.turn) + " " + words(c.random, 60+c.random.IntN(500))
	switch {
	case c.pending == "":
		c.messages = append(c.messages, object{"role": "user", "content": text})
	case c.anthropic:
		c.messages = append(c.messages,
			object{"role": "user",
				"content": []any{object{"type": "tool_result", "tool_use_id": c.pending, "content": text}}})
	default:
		c.messages = append(c.messages, object{"role": "tool", "tool_call_id": c.pending, "content": text})
	}
	return c.body()
}

// other returns the body of the last call with another newest message, which has the words of
// the first in another order. If one of them fits beside what a plan leaves, so does the other.
func (c *conversation) other() []byte {
	all := c.messages
	defer func() { c.messages = all }()
	newest := maps.Clone(all[len(all)-1].(object))
	if parts, ok := newest["content"].([]any); ok {
		part := maps.Clone(parts[0].(object))
		part["content"] = reversed(part["content"].(string))
		newest["content"] = []any{part}
	} else {
		newest["content"] = reversed(newest["content"].(string))
	}
	c.messages = append(all[:len(all)-1:len(all)-1], newest)
	return c.body()
}

// reversed returns a text with its words in reverse order, but for the first.
func reversed(text string) string {
	list := strings.Fields(text)
	slices.Reverse(list[1:])
	return strings.Join(list, " ")
}

// body returns the body of a call with all messages.
func (c *conversation) body() []byte {
	model := fmt.Sprintf("check-model-%d", c.number)
	body := object{"model": model, "max_tokens": 500}
	parameters := object{"type": "object", "properties": object{"path": object{"type": "string"}}}
	system := fmt.Sprintf("You are agent %d. %s", c.number, words(rand.New(rand.NewPCG(uint64(c.number), 1)), 40))
	if c.anthropic {
		body["system"], body["messages"] = system, c.messages
		body["tools"] = []any{object{"name": "read", "description": "reads a file", "input_schema": parameters}}
	} else {
		body["messages"] = append([]any{object{"role": "system", "content": system}}, c.messages...)
		body["tools"] = []any{object{"type": "function",
			"function": object{"name": "read", "description": "reads a file", "parameters": parameters}}}
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts always encode
	}
	return data
}

// answered adds the model's reply, as answerTo makes it.
func (c *conversation) answered() {
	a := answerTo(c.number, c.turn)
	c.pending = ""
	if len(a.Calls) > 0 {
		c.pending = a.Calls[0].ID
	}
	switch {
	case c.pending == "" && c.anthropic:
		c.messages = append(c.messages,
			object{"role": "assistant", "content": []any{object{"type": "text", "text": a.Text}}})
	case c.pending == "":
		c.messages = append(c.messages, object{"role": "assistant", "content": a.Text})
	case c.anthropic:
		c.messages = append(c.messages,
			object{"role": "assistant", "content": []any{object{"type": "text", "text": a.Text},
				object{"type": "tool_use", "id": c.pending, "name": a.Calls[0].Name,
					"input": json.RawMessage(a.Calls[0].Arguments)}}})
	default:
		c.messages = append(c.messages, object{"role": "assistant", "content": a.Text,
			"tool_calls": []any{object{"id": c.pending, "type": "function",
				"function": object{"name": a.Calls[0].Name, "arguments": a.Calls[0].Arguments}}}})
	}
}

// outcome is what a client sees of a call.
type outcome struct {
	status                     int
	body                       []byte
	conversation, plan, action string
	took                       time.Duration
}

var client = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// send sends the call to a server. system is "one" or "many"; the model records what it
// gets by it.
func (c *conversation) send(base, system string, body []byte) (*outcome, error) {
	path := "/v1/chat/completions"
	if c.anthropic {
		path = "/v1/messages"
	}
	req, err := http.NewRequest("POST", base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(checkHeader, fmt.Sprintf("%s %d %d", system, c.number, c.turn))
	if c.kind != refused {
		req.Header.Set("X-Oriel-Budget", fmt.Sprint(2500+100*(c.number%7)))
	}
	if c.session {
		req.Header.Set("X-Oriel-Conversation", fmt.Sprintf("session-%d", c.number))
	}
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return &outcome{res.StatusCode, data, res.Header.Get("X-Oriel-Conversation"), res.Header.Get("X-Oriel-Plan"),
		res.Header.Get("X-Oriel-Action"), time.Since(began)}, nil
}

// edit changes a conversation by the API: a pin or an undo, depending on the turn.
func (c *conversation) edit(base, name string) error {
	path, order := "", ""
	switch c.turn {
	case 5, 11:
		path, order = "pins", fmt.Sprintf(`{"id":%d}`, c.turn-3)
	case 8:
		path, order = "undo", `{}`
	default:
		return nil
	}
	req, err := http.NewRequest("POST", base+"/oriel/api/conversations/"+name+"/"+path, strings.NewReader(order))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if data, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK && res.StatusCode != http.StatusConflict {
		return fmt.Errorf("%s: %s: %s", path, res.Status, data)
	}
	return nil
}
