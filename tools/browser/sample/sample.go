// Package sample makes histories for tests and pictures of the console: sessions of a coding
// agent, with tools, long results and money, over the last weeks. Everything is made up, and
// the same every time.
package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/demo"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/wire"
)

// Model is a provider: it says what Say was given, and reports what a provider would.
type Model struct {
	*httptest.Server
	mu    sync.Mutex // protects what follows
	next  fakemodel.Answer
	meter *demo.Meter
	last  *wire.Body
}

// NewModel starts a provider.
func NewModel() *Model {
	m := &Model{meter: demo.NewMeter()}
	m.Server = httptest.NewServer(&fakemodel.Server{Answer: m.answer, Unchecked: true})
	return m
}

func (m *Model) answer(r *fakemodel.Request) fakemodel.Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = r.Body
	a := m.next
	if used, err := m.meter.Add(r.Body); err == nil {
		a.Input, a.CacheRead, a.CacheWrite, a.Output = used.Input, used.CacheRead, used.CacheWrite, 40+len(a.Text)/4
	}
	return a
}

// Last returns the text of the last request that the provider received.
func (m *Model) Last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		return ""
	}
	return demo.Text(m.last.Messages)
}

// Session is a session of an agent: it resends everything with every call, as agents do.
type Session struct {
	Client *http.Client
	Base   string // of the API
	Model  *Model
	Name   string // of the model
	ID     string // of the conversation; empty lets Oriel find it
	Budget int
	Folder string

	messages []any
	calls    int
	rng      *rand.Rand
}

type object = map[string]any

// User adds what a person says.
func (s *Session) User(text string) { s.Add("user", text) }

// Add adds a text to the history, without a call.
func (s *Session) Add(role, text string) { s.add(role, object{"type": "text", "text": text}) }

func (s *Session) add(role string, content ...object) {
	s.messages = append(s.messages, object{"role": role, "content": content})
}

// Len returns the number of messages so far.
func (s *Session) Len() int { return len(s.messages) }

// Tool has the model call a tool, and adds what the tool returns.
func (s *Session) Tool(ctx context.Context, says, tool, arguments, result string) error {
	s.calls++
	id := fmt.Sprintf("toolu_%s_%d", strings.ReplaceAll(s.Folder, "/", ""), s.calls)
	if err := s.call(ctx,
		fakemodel.Answer{Text: says, Calls: []fakemodel.Call{{ID: id, Name: tool, Arguments: arguments}}}); err != nil {
		return err
	}
	s.add("assistant", object{"type": "text", "text": says},
		object{"type": "tool_use", "id": id, "name": tool, "input": json.RawMessage(arguments)})
	s.add("user", object{"type": "tool_result", "tool_use_id": id, "content": result})
	return nil
}

// Say has the model say something.
func (s *Session) Say(ctx context.Context, text string) error {
	if err := s.call(ctx, fakemodel.Answer{Text: text}); err != nil {
		return err
	}
	s.add("assistant", object{"type": "text", "text": text})
	return nil
}

func (s *Session) call(ctx context.Context, answer fakemodel.Answer) error {
	s.Model.mu.Lock()
	s.Model.next = answer
	s.Model.mu.Unlock()
	body, err := json.Marshal(object{"model": s.Name, "max_tokens": 8192, "system": system(s.Folder), "tools": tools,
		"messages": s.messages})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, "POST", s.Base+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", "sk-sample")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	if s.Budget > 0 {
		r.Header.Set("X-Oriel-Budget", fmt.Sprint(s.Budget))
	}
	if s.ID != "" {
		r.Header.Set("X-Oriel-Conversation", s.ID)
	}
	res, err := s.Client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", res.StatusCode, text)
	}
	return err
}

