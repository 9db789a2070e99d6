// Package proxy sends recorded agent sessions through the proxy, call by call,
// as awkward clients do: with a fresh nonce in the system prompt of every
// call, a cache mark on the newest message, and all replies encoded anew. It
// proves that each session is one conversation (its compactions are linked to
// it), that the provider gets the bytes that were sent, and that the stored
// history is complete.
//
//	./scripts/check proxy [-every 1] [-data DIR] [-budget 64000] PATH…
//
// With a budget the provider gets views, with recall by words: they must be as
// valid as the original, within the budget, and begin like the previous one
// unless there is a new plan.
//
// A path is a file or a folder of Claude Code sessions (*.jsonl) or tau-bench
// results (*.json).
package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/tools/transcript"
	"github.com/oriel-context/oriel/wire"
)

// Check sends the sessions of the paths.
func Check(args []string) error {
	flags := kit.Flags("proxy")
	every := flags.Int("every", 1, "send one call in so many, and the last of each history")
	dir := flags.String("data", "", "folder of the history; default: one that is removed")
	budget := flags.Int("budget", 0, "tokens of a view; 0 for none")
	paths := kit.Parse(flags, args)
	bad, err := run(*dir, *every, *budget, paths)
	if err != nil {
		return err
	}
	return kit.Failed(bad)
}

var ctx = context.Background()

func run(dir string, every, budget int, paths []string) (bad int, err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "check-proxy"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
	}
	store, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	c := &checker{store: store, every: every, budget: budget}
	if err := kit.Sessions(paths, c.session); err != nil {
		return 0, err
	}
	stats, err := store.Stats(ctx, timeline.Local)
	if err != nil {
		return 0, err
	}
	fmt.Printf("%d sessions, %d calls, %.1f MB sent; %d messages and %.1f MB stored, %.1f MB on disk\n",
		c.sessions, c.calls, float64(c.sent)/1e6, stats.Messages, float64(stats.Bytes)/1e6, float64(stats.Disk)/1e6)
	if budget > 0 {
		fmt.Printf("views of at most %d tokens, %d plans\n", budget, c.plans)
	}
	fmt.Printf("%d passed, %d failed\n", c.sessions-c.bad, c.bad)
	return c.bad, nil
}

type checker struct {
	store                *sqlite.Store
	every, budget        int
	plans                int
	sessions, calls, bad int
	sent                 int64
}

// upstream answers with the recorded reply, and checks the bytes.
type upstream struct {
	mu          sync.Mutex
	want, reply []byte
	got         []byte
	format      transcript.Format
	wrong       int
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.got = body; !bytes.Equal(body, u.want) {
		u.wrong++
	}
	w.Header().Set("Content-Type", "application/json")
	if u.reply == nil {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"type":"error","error":{"type":"api_error","message":"the agent dropped this reply"}}`)
		return
	}
	if u.format == transcript.Anthropic {
		var m struct{ Content json.RawMessage }
		if json.Unmarshal(u.reply, &m) == nil {
			fmt.Fprintf(w, `{"id":"msg","type":"message","role":"assistant","model":"m","content":%s,"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, m.Content)
		}
		return
	}
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":%s}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, u.reply)
}

