package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// The verbs of what a program does: it begins, goes on with the question, compacts first, or
// begins another session.
const (
	begin   = "begin"
	ask     = "ask"
	compact = "compact"
	anew    = "anew"
)

// The prompts.
const (
	task    = "Read all parts one after another, then say that you are done."
	another = "This is another piece of work. Say that you are ready."
)

// prompts are those of the verbs.
var prompts = map[string]string{begin: task, ask: question, compact: "/compact", anew: another}

func driveClaude(s *seat, do string) error {
	cmd := s.command("-p", prompts[do], "--model", modelNames["claude"]["known"], "--allowedTools", "Bash",
		"--max-turns", "1000")
	if do == ask || do == compact {
		cmd.Args = append(cmd.Args, "-c")
	}
	cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+s.base, "ANTHROPIC_API_KEY=sk-none",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	return s.run(cmd)
}

// driveCodex offers Codex a base URL of OpenAI, where it tries a WebSocket first.
func driveCodex(s *seat, do string) error { return codexDoes(s, do, 0) }

// driveCodexCompact lets Codex compact before the question: it does so when the last answer
// reported more tokens than its limit.
func driveCodexCompact(s *seat, do string) error { return codexDoes(s, do, 12_000) }

func codexDoes(s *seat, do string, compactAt int) error {
	config := "model=\"gpt-5\"\napproval_policy=\"never\"\nsandbox_mode=\"danger-full-access\"\n"
	args := []string{"-c", fmt.Sprintf("openai_base_url=%q", s.base+"/v1"), "exec", "--skip-git-repo-check"}
	if do == ask {
		args = append(args, "resume", "--last")
		if compactAt > 0 {
			config += fmt.Sprintf("model_auto_compact_token_limit=%d\n", compactAt)
		}
	}
	args = append(args, prompts[do])
	home := filepath.Join(s.home(), ".codex")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o644); err != nil {
		return err
	}
	cmd := s.command(args...)
	cmd.Env = append(cmd.Env, "CODEX_API_KEY=sk-none")
	return s.run(cmd)
}

// driveCopilotChat makes Copilot compact: it takes gpt-4o's window for some 48,000 tokens, and
// counts them itself.
func driveCopilotChat(s *seat, do string) error {
	return copilotDoes(s, do, "COPILOT_PROVIDER_BASE_URL="+s.base+"/v1", "COPILOT_MODEL=gpt-4o")
}

// driveCopilotResponses resumes a session, of which Copilot then sends no reasoning.
func driveCopilotResponses(s *seat, do string) error {
	return copilotDoes(s, do, "COPILOT_PROVIDER_BASE_URL="+s.base+"/v1", "COPILOT_MODEL=gpt-5",
		"COPILOT_PROVIDER_WIRE_API=responses")
}

func driveCopilotAnthropic(s *seat, do string) error {
	return copilotDoes(s, do, "COPILOT_PROVIDER_BASE_URL="+s.base, "COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_MODEL="+
		modelNames["claude"]["known"])
}

func copilotDoes(s *seat, do string, env ...string) error {
	cmd := s.command("-p", prompts[do], "--allow-all-tools")
	if do == ask {
		cmd.Args = append(cmd.Args, "--continue")
	}
	cmd.Env = append(append(cmd.Env, "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
		"COPILOT_PROVIDER_API_KEY=sk-none"), env...)
	return s.run(cmd)
}

// driveQwen resumes a session, whose first message then lacks the date.
func driveQwen(s *seat, do string) error {
	cmd := s.command("--auth-type", "openai", "-y", "-p", prompts[do])
	if do == ask {
		cmd.Args = append(cmd.Args, "-c")
	}
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-none", "OPENAI_BASE_URL="+s.base+"/v1", "OPENAI_MODEL=gpt-5")
	return s.run(cmd)
}

// driveGoose resumes a session twice, the second time with summaries that Goose made of its
// oldest results meanwhile.
func driveGoose(s *seat, do string) error {
	return gooseDoes(s, do, "GOOSE_PROVIDER=openai", "GOOSE_MODEL=gpt-5", "OPENAI_HOST="+s.base,
		"OPENAI_API_KEY=sk-none")
}

func driveGooseAnthropic(s *seat, do string) error {
	return gooseDoes(s, do, "GOOSE_PROVIDER=anthropic", "GOOSE_MODEL="+modelNames["claude"]["known"], "ANTHROPIC_HOST="+
		s.base, "ANTHROPIC_API_KEY=sk-none")
}

func gooseDoes(s *seat, do string, env ...string) error {
	cmd := s.command("run", "--with-builtin", "developer", "-t", prompts[do])
	switch do {
	case begin:
		cmd.Args = append(cmd.Args, "-n", "one")
	case ask:
		cmd.Args = append(cmd.Args, "-n", "one", "-r")
	case anew:
		cmd.Args = append(cmd.Args, "-n", "two")
	}
	cmd.Env = append(append(cmd.Env, "GOOSE_MODE=auto", "GOOSE_DISABLE_KEYRING=1"), env...)
	return s.run(cmd)
}

