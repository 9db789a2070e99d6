package demo

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// Conversation is the name under which the session is recorded.
const Conversation = "demo"

// Agent runs the session: it sends the whole history with every call, as agents do, and
// runs the tools that the model asks for.
type Agent struct {
	url    string
	budget int
	client *http.Client

	script   *script
	work     *workspace
	model    *Model // to look at what reached it
	turn     int    // the next of the user
	calls    []chat.Part
	messages [][]byte
	body     *wire.Body // of the last call
	before   *Meter     // what append-only costs
	n        int
	shown    int // messages of the last call
}

// NewAgent returns an agent that calls the Messages API at a base URL and asks for at
// most budget tokens of its history to be sent.
func NewAgent(url string, budget int, client *http.Client, m *Model) (*Agent, error) {
	w, err := newWorkspace()
	if err != nil {
		return nil, err
	}
	return &Agent{url: url, budget: budget, client: client, script: m.script, work: w, model: m, before: NewMeter()},
		nil
}

// Call is one call of the session.
type Call struct {
	N int
	// Does lists the tools that the model calls; Says is its text.
	Does []string
	Says string
	// Before and After are the tokens that the agent sent and that the model received.
	Before, After int
	Plan          string
	Picture       Picture
	// Used is the usage that the model reports; Whole is what it would be without Oriel.
	Used, Whole token.Usage
	// Needs reports that the answer depends on something said long ago, Knows that the
	// request that reached the model contains it.
	Needs, Knows bool
}

// Turn returns the user's turn for the next call, or nil while the agent works on its
// own.
func (a *Agent) Turn() *Turn {
	if len(a.calls) > 0 || a.turn >= len(a.script.turns) {
		return nil
	}
	return &a.script.turns[a.turn]
}

// Fact returns what the model will need of a text, or "".
func (a *Agent) Fact(text string) string {
	for i := range a.script.steps {
		if re := a.script.steps[i].needs; re != nil {
			return re.FindString(text)
		}
	}
	return ""
}

// Call sends the next request. It returns io.EOF when the session is over.
func (a *Agent) Call(ctx context.Context) (*Call, error) {
	switch {
	case len(a.calls) > 0:
		a.messages = append(a.messages, a.results())
	case a.turn < len(a.script.turns):
		a.messages = append(a.messages,
			encode(object{"role": "user", "content": []object{{"type": "text", "text": a.script.turns[a.turn].Text}}}))
		a.turn++
	default:
		return nil, io.EOF
	}
	raw, err := a.request(a.messages)
	if err != nil {
		return nil, err
	}
	if a.body, err = wire.Read(raw, wire.Anthropic, wire.Limits{}); err != nil {
		return nil, err
	}
	header := http.Header{"X-Oriel-Conversation": {Conversation}, "X-Oriel-Budget": {strconv.Itoa(a.budget)}}
	reply, answered, err := a.post(ctx, raw, header)
	if err != nil {
		return nil, err
	}
	a.n++
	c := &Call{N: a.n, Plan: answered.Get("X-Oriel-Plan")}
	c.Before, _ = strconv.Atoi(answered.Get("X-Oriel-Tokens-Before"))
	c.After, _ = strconv.Atoi(answered.Get("X-Oriel-Tokens-After"))
	if action := answered.Get("X-Oriel-Action"); c.After == 0 || action == "error" {
		return nil, fmt.Errorf("call %d went through without a view: X-Oriel-Action is %q", a.n, action)
	}
	u := reply.Usage
	c.Used = token.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
	if c.Whole, err = a.before.Add(a.body); err != nil {
		return nil, err
	}
	c.Whole.Output = u.Output
	got := a.model.Last()
	c.Picture = a.picture(got, c.After)
	if n, ok := a.model.next(got); ok && a.script.steps[n].needs != nil {
		c.Needs, c.Knows = true, a.script.steps[n].needs.MatchString(Text(got.Messages))
	}
	a.shown = len(a.messages)
	return c, a.take(reply, c)
}

