// Package run runs real agent programs, Claude Code and Codex, under oriel run
// as a person would, against a scripted model. It proves that their output and
// exit code are the same as without it, and that the summary has every call.
//
//	./scripts/check run [-calls 40] [-install DIR] [claude codex]
//
// The agents are installed from npm by name, once, into the folder that
// -install names. They run in an empty home with an invalid key.
package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/tools/check/kit"
)

// Check runs the agents that the arguments name, or both.
func Check(args []string) error {
	flags := kit.Flags("run")
	calls := flags.Int("calls", 40, "tool calls of each agent")
	install := flags.String("install", kit.AgentsFolder(), "folder for the agents from npm")
	names := kit.Agents(kit.Parse(flags, args))
	if err := kit.InstallAgents(*install); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "check-run")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	oriel, err := kit.BuildOriel(dir)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range names {
		a := &agent{name: name, bin: filepath.Join(*install, "node_modules", ".bin"), oriel: oriel, calls: *calls}
		for _, profile := range []string{"full", "thrifty"} {
			if err := a.compare(filepath.Join(dir, name+"-"+profile), profile); err != nil {
				problems = append(problems, fmt.Errorf("%s, %s: %w", name, profile, err))
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %w", kit.ErrFailed, errors.Join(problems...))
	}
	return nil
}

// agent is a program that runs once alone and once under oriel run.
type agent struct {
	name, bin, oriel string
	calls            int
}

// result is what can be observed of a run.
type result struct {
	out, errors string
	code, calls int
	took        time.Duration
}

func (a *agent) compare(dir, profile string) error {
	alone, err := a.run(filepath.Join(dir, "alone"), nil)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "summary.json")
	under, err := a.run(filepath.Join(dir, "under"), []string{a.oriel, "run", "--profile", profile, "--data",
		filepath.Join(dir, "data"), "--summary", file, "--"})
	if err != nil {
		return err
	}
	before, summary, _ := strings.Cut(under.errors, "oriel: ")
	fmt.Printf("%s, %s: alone %.1f s\noriel: %s", a.name, profile, alone.took.Seconds(), summary)
	if strings.Contains(before, "oriel") {
		return fmt.Errorf("something was printed before the end: %s", before)
	}
	if under.out != alone.out || under.code != alone.code || under.calls != alone.calls {
		return fmt.Errorf("%d, %d calls, %q; alone %d, %d calls, %q", under.code, under.calls, under.out, alone.code,
			alone.calls, alone.out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var got struct {
		Calls, Failed, Unread, Refused, Unrecorded, Unreported, Cuts int
		Cost                                                         float64
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return err
	}
	if got.Calls != under.calls || got.Failed+got.Unread+got.Refused+got.Unrecorded+got.Unreported > 0 ||
		got.Cost <= 0 || profile == "full" && got.Cuts > 0 {
		return fmt.Errorf("%d calls were made; the summary: %s", under.calls, data)
	}
	return nil
}

// run runs the agent behind a prefix, in a home of its own.
func (a *agent) run(home string, prefix []string) (*result, error) {
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	s := &script{n: a.calls}
	model := &fakemodel.Server{Answer: s.answer}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" { // Codex tries a WebSocket first
			w.WriteHeader(http.StatusUpgradeRequired)
			return
		}
		model.ServeHTTP(w, r)
	}))
	defer up.Close()
	const prompt = "Read all parts one after another, then say that you are done."
	env := []string{"PATH=" + a.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home,
		"ORIEL_CONFIG=" + os.DevNull}
	args := slices.Clone(prefix)
	switch a.name {
	case "claude":
		args = append(args, "claude", "-p", prompt, "--allowedTools", "Bash", "--max-turns", "10000")
		env = append(env, "ANTHROPIC_BASE_URL="+up.URL, "ANTHROPIC_API_KEY=sk-none",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	case "codex":
		args = append(args, "codex", "exec", "--skip-git-repo-check", prompt)
		env = append(env, "CODEX_API_KEY=sk-none", "CODEX_HOME="+home)
		config := fmt.Sprintf(
			"model=\"gpt-5\"\napproval_policy=\"never\"\nsandbox_mode=\"danger-full-access\"\nopenai_base_url=%q\n",
			up.URL+"/v1")
		if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o644); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("no such agent: claude and codex are known")
	}
	path := args[0]
	if prefix == nil {
		path = filepath.Join(a.bin, args[0])
	}
	var out, errs bytes.Buffer
	began := time.Now()
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = work, env, &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return nil, err
	}
	if p := model.Problems(); len(p) > 0 {
		return nil, fmt.Errorf("the agent's requests break rules: %v", p)
	}
	return &result{out.String(), errs.String(), cmd.ProcessState.ExitCode(), s.calls, time.Since(began)}, nil
}

// script is a model that asks for n commands and then ends.
type script struct {
	mu             sync.Mutex // protects what follows
	n, step, calls int
}

func (s *script) answer(r *fakemodel.Request) fakemodel.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	a := fakemodel.Answer{ID: fmt.Sprintf("reply_%d", s.calls), CacheRead: len(r.Data()) / 4, Input: 10, Output: 20}
	tool := slices.IndexFunc([]string{"Bash", "exec_command"}, func(name string) bool {
		for _, t := range r.Tools {
			if t.Name == name {
				return true
			}
		}
		return false
	})
	if tool < 0 || s.step == s.n {
		a.Text = fmt.Sprintf("All %d parts were read.", s.step)
		return a
	}
	s.step++
	command := fmt.Sprintf("seq -f 'line %%g of part %d' 1 400", s.step)
	arguments, _ := json.Marshal(map[string]string{"command": command, "description": "Print a part"})
	name := "Bash"
	if tool == 1 {
		arguments, _ = json.Marshal(map[string]string{"cmd": command})
		name = "exec_command"
	}
	a.Calls = []fakemodel.Call{{ID: fmt.Sprintf("toolu_%06d", s.step), Name: name, Arguments: string(arguments)}}
	return a
}