// driveCline resumes a session at a terminal, since Cline resumes nowhere else.
func driveCline(s *seat, do string) error {
	command := func(args ...string) *exec.Cmd {
		cmd := s.command(args...)
		cmd.Env = append(cmd.Env, "CLINE_HUB_PORT="+s.port) // of its daemon; without it, that of the user's own Cline
		return cmd
	}
	switch do {
	case begin:
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		_, s.port, _ = net.SplitHostPort(l.Addr().String())
		l.Close()
		s.end = func() error { return s.run(command("hub", "stop")) }
		if err := s.run(command("auth", "-p", "openai-compatible", "-k", "none", "-m", "gpt-5", "-b",
			s.base+"/v1")); err != nil {
			return err
		}
	case ask:
		out, err := command("history", "--json").Output()
		if err != nil {
			return fmt.Errorf("cline history: %w", err)
		}
		var list []struct{ ID, SessionID string }
		if err := json.Unmarshal(out, &list); err != nil || len(list) == 0 {
			return fmt.Errorf("cline history: %w: %.200s", err, out)
		}
		return s.atTerminal(command("--id", list[0].ID+list[0].SessionID), "Ask anything", question)
	}
	return s.run(command(prompts[do]))
}

// driveContinue makes Continue compact: it counts its tokens itself, and goes on with nothing
// but its summary, without the name of a session.
func driveContinue(s *seat, do string) error {
	config := filepath.Join(s.home(), "continue.yaml")
	settings := fmt.Sprintf(
		"name: check\nversion: 0.0.1\nschema: v1\nmodels:\n  - name: gpt\n    provider: openai\n    model: gpt-5\n"+
			"    apiKey: sk-none\n    apiBase: %s/v1\n    roles: [chat]\n", s.base)
	if err := os.WriteFile(config, []byte(settings), 0o644); err != nil {
		return err
	}
	cmd := s.command("-p", "--auto", "--config", config)
	if do == ask {
		cmd.Args = append(cmd.Args, "--resume")
	}
	cmd.Args = append(cmd.Args, prompts[do])
	return s.run(cmd)
}

// atTerminal runs a command at a terminal of its own, types a line once ready is on the
// screen, and ends the program when the model answered.
func (s *seat) atTerminal(inner *exec.Cmd, ready, line string) error {
	script, err := exec.LookPath("script")
	if err != nil {
		return fmt.Errorf("a terminal is needed: %w", err)
	}
	cmd := exec.CommandContext(ctx, script, "-qec", "stty cols 100 rows 40; '"+strings.Join(inner.Args, "' '")+"'",
		os.DevNull)
	cmd.Dir, cmd.Env = inner.Dir, inner.Env
	screen := &watched{}
	cmd.Stdout, cmd.Stderr = screen, screen
	keys, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	before := s.answered()
	err = waitFor(func() bool { return screen.has(ready) })
	if err == nil {
		_, err = io.WriteString(keys, line)
	}
	if err == nil {
		err = waitFor(func() bool { return screen.has(line) })
	}
	if err == nil {
		_, err = io.WriteString(keys, "\r")
	}
	if err == nil {
		err = waitFor(func() bool { return s.answered() > before && screen.has("third part") })
	}
	for range 2 { // the first asks, the second ends
		_, _ = io.WriteString(keys, "\x03")
		time.Sleep(500 * time.Millisecond)
	}
	keys.Close()
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // it ends by a signal
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		<-done
	}
	s.output = append(s.output, screen.text()...)
	return err
}

// answered returns how many calls the model has answered.
func (s *seat) answered() int {
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	return s.model.calls
}

// waitFor waits until something holds.
func waitFor(holds func() bool) error {
	for range 300 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if holds() {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the screen did not change as expected for 30 s")
}

// watched collects what a program draws.
type watched struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *watched) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Reset()
}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// escapes matches what moves the cursor or sets colours.
var escapes = regexp.MustCompile("\x1b(\\[[0-9;?<>=]*[ -/]*[@-~]|\\][^\a\x1b]*\a?|[P_][^\x1b]*|.)")

// spinners matches the signs that turn while a program waits. They are drawn between words, too.
var spinners = regexp.MustCompile(`[\x{2800}-\x{28ff}]`)

// has reports whether a text was drawn, wherever its words stand.
func (w *watched) has(text string) bool {
	drawn := strings.Join(strings.Fields(spinners.ReplaceAllString(escapes.ReplaceAllString(w.text(), " "), " ")), "")
	return strings.Contains(drawn, strings.Join(strings.Fields(text), ""))
}

// driveAiderSystem chats with gpt-4o, to which aider sends its rules as a system message
// behind the newest question.
func driveAiderSystem(s *seat, do string) error { return aiderDoes(s, do, "openai/gpt-4o") }

// driveAiderInside chats with gpt-5, to which aider sends its rules inside the newest question.
func driveAiderInside(s *seat, do string) error { return aiderDoes(s, do, "openai/gpt-5") }

func aiderDoes(s *seat, do, model string) error {
	cmd := s.command("--model", model, "--weak-model", model, "--openai-api-base", s.base+"/v1", "--yes-always",
		"--no-git", "--no-show-model-warnings", "--no-check-update", "--no-fancy-input", "--no-pretty",
		"--no-suggest-shell-commands", "--no-detect-urls", "app.py")
	in := prompts[do] + "\n"
	switch do {
	case begin:
		var source, questions strings.Builder
		for k := 1; k <= 50; k++ {
			fmt.Fprintf(&source, "def f%d(x): return x + %d\n", k, k)
		}
		if err := os.WriteFile(filepath.Join(s.work(), "app.py"), []byte(source.String()), 0o644); err != nil {
			return err
		}
		for k := 1; k <= s.program.parts; k++ {
			fmt.Fprintf(&questions, "Explain function number %d in app.py in detail.", k)
			if k == 3 {
				questions.WriteString(" " + fact)
			}
			questions.WriteByte('\n')
		}
		in = questions.String() + question + "\n"
	case ask:
		cmd.Args = append(cmd.Args, "--restore-chat-history")
	}
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-none", "LITELLM_LOCAL_MODEL_COST_MAP=True", "AIDER_ANALYTICS=false")
	cmd.Stdin = strings.NewReader(in)
	return s.run(cmd)
}