func (c *checker) session(s *transcript.Session) error {
	if c.budget > 0 && s.Format == transcript.Anthropic {
		signed, err := s.Signed()
		if err != nil {
			return err
		}
		s = signed
	}
	up := &upstream{format: s.Format}
	provider := httptest.NewServer(up)
	defer provider.Close()
	failures := 0
	o := oriel.Config{Store: c.store, Calls: oriel.CallOptions{Profile: "off"}, NoEmbed: true,
		Events: func(e oriel.Event) {
			switch e.Kind {
			case oriel.EventCall, oriel.EventCut, oriel.EventRecall:
			default:
				failures++
				fmt.Printf("%s: %s: %s\n", s.Name, e.Kind, e.Error)
			}
		}}
	engine, err := oriel.Open(ctx, o)
	if err != nil {
		return err
	}
	server, err := proxy.New(proxy.Options{OpenAI: provider.URL, Anthropic: provider.URL, Engine: engine})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- server.Serve(serving, l) }()

	path := kit.Formats[s.Format].Protocol().Route
	shown := &views{budget: c.budget}
	defer func() { c.plans += shown.plans }()
	send := func(want, reply []byte) (string, error) {
		up.mu.Lock()
		up.want, up.reply = want, reply
		up.mu.Unlock()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.Addr().String()+path,
			bytes.NewReader(want))
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/json")
		if c.budget > 0 {
			r.Header.Set("X-Oriel-Budget", strconv.Itoa(c.budget))
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return "", err
		}
		c.calls++
		c.sent += int64(len(want))
		if c.budget > 0 {
			up.mu.Lock()
			problems, err := shown.judge(want, up.got, resp.Header)
			up.mu.Unlock()
			if err != nil {
				return "", err
			}
			for _, p := range problems {
				fmt.Printf("%s call %d: %s\n", s.Name, c.calls, p)
				failures++
			}
		}
		return resp.Header.Get("X-Oriel-Conversation"), nil
	}
	names := map[string]int{} // conversation → history
	last := map[int][]byte{}  // history → its last body
	n, held := 0, transcript.Request{}
	flush := func() error {
		if held.Body == nil {
			return nil
		}
		body, err := awkward(held.Body, s.Name, n)
		if err != nil {
			return err
		}
		name, err := send(body, held.Reply)
		if err != nil {
			return err
		}
		if h, ok := names[name]; ok && h != held.History {
			fmt.Printf("%s: histories %d and %d are one conversation, %q\n", s.Name, h, held.History, name)
			failures++
		}
		names[name] = held.History
		last[held.History] = body
		held.Body = nil
		return nil
	}
	for r := range s.Requests() {
		if held.Body != nil && (r.History != held.History || n%c.every == 0) {
			if err := flush(); err != nil {
				return err
			}
		}
		held = r
		held.Body, held.Reply = bytes.Clone(r.Body), bytes.Clone(r.Reply)
		n++
	}
	if err := flush(); err != nil {
		return err
	}
	stop()
	if err := <-done; err != nil {
		return err
	}
	if err := engine.Close(); err != nil {
		return err
	}
	if up.wrong > 0 && c.budget == 0 {
		fmt.Printf("%s: %d calls arrived with other bytes\n", s.Name, up.wrong)
		failures++
	}
	if len(names) != len(last) {
		fmt.Printf("%s: %d conversations for %d histories\n", s.Name, len(names), len(last))
		failures++
	}
	for name, h := range names {
		ok, err := c.whole(name, h, last[h])
		if err != nil {
			return err
		}
		if !ok {
			fmt.Printf("%s: what is stored in %q is not what was sent last\n", s.Name, name)
			failures++
		}
	}
	c.sessions++
	if failures > 0 {
		c.bad++
	}
	return nil
}

// whole reports whether a conversation has all messages of its last call, in
// order, and continues the one before it unless it is the first.
func (c *checker) whole(name string, history int, body []byte) (bool, error) {
	conversation, err := c.store.Conversation(ctx, timeline.Local, name)
	if err != nil {
		return false, err
	}
	b, err := wire.Read(body, wire.Auto, wire.Limits{})
	if err != nil {
		return false, err
	}
	messages := b.Messages
	for len(messages) > 0 && messages[0].Role == "system" {
		messages = messages[1:]
	}
	i, same := 0, true
	err = c.store.Messages(ctx, timeline.Local, conversation.Head, 1, int64(len(messages)), true,
		func(e *timeline.Entry) error {
			same = same && e.Identity == timeline.Identity(&messages[i])
			i++
			return nil
		})
	return same && i == len(messages) && (history == 0) == (conversation.Continues == ""), err
}

// awkward returns a body as a client sends it that keeps nothing stable:
// replies are encoded anew, the newest message has a cache mark, the system
// prompt a nonce.
func awkward(body []byte, session string, n int) ([]byte, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, err
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(top["messages"], &messages); err != nil {
		return nil, err
	}
	nonce, _ := json.Marshal(fmt.Sprintf("x-billing: cch=%x;", n*2654435761))
	_, anthropic := top["system"]
	if anthropic {
		system := top["system"]
		if system[0] == '"' {
			system = fmt.Appendf(nil, `[{"type":"text","text":%s}]`, system)
		}
		top["system"] = fmt.Appendf(nil, `[{"type":"text","text":%s},%s`, nonce, system[1:])
		user, _ := json.Marshal(fmt.Sprintf(`{"session_id":%q}`, session))
		top["metadata"] = fmt.Appendf(nil, `{"user_id":%s}`, user)
	} else {
		top["prompt_cache_key"], _ = json.Marshal(session)
	}
	for i, raw := range messages {
		var m map[string]any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&m); err != nil {
			return nil, err
		}
		changed := m["role"] == "assistant"
		if anthropic && i == len(messages)-1 {
			if text, ok := m["content"].(string); ok {
				m["content"] = []any{map[string]any{"type": "text", "text": text}}
			}
			if parts, ok := m["content"].([]any); ok && len(parts) > 0 {
				if part, ok := parts[len(parts)-1].(map[string]any); ok {
					part["cache_control"] = map[string]any{"type": "ephemeral"}
					changed = true
				}
			}
		}
		if changed {
			var err error
			if messages[i], err = json.Marshal(m); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if top["messages"], err = json.Marshal(messages); err != nil {
		return nil, err
	}
	return json.Marshal(top)
}
