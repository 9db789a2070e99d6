package misses

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
	"github.com/oriel-context/oriel/wire"
)

// talk is a client that sends its whole history with every call.
type talk struct {
	t        *testing.T
	door     string
	engine   *oriel.Engine
	provider *provider
	format   wire.Format

	name, model, budget string
	system              string
	tools               []string
	history             []string
	sent                int // tokens of the last call
	unmarked            bool
	hour                bool
}

var routes = map[wire.Format]string{wire.Anthropic: "/v1/messages", wire.Chat: "/v1/chat/completions",
	wire.Responses: "/v1/responses"}

// newTalk starts a client whose prompts are long enough for a cache.
func newTalk(t *testing.T, door string, engine *oriel.Engine, p *provider, f wire.Format, name string) *talk {
	c := &talk{t: t, door: door, engine: engine, provider: p, format: f, name: name, model: "gpt-5",
		system: "Be brief. " + filler("rule", 200)}
	if f == wire.Anthropic {
		c.model = "claude-sonnet-4-5"
	}
	for _, tool := range []string{"alpha", "beta"} {
		c.tools = append(c.tools, c.tool(tool, filler(tool, 60)))
	}
	return c
}

func filler(word string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d stays. ", word, i)
	}
	return b.String()
}

func (c *talk) tool(name, about string) string {
	switch c.format {
	case wire.Anthropic:
		return fmt.Sprintf(`{"name":%q,"description":%q,"input_schema":{"type":"object"}}`, name, about)
	case wire.Chat:
		return fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":{"type":"object"}}}`,
			name, about)
	}
	return fmt.Sprintf(`{"type":"function","name":%q,"description":%q,"parameters":{"type":"object"},"strict":false}`,
		name, about)
}

func (c *talk) user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

