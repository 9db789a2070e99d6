// Command checkagents runs real agent programs, Claude Code and Codex, headless through
// the proxy against a scripted model that keeps them busy, and proves that the provider
// gets the bytes that the agent sent, that each run is one conversation, that all of it
// is stored, and that no body breaks its vendor's rules.
//
//	go run ./internal/checkagents [-calls 200] [-install DIR] [claude codex]
//
// The agents come from npm by name, once, into a folder that -install names. They run in
// an empty home with a key that is none.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/fakemodel"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/record"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func main() {
	calls := flag.Int("calls", 200, "tool calls of each agent")
	cache, _ := os.UserCacheDir()
	install := flag.String("install", filepath.Join(cache, "oriel-agents"), "folder for the agents from npm")
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = []string{"claude", "codex"}
	}
	failed := false
	for _, name := range names {
		problems, err := run(name, *install, *calls)
		if err != nil {
			fmt.Fprintf(os.Stderr, "checkagents: %s: %v\n", name, err)
			os.Exit(2)
		}
		for _, p := range problems {
			failed = true
			fmt.Printf("%s: %s\n", name, p)
		}
	}
	if failed {
		os.Exit(1)
	}
}

var ctx = context.Background()

// script is a model that asks for n commands and then ends.
type script struct {
	mu    sync.Mutex
	n     int
	step  int
	calls int
}

func (s *script) answer(r *fakemodel.Request) fakemodel.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", s.calls), Thinking: fmt.Sprintf("Part %d is next.", s.step), CacheRead: len(r.Data()) / 4, Input: 10, Output: 20}
	tool := ""
	for _, t := range r.Tools {
		if t.Name == "Bash" || t.Name == "exec_command" {
			tool = t.Name
		}
	}
	if tool == "" || s.step == s.n {
		a.Text = fmt.Sprintf("All %d parts were read.", s.step)
		return a
	}
	s.step++
	command := fmt.Sprintf("echo part %d; seq -f 'line %%g of part %d' 1 60", s.step, s.step)
	key := map[string]string{"Bash": "command", "exec_command": "cmd"}[tool]
	arguments, _ := json.Marshal(map[string]string{key: command})
	if tool == "Bash" {
		arguments, _ = json.Marshal(map[string]string{key: command, "description": fmt.Sprintf("Print part %d", s.step)})
	}
	a.Calls = []fakemodel.Call{{ID: fmt.Sprintf("toolu_%06d", s.step), Name: tool, Arguments: string(arguments)}}
	return a
}

// tee notes the hash of every body that passes.
type tee struct {
	mu     sync.Mutex
	bodies [][32]byte
	bytes  int64
	next   http.Handler
}

func (t *tee) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.Method == http.MethodPost {
		t.mu.Lock()
		t.bodies = append(t.bodies, sha256.Sum256(body))
		t.bytes += int64(len(body))
		t.mu.Unlock()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t.next.ServeHTTP(w, r)
}