// Work goes on with a task for some calls: it searches, reads, edits and tests.
func (s *Session) Work(ctx context.Context, subject string, calls int) error {
	if s.rng == nil {
		s.rng = rand.New(rand.NewPCG(7, uint64(len(s.Folder)+len(subject))))
	}
	for i := range calls {
		step := steps[(i+s.rng.IntN(2))%len(steps)]
		file := fmt.Sprintf("internal/%s/%s.go", subject, parts[s.rng.IntN(len(parts))])
		arguments, _ := json.Marshal(object{step.argument: fmt.Sprintf(step.value, file)})
		if err := s.Tool(ctx, fmt.Sprintf(step.says, file), step.tool, string(arguments),
			s.output(step.tool, file)); err != nil {
			return err
		}
	}
	return s.Say(ctx,
		fmt.Sprintf("The fault was in the %s package: a retry kept the lock of the first attempt. I moved the lock into the attempt, added a test that fails without the change, and ran all tests with the race detector. Left to do: the same pattern in the worker.", subject))
}

// output makes what a tool returns.
func (s *Session) output(tool, file string) string {
	var b strings.Builder
	lines := 12 + s.rng.IntN(60)
	if tool == "Read" {
		lines += 60
	}
	for i := range lines {
		w := func() string { return words[s.rng.IntN(len(words))] }
		switch tool {
		case "Bash":
			fmt.Fprintf(&b, "ok  \tshop/internal/%s\t%d.%03ds\n", w(), s.rng.IntN(9), s.rng.IntN(1000))
		case "Grep":
			fmt.Fprintf(&b, "%s:%d:\tif err := %s.%s(ctx, %s); err != nil {\n", file, i*7+3, w(), w(), w())
		default:
			fmt.Fprintf(&b, "%4d\t%s := new%s(%s, %d) // %s the %s\n", i+1, w(), w(), w(), s.rng.IntN(90), w(), w())
		}
	}
	return b.String()
}

var steps = []struct{ tool, argument, value, says string }{
	{"Grep", "pattern", "func.*%s", "I look for who uses %s."},
	{"Read", "file_path", "/home/ann/src/shop/%s", "I read %s, as the failure names it."},
	{"Edit", "file_path", "/home/ann/src/shop/%s",
		"The lock is held too long. I change %s so that an attempt has a lock of its own."},
	{"Bash", "command", "go test ./... # %s", "I run the tests after the change of %s."},
}

var parts = []string{"attempt", "batch", "client", "config", "handler", "ledger", "retry", "server", "store", "worker"}
var words = []string{"account", "amount", "attempt", "batch", "cache", "charge", "client", "commit", "cursor", "entry",
	"flush", "handler", "index", "ledger", "limit", "lock", "merge", "notify", "outbox", "payment", "queue", "record",
	"refund", "retry", "session", "settle", "store", "tenant", "token", "worker"}

func system(folder string) string {
	return "You are a coding agent. You work in " + folder + " with the tools that you are given.\n\n" +
		strings.Repeat("Read before you change something. Run the tests of a package after a change. Say in a sentence what you are about to do. Keep the style of the code around it. Never print credentials.\n", 12) +
		"\n<env>\nWorking directory: " + folder + "\nPlatform: linux\n</env>"
}

var tools = makeTools()

func makeTools() (out []any) {
	for _, name := range []string{"Bash", "Read", "Edit", "Grep", "Glob", "TodoWrite", "WebFetch",
		"mcp__github__create_issue", "mcp__github__list_pull_requests", "mcp__github__get_file",
		"mcp__github__search_code", "mcp__jira__create_ticket", "mcp__jira__search", "mcp__jira__transition"} {
		out = append(out, object{
			"name": name, "description": "The tool " + name + ". " +
				strings.Repeat("It takes the arguments below and returns text; errors are returned as text, too. ", 4),
			"input_schema": object{"type": "object", "properties": object{
				"file_path": object{"type": "string", "description": "The absolute path of the file."},
				"pattern":   object{"type": "string", "description": "A regular expression."},
				"command": object{"type": "string",
					"description": "The command, run by bash in the working directory."},
			}},
		})
	}
	return out
}

// past is a session of the last weeks.
type past struct {
	ago                    time.Duration
	name, subject, request string
	calls, budget          int
}

const day = 24 * time.Hour