// body returns the request, with a mark at its newest message.
func (c *talk) body() string {
	list := append([]string{}, c.history...)
	system, _ := json.Marshal(c.system)
	tools := "[" + strings.Join(c.tools, ",") + "]"
	switch c.format {
	case wire.Anthropic:
		mark := `,"cache_control":{"type":"ephemeral"}`
		if c.hour {
			mark = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
		}
		if n := len(list) - 1; !c.unmarked {
			var m struct{ Role, Content string }
			if json.Unmarshal([]byte(list[n]), &m) == nil {
				text, _ := json.Marshal(m.Content)
				list[n] = fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%s%s}]}`, m.Role, text, mark)
			}
		}
		return fmt.Sprintf(`{"model":%q,"max_tokens":100,"system":%s,"tools":%s,"messages":[%s]}`, c.model, system, tools,
			strings.Join(list, ","))
	case wire.Chat:
		return fmt.Sprintf(`{"model":%q,"messages":[{"role":"system","content":%s},%s],"tools":%s}`, c.model, system,
			strings.Join(list, ","), tools)
	}
	return fmt.Sprintf(`{"model":%q,"instructions":%s,"input":[%s],"tools":%s,"store":false}`, c.model, system,
		strings.Join(list, ","), tools)
}

// ask makes a call and appends the reply.
func (c *talk) ask(text string) {
	c.t.Helper()
	c.history = append(c.history, c.user(text))
	c.again()
}

func (c *talk) again() {
	c.t.Helper()
	r, _ := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.door+routes[c.format],
		strings.NewReader(c.body()))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Oriel-Conversation", c.name)
	if c.budget != "" {
		r.Header.Set("X-Oriel-Budget", c.budget)
	}
	was := call.Of(c.engine).Counters().Written.Load()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s", res.Status, answer)
	}
	c.sent, _ = strconv.Atoi(res.Header.Get("X-Oriel-Tokens-After"))
	got, err := wire.ReadReply(c.format, answer)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.format == wire.Responses {
		for _, item := range got.Items {
			c.history = append(c.history, string(item))
		}
	} else {
		c.history = append(c.history, string(got.Message))
	}
	for call.Of(c.engine).Counters().Written.Load() == was {
		select {
		case <-time.After(time.Millisecond):
		case <-c.t.Context().Done():
			c.t.Fatal(c.t.Context().Err())
		}
	}
	c.provider.pass(20 * time.Second)
}

// breakOf is a cache break made on purpose.
type breakOf struct {
	kind   string
	only   wire.Format // 0: in all protocols
	make   func(*talk)
	reason Reason
	where  string
	at     int    // 0: any
	now    string // what stands in the excerpt now
	said   string // the provider's diagnosis
}

func breaksOnPurpose() []breakOf {
	return []breakOf{
		{kind: "pause", reason: Pause, make: func(c *talk) {
			c.provider.pass(3 * time.Hour)
			c.ask("Back again.")
		}},
		{kind: "short pause", only: wire.Anthropic, reason: Pause, make: func(c *talk) {
			c.provider.pass(6 * time.Minute)
			c.ask("Back again.")
		}},
		{kind: "system", reason: Client, where: System, now: "Be brief and kind", make: func(c *talk) {
			c.system = strings.Replace(c.system, "Be brief.", "Be brief and kind.", 1)
			c.ask("What now?")
		}},
		{kind: "tool changed", reason: Client, where: Tools, at: 2, now: "BETA 7 stays", make: func(c *talk) {
			c.tools[1] = strings.Replace(c.tools[1], "beta 7 stays", "BETA 7 stays", 1)
			c.ask("What now?")
		}},
		{kind: "tools swapped", only: wire.Chat, reason: Client, where: Tools, at: 1, now: "beta",
			make: func(c *talk) {
				c.tools[0], c.tools[1] = c.tools[1], c.tools[0]
				c.ask("What now?")
			}},
		{kind: "tool added", only: wire.Responses, reason: Client, where: Tools, at: 3, now: "gamma",
			make: func(c *talk) {
				c.tools = append(c.tools, c.tool("gamma", "new"))
				c.ask("What now?")
			}},
		{kind: "message", reason: Client, where: Messages, now: "task 9 went", make: func(c *talk) {
			c.history[2] = strings.Replace(c.history[2], "task 9 stays", "task 9 went", 1)
			c.ask("What now?")
		}},
		{kind: "cut", reason: Cut, make: func(c *talk) {
			for _, word := range []string{"one", "two", "three", "four", "five", "six"} {
				c.ask("Note: " + filler(word, 120))
			}
			c.budget = strconv.Itoa(c.sent * 9 / 10)
			c.ask("What now?")
		}},
		{kind: "model", reason: Model, make: func(c *talk) {
			c.model = map[string]string{"gpt-5": "gpt-5-mini", "claude-sonnet-4-5": "claude-sonnet-4-6"}[c.model]
			c.ask("What now?")
		}},
		{kind: "provider", reason: Provider, make: func(c *talk) {
			c.provider.forget()
			c.ask("What now?")
		}},
		{kind: "diagnosis", reason: Client, said: "service_tier_changed", make: func(c *talk) {
			c.provider.forget()
			c.provider.said = "service_tier_changed"
			c.ask("What now?")
		}},
		{kind: "marks", only: wire.Anthropic, reason: Client, where: Marks, make: func(c *talk) {
			c.unmarked = true
			c.ask("What now?")
		}},
		{kind: "pause of an hour's cache", only: wire.Anthropic, reason: Pause, make: func(c *talk) {
			c.hour = true
			c.ask("Keep it for an hour.")
			c.provider.pass(30 * time.Minute)
			c.ask("Still there?")
			c.provider.pass(61 * time.Minute)
			c.ask("And now?")
		}},
		{kind: "system at the end of a message list", only: wire.Chat, reason: Client, where: System, at: 1,
			now: "stays too", make: func(c *talk) {
				c.system += "It stays too."
				c.ask("What now?")
			}},
	}
}

// noContents is a store that has lost its contents.
type noContents struct{ timeline.Store }

func (noContents) Content(context.Context, string, timeline.Hash) ([]byte, error) {
	return nil, timeline.ErrDamaged
}

// Every break of the cache has its name. The calls before it have none.
func TestBreaksMadeOnPurposeAreNamed(t *testing.T) {
	p := &provider{now: time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)}
	model := httptest.NewServer(&fakemodel.Server{Answer: p.answer})
	defer model.Close()
	store := memory.New()
	defer store.Close()
	engine, err := oriel.Open(call.With(t.Context(),
		call.Inside{Waits: call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute}}),
		oriel.Config{Store: store, NoEmbed: true, Now: p.clock, Calls: oriel.CallOptions{Profile: "full"}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	server, err := proxy.New(proxy.Options{Anthropic: model.URL, OpenAI: model.URL, Engine: engine,
		ReplyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(server)
	defer door.Close()
	named := 0
	reader := NewReader(store)
	for _, f := range []wire.Format{wire.Anthropic, wire.Chat, wire.Responses} {
		for _, b := range append(breaksOnPurpose(), breakOf{kind: "minimum", reason: Minimum}) {
			if b.only != 0 && b.only != f || b.said != "" && f == wire.Chat { // which has none
				continue
			}
			name := strings.ReplaceAll(f.String()+" "+b.kind, " ", "-")
			t.Run(name, func(t *testing.T) {
				c := newTalk(t, door.URL, engine, p, f, name)
				if b.kind == "minimum" {
					c.system, c.tools = "Be brief.", c.tools[:1]
					c.ask("Hello, " + name + ". " + filler("task", 10))
					c.ask("And?")
				} else {
					c.ask("Hello, " + name + ".")
					c.ask("Do this: " + filler("task", 250))
					c.ask("Go on.")
					b.make(c)
				}
				stored, err := store.Conversation(t.Context(), timeline.Local, name)
				if err != nil {
					t.Fatal(err)
				}
				calls, err := reader.Calls(t.Context(), timeline.Local, &stored, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range calls[:len(calls)-1] {
					if k.Miss != nil {
						t.Errorf("call %d: %+v", k.Number, k.Miss)
					}
				}
				last := calls[len(calls)-1]
				m := last.Miss
				if m == nil || m.Reason != b.reason {
					t.Fatalf("%+v: %+v", last, m)
				}
				named++
				if m.Tokens < leastTokens || m.Tokens > last.Could-last.Read || m.Before != last.Number-1 {
					t.Errorf("%+v: %+v", last, m)
				}
				change := m.Change
				if (change == nil) != (b.where == "" && b.reason != Cut) {
					t.Fatalf("%+v: %+v", m, change)
				}
				if b.where != "" && (change.Where != b.where || b.at > 0 && change.At != b.at ||
					!strings.Contains(change.New, b.now)) {
					t.Errorf("%+v", change)
				}
				if m.Said != b.said {
					t.Errorf("the provider said %q", m.Said)
				}
				if b.reason == Cut && m.Plan != "p1" {
					t.Errorf("plan %q", m.Plan)
				}
			})
		}
	}
	if named < 30 {
		t.Errorf("%d breaks were named", named)
	}
	r, err := reader.Read(t.Context(), timeline.Local, Options{})
	if err != nil || len(r.Largest) != 10 || r.Unreported != 0 || r.Cost <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	broken, err := Read(t.Context(), noContents{store}, timeline.Local, Options{})
	if err != nil || broken.Reasons[0] != r.Reasons[0] || broken.Unread == 0 || broken.Reasons[1].Calls >= r.Reasons[1].Calls {
		t.Errorf("without bodies %+v, %v", broken, err)
	}
	misses, unread := 0, 0
	for _, s := range r.Reasons {
		misses, unread = misses+s.Calls, unread+s.Tokens
	}
	if misses != named || unread != r.Unread || r.Read+r.Unread > r.Could {
		t.Errorf("%d misses of %d tokens: %+v", misses, unread, r)
	}
}