func run(name, install string, calls int) (problems []string, err error) {
	if err := get(install); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "checkagents")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "data"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	s := &script{n: calls}
	model := &fakemodel.Server{Answer: s.answer}
	arrived := &tee{next: model}
	provider := httptest.NewServer(arrived)
	defer provider.Close()
	var failures []string
	var mu sync.Mutex
	recorder := record.New(record.Options{Store: store, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Events: func(e record.Event) {
		if e.Kind != record.EventCall {
			mu.Lock()
			failures = append(failures, fmt.Sprintf("%s: %s", e.Kind, e.Error))
			mu.Unlock()
		}
	}})
	server, err := proxy.New(proxy.Options{OpenAI: provider.URL, Anthropic: provider.URL, Recorder: recorder})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- server.Serve(serving, l) }()
	front := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: l.Addr().String()})
	front.FlushInterval = -1
	sent := &tee{next: front}
	client := httptest.NewServer(sent)
	defer client.Close()

	began := time.Now()
	out, err := agent(name, install, dir, client.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	took := time.Since(began)
	stop()
	if err := <-done; err != nil {
		return nil, err
	}
	if err := recorder.Close(ctx); err != nil {
		return nil, err
	}
	problems = append(failures, model.Problems()...)
	if s.step != calls {
		problems = append(problems, fmt.Sprintf("%d tool calls of %d: %s", s.step, calls, out))
	}
	if !slices.Equal(sent.bodies, arrived.bodies) {
		problems = append(problems, fmt.Sprintf("the provider got other bytes than were sent (%d bodies, %d sent)", len(arrived.bodies), len(sent.bodies)))
	}
	stored, err := look(store, s.calls)
	if err != nil {
		return nil, err
	}
	problems = append(problems, stored...)
	stats, err := store.Stats(ctx, timeline.Local)
	fmt.Printf("%s: %d calls in %.1f s, %.1f MB sent; %d conversation(s), %d messages, %.1f MB stored, %.1f MB on disk\n",
		name, s.calls, took.Seconds(), float64(sent.bytes)/1e6, stats.Conversations, stats.Messages, float64(stats.Bytes)/1e6, float64(stats.Disk)/1e6)
	return problems, err
}

// look says what is wrong with what is stored.
func look(store timeline.Store, calls int) (problems []string, err error) {
	all, err := store.Conversations(ctx, timeline.Local)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		for _, c := range all {
			problems = append(problems, fmt.Sprintf("conversation %q has %d messages", c.Name, c.Head.Depth))
		}
	}
	recorded, results := 0, 0
	for _, c := range all {
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		if err != nil {
			return nil, err
		}
		for i := range records {
			if _, err := record.ReadCall(ctx, store, timeline.Local, &records[i]); err != nil {
				problems = append(problems, err.Error())
			}
		}
		recorded += len(records)
		err = store.Messages(ctx, timeline.Local, c.Head, 1, math.MaxInt64, false, func(e *timeline.Entry) error {
			if strings.Contains(string(e.Raw), "line 60 of part") {
				results++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if recorded != calls {
		problems = append(problems, fmt.Sprintf("%d calls are stored of %d", recorded, calls))
	}
	if results < calls-1 {
		problems = append(problems, fmt.Sprintf("%d results are stored of %d", results, calls-1))
	}
	err = store.Verify(ctx, func(p timeline.Problem) { problems = append(problems, p.What) })
	return problems, err
}

// get installs the agents from npm.
func get(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "claude")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("npm", "install", "--silent", "--prefix", dir, "@anthropic-ai/claude-code", "@openai/codex")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install the agents with npm: %w: %s", err, out)
	}
	return nil
}

// agent runs one in a home of its own.
func agent(name, install, dir, base string) ([]byte, error) {
	const prompt = "Read all parts one after another, then say that you are done."
	home := filepath.Join(dir, "home")
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(filepath.Join(home, ".codex"), 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	bin := filepath.Join(install, "node_modules", ".bin", name)
	limit, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var cmd *exec.Cmd
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	switch name {
	case "claude":
		cmd = exec.CommandContext(limit, bin, "-p", prompt, "--allowedTools", "Bash", "--max-turns", "10000")
		env = append(env, "ANTHROPIC_BASE_URL="+base, "ANTHROPIC_API_KEY=sk-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	case "codex":
		config := fmt.Sprintf("model=\"gpt-5\"\nmodel_provider=\"x\"\napproval_policy=\"never\"\nsandbox_mode=\"danger-full-access\"\n[model_providers.x]\nname=\"x\"\nbase_url=\"%s/v1\"\nenv_key=\"K\"\nwire_api=\"responses\"\n", base)
		if err := os.WriteFile(filepath.Join(home, ".codex", "config.toml"), []byte(config), 0o644); err != nil {
			return nil, err
		}
		cmd = exec.CommandContext(limit, bin, "exec", "--skip-git-repo-check", prompt)
		env = append(env, "K=none")
	default:
		return nil, fmt.Errorf("no such agent: claude and codex are known")
	}
	cmd.Dir, cmd.Env = work, env
	return cmd.CombinedOutput()
}
