package oriel_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/test/histories"
	"github.com/oriel-context/oriel/internal/test/protocols"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// door is a way for requests through an engine of its own. The provider behind it answers
// nothing that could be learnt from.
type door struct {
	engine *oriel.Engine
	client *http.Client
	url    string
	sent   []byte           // what the provider got last
	calls  chan oriel.Event // those of kind call
}

func openDoor(t *testing.T, config oriel.Config, byProxy bool) *door {
	t.Helper()
	d := &door{calls: make(chan oriel.Event, 1000)}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wire.CallFormat(r.URL.Path) == wire.Auto { // a question about its models
			http.NotFound(w, r)
			return
		}
		d.sent, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{}`)
	}))
	t.Cleanup(provider.Close)
	config.NoEmbed = true
	config.Calls.RecallWait = time.Minute // a busy machine is no failure
	config.Events = func(e oriel.Event) {
		if e.Kind == oriel.EventCall {
			d.calls <- e
		}
	}
	waits := call.Waits{Store: time.Minute, Agree: time.Minute, Brief: time.Minute}
	var err error
	if d.engine, err = oriel.Open(call.With(t.Context(), call.Inside{Waits: waits}), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.engine.Close() })
	if !byProxy {
		d.url, d.client = provider.URL,
			&http.Client{Transport: d.engine.Transport(&http.Transport{DisableKeepAlives: true})}
		return d
	}
	s, err := proxy.New(proxy.Options{OpenAI: provider.URL, Anthropic: provider.URL,
		Gemini: provider.URL, Ollama: provider.URL, Bedrock: provider.URL, Engine: d.engine,
		ReplyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-done })
	d.url, d.client = "http://"+l.Addr().String(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return d
}

// pathModel is the model of bodies that do not name one, because it is in the path.
const pathModel = "gemini-2.5-pro"

// send sends a request and returns what is told of the call.
func (d *door) send(t *testing.T, path string, body []byte, header ...string) oriel.Event {
	t.Helper()
	res, answer := post(t, d.client, d.url+path, string(body), header...)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", res.Status, answer)
	}
	return <-d.calls
}

func post(t *testing.T, client *http.Client, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(answer)
}

// plan is the newest plan of a conversation; nil where there is none.
func (d *door) plan(t *testing.T, conversation string) *oriel.Plan {
	t.Helper()
	c, err := d.engine.Conversation(t.Context(), conversation)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := c.Plans(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(plans) == 0 {
		return nil
	}
	return &plans[0]
}

// verdicts lists what does not stay as it came; first is the place of the first message.
func verdicts(p *oriel.Plan, first int) string {
	var out strings.Builder
	for _, b := range p.Blocks {
		if b.Verdict != window.Keep {
			fmt.Fprintf(&out, "%d %s, ", b.Index-first, b.Verdict)
		}
	}
	return out.String()
}

// lead counts the leading system messages.
func lead(b *wire.Body) int {
	n := 0
	for n < len(b.Messages) && (b.Messages[n].Role == "system" || b.Messages[n].Role == "developer") {
		n++
	}
	return n
}

// longPrompt is a request most of which is its system prompt.
func longPrompt() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":"claude-sonnet-4-5","max_tokens":1000,"system":%q,"messages":[`,
		strings.Repeat("Rule: answer in the words of the harbour master. ", 6_000))
	for i := range 100 {
		fmt.Fprintf(&b, `{"role":"user","content":%q},{"role":"assistant","content":%q},`, fmt.Sprint("question ", i),
			strings.Repeat(fmt.Sprintf("ship %d lies at pier %d; ", i, 7*i), 75))
	}
	fmt.Fprintf(&b, `{"role":"user","content":"and now?"}]}`)
	return b.Bytes()
}

