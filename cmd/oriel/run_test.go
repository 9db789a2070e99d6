package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
)

func TestChildEnvironment(t *testing.T) {
	const base = "http://127.0.0.1:99"
	vendors := []string{"OPENAI_BASE_URL=" + base + "/v1", "OPENAI_API_BASE=" + base + "/v1", "ANTHROPIC_BASE_URL=" +
		base, "ANTHROPIC_API_BASE=" + base, "GOOGLE_GEMINI_BASE_URL=" + base,
		"OLLAMA_HOST=" + base}
	for name, c := range map[string]struct {
		env      environment
		upstream string
		more     []string
	}{
		"a gateway":    {nil, "https://gateway.example", nil},
		"the vendor":   {nil, proxy.DefaultAnthropic, []string{"ENABLE_TOOL_SEARCH=true"}},
		"their choice": {environment{"ENABLE_TOOL_SEARCH=auto"}, proxy.DefaultAnthropic, nil},
		"a proxy": {environment{"HTTPS_PROXY=http://p", "no_proxy=a,b"}, "https://g",
			[]string{"NO_PROXY=a,b,127.0.0.1,localhost", "no_proxy=a,b,127.0.0.1,localhost"}},
		"a proxy, unset": {environment{"all_proxy=http://p"}, "https://g",
			[]string{"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost"}},
		"no proxy ever": {environment{"http_proxy=http://p", "NO_PROXY=*"}, "https://g", nil},
	} {
		if diff := cmp.Diff(append(slices.Clip(vendors), c.more...),
			childEnvironment(c.env, base, c.upstream)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	env := environment{"A=1", "B=2", "A=3", "AB=4"}
	if got := env.with([]string{"A=5", "C=6"}); !slices.Equal(got, []string{"B=2", "AB=4", "A=5", "C=6"}) ||
		env.get("A") != "3" {
		t.Error(got, env)
	}
}

// Some programs read variables that no other reads, and would have called elsewhere.
func TestProgramsWithVariablesOfTheirOwn(t *testing.T) {
	const base = "http://127.0.0.1:99"
	for name, c := range map[string]struct {
		program           string
		env               environment
		openAI, anthropic string
		changed           []string
	}{
		"another": {program: "agent", env: environment{"OPENAI_HOST=http://a"}},
		"goose":   {program: "goose", changed: []string{"OPENAI_HOST=" + base, "ANTHROPIC_HOST=" + base}},
		"goose, a gateway": {program: "goose", env: environment{"OPENAI_HOST=http://a/", "ANTHROPIC_HOST=http://b"},
			openAI: "http://a/v1", anthropic: "http://b",
			changed: []string{"OPENAI_HOST=" + base, "ANTHROPIC_HOST=" + base}},
		"grok": {program: "grok", openAI: xAI, changed: []string{"GROK_BASE_URL=" + base + "/v1"}},
		"grok, a gateway": {program: "grok", env: environment{"GROK_BASE_URL=http://g/v1"}, openAI: "http://g/v1",
			changed: []string{"GROK_BASE_URL=" + base + "/v1"}},
		"copilot, a subscription": {program: "copilot"},
		"copilot, a key": {program: "copilot", env: environment{"COPILOT_PROVIDER_API_KEY=k"},
			changed: []string{"COPILOT_PROVIDER_BASE_URL=" + base + "/v1"}},
		"copilot, a vendor": {program: "copilot", env: environment{"COPILOT_PROVIDER_BASE_URL=http://v/v1"},
			openAI: "http://v/v1", changed: []string{"COPILOT_PROVIDER_BASE_URL=" + base + "/v1"}},
		"copilot, Claude": {program: "copilot", env: environment{"COPILOT_PROVIDER_BASE_URL=http://v",
			"COPILOT_PROVIDER_TYPE=anthropic"}, anthropic: "http://v",
			changed: []string{"COPILOT_PROVIDER_BASE_URL=" + base}},
		"copilot, Azure": {program: "copilot", env: environment{"COPILOT_PROVIDER_BASE_URL=http://v",
			"COPILOT_PROVIDER_TYPE=azure"}},
	} {
		openAI, anthropic := ownAddress(c.program, c.env)
		if changed := ownVariables(c.program, c.env, base); openAI != c.openAI || anthropic != c.anthropic ||
			!slices.Equal(changed, c.changed) {
			t.Errorf("%s: %q, %q, %q", name, openAI, anthropic, changed)
		}
	}
}

// Calls of Bedrock come to the proxy if they have an API key, and go on to the program's region or
// gateway. Signed ones are left alone: AWS would refuse them.
func TestProgramsOnBedrock(t *testing.T) {
	const base, key = "http://127.0.0.1:99", "AWS_BEARER_TOKEN_BEDROCK=ABSKx"
	const host = "https://bedrock-runtime."
	for name, c := range map[string]struct {
		program  string
		env      environment
		upstream string
	}{
		"no key":                       {"claude", environment{"CLAUDE_CODE_USE_BEDROCK=1", "AWS_REGION=eu-west-1"}, ""},
		"a key and a region":           {"agent", environment{key, "AWS_REGION=eu-west-1"}, host + "eu-west-1.amazonaws.com"},
		"the default region":           {"agent", environment{key, "AWS_DEFAULT_REGION=us-west-2"}, host + "us-west-2.amazonaws.com"},
		"a region in China":            {"agent", environment{key, "AWS_REGION=cn-north-1"}, host + "cn-north-1.amazonaws.com.cn"},
		"no region":                    {"agent", environment{key}, ""},
		"Claude Code's region":         {"claude", environment{key, "CLAUDE_CODE_USE_BEDROCK=1"}, host + "us-east-1.amazonaws.com"},
		"Claude Code, Anthropic's API": {"claude", environment{key, "CLAUDE_CODE_USE_BEDROCK=0"}, ""},
		"no name of a region":          {"agent", environment{key, "AWS_REGION=evil.example/"}, ""},
		"a gateway": {"claude", environment{"CLAUDE_CODE_SKIP_BEDROCK_AUTH=1",
			"ANTHROPIC_BEDROCK_BASE_URL=http://g"}, "http://g"},
		"an endpoint": {"agent", environment{key, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME=http://e"}, "http://e"},
	} {
		var want []string
		if c.upstream != "" {
			want = []string{"ANTHROPIC_BEDROCK_BASE_URL=" + base}
		}
		got := bedrockUpstream(c.program, c.env)
		if changed := bedrockEnvironment(c.env, base, got); got != c.upstream || !slices.Equal(changed, want) {
			t.Errorf("%s: %q, %q", name, got, changed)
		}
	}
	if changed := bedrockEnvironment(environment{"AWS_REGION=eu-west-1"}, base, "http://set"); changed != nil {
		t.Errorf("signed calls are sent here: %q", changed)
	}
}

// Calls go where the program would have sent them, unless it is told otherwise.
func TestPlanFindsUpstreams(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"codex", "agent"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	provider := "model_provider = \"x\"\n[model_providers.x]\nbase_url = \"http://x/v1\"\n"
	login := `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"…"}}`
	for name, c := range map[string]struct {
		args              []string
		env               environment
		flags             map[string]string
		config, auth      string
		openAI, anthropic string
		gemini            string
		codex             string // its arguments
	}{
		"nothing": {args: []string{"agent"}, openAI: proxy.DefaultOpenAI,
			anthropic: proxy.DefaultAnthropic},
		"variables": {args: []string{"agent"}, env: environment{"OPENAI_API_BASE=http://a/v1",
			"ANTHROPIC_BASE_URL=http://b", "GOOGLE_GEMINI_BASE_URL=http://c"}, openAI: "http://a/v1",
			anthropic: "http://b", gemini: "http://c"},
		"flags": {args: []string{"agent"}, env: environment{"OPENAI_BASE_URL=http://a/v1"},
			flags: map[string]string{"upstream.openai": "http://f/v1"}, openAI: "http://f/v1",
			anthropic: proxy.DefaultAnthropic, gemini: proxy.DefaultGemini},
		"codex": {args: []string{"codex", "exec"}, openAI: proxy.DefaultOpenAI,
			codex: `openai_base_url="http://o/v1"`},
		"codex, its base": {args: []string{"codex"}, env: environment{"OPENAI_BASE_URL=http://a/v1"},
			config: `openai_base_url = "http://c/v1"`, openAI: "http://c/v1", codex: `openai_base_url="http://o/v1"`},
		"codex, its provider": {args: []string{"codex"}, config: provider, openAI: "http://x/v1",
			codex: `model_providers.x.base_url="http://o/v1"`},
		"codex, an argument": {args: []string{"codex", "exec", "-c", `model_provider="openai"`}, config: provider,
			openAI: proxy.DefaultOpenAI, codex: `openai_base_url="http://o/v1"`},
		"codex, ollama": {args: []string{"codex"}, config: `model_provider = "ollama"`,
			openAI: proxy.DefaultOpenAI},
		"codex, oss":     {args: []string{"codex", "--oss"}, openAI: proxy.DefaultOpenAI},
		"codex, ChatGPT": {args: []string{"codex"}, auth: login, openAI: proxy.DefaultOpenAI},
		"codex, ChatGPT by its base": {args: []string{"codex"}, auth: login,
			config: `openai_base_url = "https://gw/backend-api/codex"`, openAI: proxy.DefaultOpenAI,
			codex: `openai_base_url="http://o/backend-api/codex"`},
		"codex, an old login": {args: []string{"codex"}, auth: `{"OPENAI_API_KEY":null,"tokens":{}}`,
			openAI: proxy.DefaultOpenAI},
		"codex, a key": {args: []string{"codex"}, auth: `{"OPENAI_API_KEY":"sk-…"}`, openAI: proxy.DefaultOpenAI,
			codex: `openai_base_url="http://o/v1"`},
		"codex, both": {args: []string{"codex", "exec"}, auth: login, env: environment{"CODEX_API_KEY=sk"},
			openAI: proxy.DefaultOpenAI, codex: `openai_base_url="http://o/v1"`},
		"codex, damaged": {args: []string{"codex"}, config: "][", auth: "{", openAI: proxy.DefaultOpenAI,
			codex: `openai_base_url="http://o/v1"`},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for file, text := range map[string]string{"config.toml": c.config, "auth.json": c.auth} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(home, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			loaded, err := settings.Load(settings.Sources{Flags: c.flags})
			if err != nil {
				t.Fatal(err)
			}
			args := append([]string{filepath.Join(bin, c.args[0])}, c.args[1:]...)
			l, err := plan(args, append(slices.Clip(c.env), "CODEX_HOME="+home), loaded)
			if err != nil {
				t.Fatal(err)
			}
			if l.openAI != c.openAI || c.anthropic != "" && l.anthropic != c.anthropic ||
				c.gemini != "" && l.gemini != c.gemini {
				t.Errorf("upstreams %s, %s, %s", l.openAI, l.anthropic, l.gemini)
			}
			want := args
			if c.codex != "" {
				want = slices.Concat(args[:1], []string{"-c", c.codex}, args[1:])
			}
			l.noMCP = true
			if got, _, told := l.command("http://o"); told != nil || !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// What was sent is priced by what the provider reports, and what came by the same rules.
func TestBill(t *testing.T) {
	const opus = "claude-opus-4-1" // 15, 75, reading 1.5, writing 18.75 dollars for a million
	usage := func(input, read, write, output int) *event.Usage {
		return &event.Usage{Input: input, CacheRead: read, CacheWrite: write, Output: output}
	}
	call := func(conversation string, before, after int, u *event.Usage) oriel.Event {
		return oriel.Event{Kind: oriel.EventCall, Conversation: conversation, Model: opus, TokensBefore: before,
			TokensAfter: after, Usage: u}
	}
	failed := call("b", 10, 10, nil)
	failed.Outcome, failed.Error = event.OutcomeFailed, "the provider failed: no such host"
	left := call("b", 10, 10, usage(10, 0, 0, 1))
	left.Outcome, left.Error = event.OutcomeLeft, proxy.ErrClientLeft.Error()+": it has enough"
	own := call("b", 7, 7, nil)
	own.Model = "my-own"
	got := makeBill([]oriel.Event{
		failed, left, own,
		call("a", 1000, 1000, usage(0, 0, 1000, 10)),
		call("a", 1400, 1400, usage(0, 1000, 400, 10)),
		call("a", 2000, 600, usage(0, 200, 400, 10)), // the cut: 1,400 read and 600 written
		call("a", 2100, 700, usage(0, 600, 100, 10)), // 2,000 read and 100 written
	}, token.Builtin(), nil)
	p := token.Builtin().Lookup(opus).Prices
	sent := p.Cost(token.Usage{Input: 10, Output: 1}) + p.Cost(token.Usage{CacheRead: 1800, CacheWrite: 1900,
		Output: 40})
	came := p.Cost(token.Usage{Input: 10, Output: 1}) + p.Cost(token.Usage{CacheRead: 1000 + 1400 + 2000,
		CacheWrite: 1000 + 400 + 600 + 100, Output: 40})
	if near := func(a, b float64) bool { return max(a-b, b-a) < 1e-12 }; !p.Known() || !near(got.Cost, sent) ||
		!near(got.Without, came) {
		t.Errorf("%v and %v, want %v and %v", got.Cost, got.Without, sent, came)
	}
	got.Cost, got.Without = 0, 0
	want := bill{
		Calls: 7, Failed: 1, Failure: failed.Error, Conversations: []string{"a", "b"},
		Before: 6527, After: 3727, Input: 3717, CacheRead: 1800, Output: 41, Unreported: 1,
		UnknownModels: []string{"my-own"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The summary of a run has the sums of oriel usage, also where the run resumes a session: what
// earlier calls put into the provider's cache would have been read without Oriel, too.
func TestBillOfAResumedSession(t *testing.T) {
	began := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	h := &history{dir: t.TempDir(), given: true}
	store, err := sqlite.Open(t.Context(), h.dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, used := range []string{`{"cache_write":2000,"output":10}`,
		`{"cache_read":2000,"cache_write":1000,"output":10}`} {
		at := began.Add(time.Duration(i-1)*time.Hour + time.Minute)
		data := fmt.Appendf(nil, `{"v":1,"began":%q,"model":"claude-opus-4-1","tokens":%d,"came":%d,"usage":%s}`,
			at.Format(time.RFC3339), 2000+1000*i, 90_000+1000*i, used)
		put := []timeline.Record{{Kind: "call", Key: fmt.Sprint("call ", i), Data: data, Time: at}}
		if _, err := store.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: "a", Stay: true, Put: put,
			Now: at}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	resumed := oriel.Event{
		Kind: oriel.EventCall, Call: "call 1", Conversation: "a", Model: "claude-opus-4-1", TokensBefore: 91_000,
		TokensAfter: 3000,
		Usage:       &event.Usage{CacheRead: 2000, CacheWrite: 1000, Output: 10},
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	got := makeBill([]oriel.Event{resumed}, token.Builtin(), pricesSince(interrupted, h, began, token.Builtin()))
	err = h.with(t.Context(), func(s tenantStore) error {
		want, err := usage.Read(t.Context(), s, s.tenant, usage.Options{Since: began})
		if err == nil && (want.Total.Cost == 0 || usage.Dollars(got.Cost) != want.Total.Cost ||
			usage.Dollars(got.Without) != want.Total.Without) {
			t.Errorf("%f of %f, oriel usage: %f of %f", got.Cost, got.Without, want.Total.Cost, want.Total.Without)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// If nothing was left out, nothing was saved. What was sent never costs more than what came.
func TestBillProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 5000)
		var calls []oriel.Event
		cut := rapid.Bool().Draw(t, "cut")
		for range rapid.IntRange(0, 20).Draw(t, "calls") {
			e := oriel.Event{
				Conversation: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "conversation"),
				Model:        rapid.SampledFrom([]string{"gpt-5", "claude-opus-4-1", "?"}).Draw(t, "model"),
				TokensAfter:  small.Draw(t, "tokens"),
			}
			if e.TokensBefore = e.TokensAfter; cut {
				e.TokensBefore += small.Draw(t, "left out")
			}
			if rapid.Bool().Draw(t, "reported") {
				e.Usage = &event.Usage{Input: e.TokensAfter, Output: small.Draw(t, "output")}
			}
			calls = append(calls, e)
		}
		b := makeBill(calls, token.Builtin(), nil)
		if b.Calls != len(calls) || b.After > b.Before || !cut && b.Cost != b.Without || b.Cost > b.Without+1e-9 {
			t.Fatalf("%+v", b)
		}
	})
}

// The summary fits a terminal of 80 columns, but for commands and paths.
func TestSummaryFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.IntRange(0, 1<<40)
		few := rapid.Int64Range(0, 3)
		s := &summary{
			Program: "agent", Seconds: rapid.Float64Range(0, 1e6).Draw(t, "seconds"),
			launch: &launch{args: []string{rapid.SampledFrom([]string{"agent", "claude", "/usr/bin/codex"}).Draw(t,
				"program")}, env: environment{"CLAUDE_CODE_USE_BEDROCK=1"}},
			listen: "127.0.0.1:65535", came: few.Draw(t, "came"), sockets: few.Draw(t, "sockets"),
			overflow: int(few.Draw(t, "overflow")),
			Unread:   few.Draw(t, "unread"), Refused: few.Draw(t, "refused"), Unrecorded: few.Draw(t, "unrecorded"),
			Others: few.Draw(t, "others"),
			Cuts:   int(few.Draw(t, "cuts")), Recalls: some.Draw(t, "recalls"),
			Condensations: int(few.Draw(t, "condensations")), CondensingCost: 1234.5,
			bill: bill{
				Calls: int(few.Draw(t, "calls")), Conversations: []string{"a", "b"}, Before: some.Draw(t, "before"),
				After: some.Draw(t, "after"),
				Input: some.Draw(t, "prompt"), CacheRead: some.Draw(t, "read"),
				Cost: rapid.Float64Range(0, 1e6).Draw(t, "cost"), Without: 1e6,
				Failed: int(few.Draw(t, "failed")), Failure: strings.Repeat("so it is 100%s ", 40),
				Unreported: int(few.Draw(t, "unreported")),
			},
		}
		if rapid.Bool().Draw(t, "observed") {
			w := usage.WouldRow{Profile: "balanced", Input: some.Draw(t, "would send"), Cost: 1e5,
				Cuts: some.Draw(t, "would cut")}
			s.Observed = &usage.Observed{Calls: 1, Input: 1, Cost: 1e-3, Would: []usage.WouldRow{w, w}}
		}
		if rapid.Bool().Draw(t, "unpriced") {
			s.UnknownModels = []string{"my-own"}
		}
		if s.launch.name() == "codex" {
			s.launch.codex = &codex{aside: rapid.SampledFrom([]string{"",
				`its provider "azure" has no base_url in its config.toml`}).Draw(t, "aside")}
		}
		var b bytes.Buffer
		s.writeTo(&b, term.StyleOf(&b))
		if b.Len() == 0 || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "%!") {
			t.Fatalf("%s", &b)
		}
		for line := range strings.Lines(b.String()) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
				t.Fatalf("%q is too long", line)
			}
		}
	})
}

// The proxy of a run is gone with it, and is never its own upstream.
func TestStartServer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	server, err := proxy.New(proxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(context.Background(), server,
		&launch{openAI: "http://localhost:1/v1", anthropic: "https://a"})
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(s.base, "http://")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET /oriel/healthz HTTP/1.0\r\nHost: %s\r\n\r\n", address)
	if answer, err := io.ReadAll(c); err != nil || !bytes.Contains(answer, []byte(`"status":"ok"`)) {
		t.Errorf("%s, %v", answer, err)
	}
	c.Close()
	s.end()
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("it still listens")
	}
	for url, port := range map[string]string{"http://127.0.0.1:8/v1": "8", "http://localhost:9": "9",
		"http://[::1]:7": "7", "https://api.example:8": "", ":": ""} {
		if got := portOf(url); got != port {
			t.Errorf("%s: %q", url, got)
		}
	}
}

func TestSummaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.json")
	s := &summary{Program: "a", Exit: 3, bill: bill{Calls: 2, Conversations: []string{"x"}}}
	if err := s.write(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	var got map[string]any
	if err != nil || json.Unmarshal(data, &got) != nil || got["exit"] != 3.0 || got["calls"] != 2.0 {
		t.Errorf("%s, %v", data, err)
	}
	if err := s.write(t.TempDir()); err == nil {
		t.Error("a folder was written to")
	}
}

// OLLAMA_HOST is a host, a host with a port or a URL, as Ollama's clients read it.
func TestOllamaHostIsAnUpstream(t *testing.T) {
	for host, want := range map[string]string{
		"": "", "127.0.0.1": "http://127.0.0.1:11434", "0.0.0.0:11434": "http://127.0.0.1:11434",
		":8000":   "http://127.0.0.1:8000",
		"gpu.lan": "http://gpu.lan:11434", "https://ollama.example": "https://ollama.example:443",
		"http://gpu:80/p/full/": "http://gpu:80/p/full", "[::1]:5": "http://[::1]:5", "http://": "",
	} {
		if got := ollamaURL(host); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}
