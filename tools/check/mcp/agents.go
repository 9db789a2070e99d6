package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// agent is one agent under oriel run.
type agent struct {
	name, oriel, bin, dir string
	calls                 int
}

// secret is what the agent reads first, in a long file, and loses from its window.
const secret = "mint-otter-4417"

// rule is a standing instruction of the person.
const rule = "Always keep your answers short."

// looking is a model that has an agent read much, look back with every tool of Oriel's, and
// then end.
type looking struct {
	calls int

	mu       sync.Mutex // protects what follows
	step     int
	id       int64 // of the message that recall returned
	ruled    int64 // that of the person's rule
	tools    map[string]string
	shown    bool // the secret was in the window when recall was called
	answers  map[string]string
	problems []error
}

// shellArgument is the name of a shell tool's argument.
var shellArgument = map[string]string{"Bash": "command", "exec_command": "cmd", "shell_command": "command"}

var ownTools = []string{prompt.ToolListConversations, prompt.ToolRecall, prompt.ToolRead, prompt.ToolDirectives,
	prompt.ToolChangeDirective, prompt.ToolPin, prompt.ToolUnpin, prompt.ToolUndo}

func (m *looking) answer(r *fakemodel.Request) fakemodel.Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", m.step), Text: "Done.", Thinking: "What is next?",
		CacheRead: len(r.Data()) / 4, Input: 10, Output: 20}
	shell := ""
	for _, t := range r.Tools {
		if shellArgument[t.Name] != "" {
			shell = t.Name
		}
	}
	for _, tool := range ownTools {
		if name := prompt.FindTool(r.Tools, tool); name != "" {
			m.tools[tool] = name
		}
	}
	if shell == "" {
		return a // a title, or the like
	}
	if k := m.step - m.calls - 2; k >= 0 && k < len(ownTools) { // the result of the call before is in it
		m.result(ownTools[k], r)
	}
	m.step++
	call := func(tool string, arguments any) fakemodel.Answer {
		raw, _ := json.Marshal(arguments)
		a.Text, a.Calls = "",
			[]fakemodel.Call{{ID: fmt.Sprintf("toolu_%06d", m.step), Name: tool, Arguments: string(raw)}}
		return a
	}
	command := func(text string) fakemodel.Answer {
		arguments := map[string]string{shellArgument[shell]: text}
		if shell == "Bash" {
			arguments["description"] = "Print a part"
		}
		return call(shell, arguments)
	}
	switch k := m.step - m.calls - 2; {
	case m.step == 1:
		return command("cat harbour.txt")
	case k < 0:
		return command(fmt.Sprintf("seq -f 'line %%g of part %d has nothing of note in it' 1 190", m.step))
	case k >= len(ownTools):
		a.Text = "All was looked up."
		return a
	default:
		tool := ownTools[k]
		if m.tools[tool] == "" {
			m.problems = append(m.problems, fmt.Errorf("%s is not among the tools", tool))
			a.Text = "There is no such tool."
			return a
		}
		switch tool {
		case prompt.ToolListConversations:
			return call(m.tools[tool], map[string]any{"limit": 3})
		case prompt.ToolRecall:
			m.shown = bytes.Contains(r.Data(), []byte(secret))
			return call(m.tools[tool], map[string]any{"query": "What is the code word of the harbour gate?"})
		case prompt.ToolRead:
			return call(m.tools[tool], map[string]any{"from": max(m.id, 1)})
		case prompt.ToolChangeDirective:
			return call(m.tools[tool], map[string]any{"id": max(m.ruled, 1)})
		case prompt.ToolUndo, prompt.ToolDirectives:
			return call(m.tools[tool], map[string]any{})
		}
		return call(m.tools[tool], map[string]any{"id": max(m.id, 1)})
	}
}

// result notes what a tool returned: the last result of the request.
func (m *looking) result(tool string, r *fakemodel.Request) {
	last := &r.Messages[len(r.Messages)-1]
	for i := range r.Messages {
		for k := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[k]; p.Kind == chat.Result && p.ID == fmt.Sprintf("toolu_%06d", m.step) {
				last = &r.Messages[i]
			}
		}
	}
	text := string(last.Raw)
	m.answers[tool] = text
	if found := readMore.FindStringSubmatch(text); tool == prompt.ToolRecall && found != nil {
		m.id, _ = strconv.ParseInt(found[1], 10, 64)
	}
	if found := ruleID.FindStringSubmatch(text); tool == prompt.ToolDirectives && found != nil {
		m.ruled, _ = strconv.ParseInt(found[1]+found[2], 10, 64)
	}
}