var history = []past{
	{28 * day, "claude-sonnet-4-5", "search",
		"Search returns archived orders as well. Please find out since when, and leave them out.", 14, 20000},
	{25 * day, "claude-opus-4-1", "ledger", "Postings of refunds have the wrong sign in the monthly report.", 18,
		24000},
	{21 * day, "claude-sonnet-4-5", "mail", "Move the mail templates to the new engine, one after another.", 26, 20000},
	{18 * day, "claude-sonnet-4-5", "auth", "Log people out after 30 days without a visit.", 12, 20000},
	{14 * day, "claude-sonnet-4-5", "checkout",
		"Checkout takes nine seconds on phones. Measure first, then make it two.", 32, 24000},
	{11 * day, "claude-opus-4-1", "stock", "Two customers bought the last chair. Find the race.", 22, 24000},
	{8 * day, "claude-sonnet-4-5", "export", "The export for accounting is empty when a name has an umlaut.", 16,
		20000},
	{5 * day, "claude-sonnet-4-5", "cache", "Write down what we cache, for how long, and why.", 20, 20000},
	{3 * day, "claude-sonnet-4-5", "search", "Facets of search count drafts. Leave them out and add a test.", 24,
		24000},
	{2 * day, "claude-opus-4-1", "queue", "The queue grows every night between two and three. Why?", 28, 24000},
	{30 * time.Hour, "claude-sonnet-4-5", "auth", "Add sign-in by passkey next to the password form.", 22, 20000},
	{20 * time.Hour, "claude-sonnet-4-5", "report", "The weekly report counts returns twice.", 18, 20000},
	{9 * time.Hour, "claude-sonnet-4-5", "search", "Autocomplete offers products that are sold out.", 20, 20000},
	{5 * time.Hour, "claude-opus-4-1", "settle",
		"Batches go to the bank whose payments do not add up to their total. Find out why.", 36, 24000},
	{2 * time.Hour, "claude-sonnet-4-5", "shipping", "Labels for Norway lack the customs number.", 24, 20000},
	{50 * time.Minute, "claude-sonnet-4-5", "retry",
		"The settle test is flaky: about one run in two hundred. Fix the flaky settle test, please.", 44, 24000},
}

// Fill fills a data folder with the sessions of the last weeks.
func Fill(ctx context.Context, dir string) (err error) {
	var mu sync.Mutex
	clock := time.Now()
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return clock
	}
	e, err := oriel.Open(ctx, oriel.Config{Dir: dir, Now: now, Calls: oriel.CallOptions{RecallWait: 5 * time.Second}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	model := NewModel()
	defer model.Close()
	begin := clock
	for i, p := range history {
		mu.Lock()
		clock = begin.Add(-p.ago)
		mu.Unlock()
		tick := ticking{e.Transport(nil), func() {
			mu.Lock()
			clock = clock.Add(time.Duration(20+i*7%50) * time.Second)
			mu.Unlock()
		}}
		s := &Session{Client: &http.Client{Transport: tick}, Base: model.URL, Model: model, Name: p.name,
			Budget: p.budget, Folder: "/home/ann/src/shop"}
		s.User(p.request)
		half := p.calls / 2
		if err := s.Work(ctx, p.subject, half); err != nil {
			return err
		}
		s.User("Good. The staging database is pg.staging.shop.example, port 6543, through pgbouncer. Go on with the worker, and remember that nothing is released on Fridays.")
		if err := s.Work(ctx, parts[i%len(parts)], p.calls-half-1); err != nil {
			return err
		}
		s.User("Which port did the staging database have? And where was the lock of the first attempt kept?")
		if err := s.Say(ctx,
			"Port 6543, through pgbouncer. The lock was kept in the retry of the first attempt."); err != nil {
			return err
		}
	}
	return e.Wait(ctx)
}

// ticking moves the clock with each call.
type ticking struct {
	next http.RoundTripper
	tick func()
}

func (t ticking) RoundTrip(r *http.Request) (*http.Response, error) {
	t.tick()
	return t.next.RoundTrip(r)
}