// The same request and history have the same budget and lose the same messages, whichever
// way they go (SPEC B1, E2).
func TestEveryDoorHasTheSameBudgetAndVerdicts(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	models, err := token.Builtin().Merge(
		[]byte(`{"models":[{"id":"claude-x","like":"claude-sonnet-4-5","window":60000},{"id":"gpt-x","like":"gpt-4o","window":60000}]}`))
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := window.NewProfiles(window.Profile{Name: "small", Budget: 12_000},
		window.Profile{Name: "thin", Budget: 16_000, Policy: "mask", Threshold: 30},
		window.Profile{Name: "early", Threshold: 40}, window.Profile{Name: "halves", Policy: "halve", Budget: 16_000},
		window.Profile{Name: "slides", Policy: "slide", Budget: 16_000},
		window.Profile{Name: "queue", Policy: "fifo", Budget: 16_000})
	if err != nil {
		t.Fatal(err)
	}
	type request struct {
		name, path string
		body       []byte
	}
	requests := []request{{"long prompt", "/v1/messages", longPrompt()}}
	for _, p := range protocols.All() {
		path := strings.Replace(p.Format.Protocol().Route, "MODEL", pathModel, 1)
		draw := rapid.Custom(func(rt *rapid.T) []byte { return p.Draw(rt, histories.Options{Valid: true, Turns: 20}) })
		for i := range 2 {
			requests = append(requests, request{fmt.Sprint(path, " ", i), path, draw.Example(i)})
		}
	}
	config := oriel.Config{Calls: oriel.CallOptions{Models: models, Profiles: profiles}}
	doors := map[string]*door{"Transport": openDoor(t, config, false), "proxy": openDoor(t, config, true)}
	cuts := map[string]int{}
	for i, r := range requests {
		b, err := wire.Read(r.body, wire.Auto, wire.Limits{})
		if err != nil {
			t.Fatal(r.name, err)
		}
		n := lead(b)
		begins, err := b.Write(b.Whole()[:min(n+1, len(b.Messages))])
		if err != nil {
			t.Fatal(err)
		}
		for _, profile := range append(profiles.Names(), "") {
			var header []string
			o := oriel.FitOptions{Models: models, Profiles: profiles, Profile: profile}
			if b.Model == "" {
				o.Model = pathModel
			}
			if profile != "" {
				header = append(header, "X-Oriel-Profile", profile)
			}
			if profile == "" || profile == "chat" { // adapts: see TestProxyAndTransportAdaptAlike
				o.Budget = 20_000
				header = append(header, "X-Oriel-Budget", strconv.Itoa(o.Budget))
			}
			conversation := fmt.Sprintf("c%d-%s", i, cmp.Or(profile, "none"))
			header = append(header, "X-Oriel-Conversation", conversation)
			for name, d := range doors {
				d.send(t, r.path, begins, header...)
				call := d.send(t, r.path, r.body, header...)
				o.Low = 0
				plan := d.plan(t, conversation)
				if plan != nil {
					o.Low = plan.Low
				}
				fitted, own, err := oriel.Fit(t.Context(), r.body, o)
				if err != nil {
					if plan != nil || call.TokensAfter < call.TokensBefore {
						t.Errorf("%s, %q: Fit refuses what the %s sends: %v", r.name, profile, name, err)
					}
					continue
				}
				if !idle(profile) && own.Budget != call.Budget {
					t.Errorf("%s, %q: a budget of %d by Fit, %d by the %s (%+v, %+v)", r.name, profile, own.Budget,
						call.Budget, name, own.Grown, call.Grown)
				}
				if plan == nil {
					if own.Action != "none" || !bytes.Equal(fitted, d.sent) {
						t.Errorf("%s, %q: the %s sends all, Fit does not: %s", r.name, profile, name, verdicts(own, n))
					}
					continue
				}
				cuts[profile]++
				if a, b := verdicts(own, n), verdicts(plan, 1); a != b {
					t.Errorf("%s, %q: by Fit, %s\nby the %s, %s", r.name, profile, a, name, b)
				}
			}
		}
	}
	for _, profile := range append(profiles.Names(), "") {
		if !idle(profile) && cuts[profile] == 0 {
			t.Errorf("nothing was cut under %q", profile)
		}
	}
}

// idle reports whether nothing is cut under a profile.
func idle(profile string) bool { return profile == "off" || profile == "observe" }

// Without a budget, the size of profile chat follows the conversation, which Fit does not
// know: the proxy and Transport adapt alike (SPEC D6).
func TestProxyAndTransportAdaptAlike(t *testing.T) {
	var list []string
	doors := [2]*door{openDoor(t, oriel.Config{}, false), openDoor(t, oriel.Config{}, true)}
	for i := range 40 {
		list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`,
			fmt.Sprintf("Question %d: ", i)+strings.Repeat(fmt.Sprintf("how does part %d of the harbour work? ", i),
				60)))
		body := fmt.Appendf(nil, `{"model":"gpt-4o","messages":[%s]}`, strings.Join(list, ","))
		var calls [2]oriel.Event
		var plans [2]string
		for k, d := range doors {
			calls[k] = d.send(t, "/v1/chat/completions", body, "X-Oriel-Profile", "chat", "X-Oriel-Conversation",
				"talk")
			if p := d.plan(t, "talk"); p != nil {
				plans[k] = p.Undo + " " + verdicts(p, 1)
			}
		}
		if calls[0].Budget != calls[1].Budget || (calls[0].Plan == "") != (calls[1].Plan == "") ||
			calls[0].TokensAfter != calls[1].TokensAfter || plans[0] != plans[1] ||
			!bytes.Equal(doors[0].sent, doors[1].sent) {
			t.Fatalf("call %d: %+v by %s\nand %+v by %s", i, calls[0], plans[0], calls[1], plans[1])
		}
		if i == 39 && plans[0] == "" {
			t.Error("nothing was cut")
		}
		list = append(list, `{"role":"assistant","content":"It works well."}`)
	}
}

// A conversation of items whose size is the model's has the budget that Fit gives a request
// without a system prompt to the same model (SPEC B1).
func TestAConversationHasTheBudgetOfARequest(t *testing.T) {
	for _, model := range []string{"claude-sonnet-4-5", "gpt-4o", "gpt-4.1-mini", "gemini-2.5-pro"} {
		e, err := oriel.Open(t.Context(), oriel.Config{Model: model, MaxTokens: 1 << 30, NoEmbed: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		c, err := e.Conversation(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		status, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, plan, err := oriel.Fit(t.Context(),
			fmt.Appendf(nil, `{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, model), oriel.FitOptions{})
		if err != nil || status.MaxTokens != plan.Budget {
			t.Errorf("%s: %d tokens by a conversation, %d by Fit (%v)", model, status.MaxTokens, plan.Budget, err)
		}
	}
}