// ruleID finds the id of a standing instruction, in either form of an answer.
var ruleID = regexp.MustCompile(`, message (\d+)|"id[\\"]*:(\d+)`)

// readMore finds the id in what recall says of reading more, in JSON within JSON.
var readMore = regexp.MustCompile(`from[\\"]*:(\d+)`)

func (a *agent) check() error {
	began := time.Now()
	m := &looking{calls: a.calls, tools: map[string]string{}, answers: map[string]string{}}
	fake := &fakemodel.Server{Answer: m.answer}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" { // Codex tries a WebSocket first
			w.WriteHeader(http.StatusUpgradeRequired)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	defer up.Close()
	out, err := a.run(up.URL)
	m.mu.Lock()
	defer m.mu.Unlock()
	problems := m.problems
	if err != nil {
		problems = append(problems, fmt.Errorf("%w: %s", err, out[max(0, len(out)-800):]))
	}
	for _, p := range fake.Problems() {
		problems = append(problems, errors.New(p))
	}
	if m.shown {
		problems = append(problems,
			errors.New("the fact was still in the window: the run is too short to prove anything"))
	}
	for tool, want := range map[string]string{
		prompt.ToolListConversations: "conversations, the one that was used last first", prompt.ToolRecall: secret,
		prompt.ToolRead: secret,
		prompt.ToolPin:  "is pinned", prompt.ToolUnpin: "is not pinned", prompt.ToolUndo: "Cut p",
		prompt.ToolDirectives: rule, prompt.ToolChangeDirective: "dismissed",
	} {
		if !strings.Contains(m.answers[tool], want) {
			problems = append(problems, fmt.Errorf("%s (%s) returned no %q: %.800s", tool, m.tools[tool], want,
				m.answers[tool]))
		}
	}
	if !bytes.Contains(out, []byte("All was looked up.")) {
		problems = append(problems, fmt.Errorf("the agent did not end: %s", out[max(0, len(out)-800):]))
	}
	fmt.Printf("%-7s recall as %s, %d steps, %d tools called, %.0f s: %d problems\n", a.name,
		m.tools[prompt.ToolRecall],
		m.step, len(m.answers), time.Since(began).Seconds(), len(problems))
	return errors.Join(problems...)
}

// run runs the agent as a person would, in a home of its own.
func (a *agent) run(upstream string) ([]byte, error) {
	work := filepath.Join(a.dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	file := "The code word of the harbour gate is " + secret + ".\n" +
		strings.Repeat("Nothing else of note is in this file, which is long.\n", 190)
	if err := os.WriteFile(filepath.Join(work, "harbour.txt"), []byte(file), 0o600); err != nil {
		return nil, err
	}
	args := []string{"run", "--data", filepath.Join(a.dir, "data"), "--profile", "thrifty", "--", a.name}
	env := []string{"PATH=" + a.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + a.dir,
		"ORIEL_CONFIG=" + os.DevNull}
	const task = "Read all parts one after another, then say that you are done. " + rule
	switch a.name {
	case "claude":
		allowed := []string{"Bash"}
		for _, tool := range ownTools {
			allowed = append(allowed, "mcp__"+prompt.ToolServer+"__"+tool)
		}
		args = append(args, "-p", task, "--model", "claude-sonnet-4-5", "--allowedTools", strings.Join(allowed, ","),
			"--max-turns", "10000")
		env = append(env, "ANTHROPIC_BASE_URL="+upstream, "ANTHROPIC_API_KEY=sk-none",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	case "codex":
		args = append(args, "exec", "--skip-git-repo-check", task)
		env = append(env, "CODEX_API_KEY=sk-none", "CODEX_HOME="+a.dir)
		config := fmt.Sprintf(
			"model=\"gpt-5\"\napproval_policy=\"never\"\nsandbox_mode=\"danger-full-access\"\nopenai_base_url=%q\n",
			upstream+"/v1")
		if err := os.WriteFile(filepath.Join(a.dir, "config.toml"), []byte(config), 0o600); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("no such agent: claude and codex are known")
	}
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(limit, a.oriel, args...)
	cmd.Dir, cmd.Env = work, env
	return cmd.CombinedOutput()
}