// take processes the model's reply.
func (a *Agent) take(reply *wire.Reply, c *Call) error {
	said, err := reply.Messages()
	if err != nil {
		return err
	}
	a.messages, a.calls = append(a.messages, reply.Message), nil
	for i := range said {
		for j := range said[i].Parts {
			switch p := said[i].Parts[j]; p.Kind {
			case chat.Text:
				c.Says = p.Text.String()
			case chat.Call:
				var args arguments
				if err := json.Unmarshal([]byte(p.Arguments()), &args); err != nil {
					return fmt.Errorf("call %d: arguments of %s: %w", c.N, p.Name, err)
				}
				c.Does = append(c.Does, args.label(p.Name))
				a.calls = append(a.calls, p)
			}
		}
	}
	return nil
}

// Bare sends the last view again without recalled passages and without being recorded,
// and returns the model's answer.
func (a *Agent) Bare(ctx context.Context) (string, error) {
	got := a.model.Last()
	pieces := got.Whole()
	for i := range pieces {
		without := map[int]string{}
		for j := range got.Messages[i].Parts {
			if strings.HasPrefix(got.Messages[i].Parts[j].Text.String(), prompt.Recalled) {
				without[j] = "…"
			}
		}
		if len(without) == 0 {
			continue
		}
		var err error
		if pieces[i].Raw, err = wire.ReplaceTexts(got.Format, got.Messages[i].Raw, without); err != nil {
			return "", err
		}
	}
	raw, err := got.Write(pieces)
	if err != nil {
		return "", err
	}
	reply, _, err := a.post(ctx, raw, http.Header{"X-Oriel-Bypass": {"1"}})
	if err != nil {
		return "", err
	}
	said, err := reply.Messages()
	if err != nil {
		return "", err
	}
	for i := range said {
		for _, p := range said[i].Parts {
			if p.Kind == chat.Text {
				return p.Text.String(), nil
			}
		}
	}
	return "", nil
}

type object = map[string]any

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings are in it
	}
	return raw
}

// results runs the tools that the model asked for.
func (a *Agent) results() []byte {
	var list []object
	for i := range a.calls {
		text, err := a.work.do(a.calls[i].Name, a.calls[i].Arguments())
		result := object{"type": "tool_result", "tool_use_id": a.calls[i].ID, "content": text}
		if err != nil {
			result["content"], result["is_error"] = err.Error(), true
		}
		list = append(list, result)
	}
	return encode(object{"role": "user", "content": list})
}

//go:embed system.txt
var system string

//go:embed tools.json
var tools []byte

// request returns the body of a call, with cache marks on the system prompt and the
// newest message.
func (a *Agent) request(messages [][]byte) ([]byte, error) {
	mark := object{"type": "ephemeral"}
	list := make([]json.RawMessage, len(messages))
	for i := range messages {
		list[i] = messages[i]
	}
	last, _, err := wire.PutMark(wire.Anthropic, messages[len(messages)-1], encode(mark))
	if err != nil {
		return nil, err
	}
	list[len(list)-1] = last
	return json.Marshal(struct {
		Model    string            `json:"model"`
		Max      int               `json:"max_tokens"`
		Stream   bool              `json:"stream"`
		System   []object          `json:"system"`
		Tools    json.RawMessage   `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
	}{Name, 4096, true, []object{{"type": "text", "text": system, "cache_control": mark}}, tools, list})
}

// post sends a body and assembles the streamed reply.
func (a *Agent) post(ctx context.Context, body []byte, h http.Header) (*wire.Reply, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", a.url+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header = h
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("X-Api-Key", "none")
	res, err := a.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 2000))
		return nil, nil, fmt.Errorf("call %d: the model refuses the request: %s: %s", a.n+1, res.Status, text)
	}
	stream := wire.NewStreamReader(wire.Anthropic)
	if _, err := io.Copy(stream, res.Body); err != nil {
		return nil, nil, err
	}
	reply := stream.Reply()
	if !reply.Complete {
		return nil, nil, fmt.Errorf("call %d: the reply is cut off", a.n+1)
	}
	return reply, res.Header, nil
}