// A conversation of items loses the same messages as the request that resends them, under
// the policies that both have: by number and by tokens, with pins and without (SPEC A2, A3,
// A4). Only requests have the other policies and the profiles, which shorten messages and
// cut further than they must; an item is never shortened and leaves when another comes.
//
// By age all limits are odd, because what a request keeps begins and ends with a user's
// message. By relevance all messages are the user's, because a request keeps an answer with
// its question, the number of messages is not limited, because a request has no such limit,
// and there is room for the marker that a request gets.
func TestAConversationLosesTheMessagesOfARequest(t *testing.T) {
	const messages, words = 30, 200
	said := func(i int) string {
		text := strings.TrimSpace(strings.Repeat(" word", words-1)) + fmt.Sprintf(" %d", i)
		if i%7 == 2 {
			text += "?" // which counts more by relevance
		}
		return text
	}
	size := token.NewCounter(token.Model{Encoding: "o200k_base"}, token.Options{}).Text(said(0)).Tokens
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, policy string
		tokens       int // 0 for enough
		items        int // 0 for enough
		pins         []int
	}{
		{"all", "fifo", 0, 0, nil},
		{"by number", "fifo", 0, 7, nil},
		{"by a larger number", "fifo", 0, 21, nil},
		{"by tokens", "fifo", 9*size + size/2, 0, nil},
		{"by both", "fifo", 9*size + size/2, 5, nil},
		{"pinned, by number", "fifo", 0, 7, []int{4}},
		{"pinned, by tokens", "fifo", 9*size + size/2, 0, []int{10}},
		{"all", "relevance", 0, 0, nil},
		{"by few tokens", "relevance", 6*size + 9*size/10, 0, nil},
		{"by more tokens", "relevance", 20*size + 9*size/10, 0, nil},
		{"pinned, by tokens", "relevance", 9*size + 9*size/10, 0, []int{1, 10}},
	} {
		roles := []string{"user", "assistant"}
		if tt.policy == "relevance" {
			roles[1] = "user"
		}
		var list []string
		for i := range messages + 1 { // the newest is the user's
			list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, roles[i%2], said(i)))
		}
		o := oriel.FitOptions{Policy: tt.policy, Budget: cmp.Or(tt.tokens, 1<<20), Window: 1 << 21,
			MaxItems: cmp.Or(tt.items, 1000), Pins: tt.pins, Now: now}
		_, plan, err := oriel.Fit(t.Context(), fmt.Appendf(nil, `{"messages":[%s]}`, strings.Join(list, ",")), o)
		if err != nil {
			t.Fatal(tt.policy, tt.name, err)
		}
		e, err := oriel.Open(t.Context(), oriel.Config{Policy: tt.policy, MaxTokens: o.Budget, MaxItems: o.MaxItems,
			NoEmbed: true, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		c, err := e.Conversation(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		for i := range messages + 1 {
			it := oriel.Item{Source: items.Source(roles[i%2]), Content: said(i),
				Time: now.Add(time.Duration(i-messages) * time.Minute)}
			if slices.Contains(tt.pins, i) {
				it.Flags = []items.Flag{items.FlagStarred}
			}
			if _, _, err := c.Add(t.Context(), it); err != nil {
				t.Fatal(err)
			}
		}
		plans, err := c.Plans(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		all := oriel.Plan{Action: "none"} // what all of them did
		for _, p := range plans {
			all.Action, all.Blocks = p.Action, append(all.Blocks, p.Blocks...)
		}
		slices.SortFunc(all.Blocks, func(a, b window.Block) int { return a.Index - b.Index })
		if a, b := verdicts(plan, 0), verdicts(&all, 1); a != b || plan.Action != all.Action {
			t.Errorf("%s, %s: by Fit %s, %s\nby a conversation %s, %s", tt.policy, tt.name, plan.Action, a, all.Action,
				b)
		}
	}
}
