package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/token"
)

// checkDefault runs agents under oriel run without a profile. They must not
// compact by themselves, and the summary, oriel usage and the model must agree.
// The same run with profile off must make them compact; it may end there. It
// prints a line for each run and returns how many failed.
func checkDefault(names []string, oriel, install string, calls int) (failed int, err error) {
	dir, oriel, err := workspace(oriel)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("%d tool calls a run; a token is four bytes of the body\n", calls)
	const row = "%-7s %-9s %5v %7v %7v %5v %8v %9v %9v %9v %9v  %s\n"
	fmt.Printf(row, "agent", "profile", "calls", "compact", "largest", "cuts", "sent", "summary", "usage", "without",
		"seconds", "verdict")
	for _, name := range names {
		for _, profile := range []string{"", "off"} {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			began := time.Now()
			r := &defaultRun{agent: name, profile: profile, oriel: oriel,
				bin: filepath.Join(install, "node_modules", ".bin"), dir: filepath.Join(dir, name+profile)}
			r.check(calls)
			verdict := "ok"
			if len(r.problems) > 0 {
				failed, verdict = failed+1, "FAILED"
			}
			fmt.Printf(row, name, cmp.Or(profile, "(none)"), r.summary.Calls, r.model.compactions, r.model.largest,
				r.summary.Cuts, share(r.summary.After, r.summary.Before),
				fmt.Sprintf("$%.4f", r.summary.Cost), fmt.Sprintf("$%.4f", r.usage.Cost),
				fmt.Sprintf("$%.4f", r.usage.Without), int(time.Since(began).Seconds()), verdict)
			for _, problem := range r.problems {
				fmt.Printf("        %.600s\n", problem)
			}
		}
	}
	return failed, nil
}

func share(part, whole int) string {
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(max(1, whole)))
}

// defaultRun is one agent under oriel run.
type defaultRun struct {
	agent, profile, oriel, bin, dir string

	model    compacting
	summary  runSummary
	usage    usageSums
	problems []string
}

// runSummary is what is compared of the file of oriel run --summary.
type runSummary struct {
	Profile       string
	Calls, Failed int
	Before        int `json:"tokens_before"`
	After         int `json:"tokens_after"`
	Input         int
	CacheRead     int `json:"cache_read"`
	Output        int
	Unreported    int
	Unread        int
	Unrecorded    int
	Refused       int
	Cuts          int
	Cost          float64
	Without       float64
}

// usageSums adds up the rows of oriel usage --json.
type usageSums struct {
	Calls, Failed, Input int
	CacheRead            int `json:"cache_read"`
	Output               int
	Unreported           int
	Cost, Without        float64
}

func (r *defaultRun) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *defaultRun) check(calls int) {
	r.model.limit = token.Builtin().Lookup(modelNames[r.agent]["known"]).Window
	r.model.script = &script{n: calls, command: func(k int) string {
		return fmt.Sprintf("seq -f 'line %%g of part %d has nothing of note in it' 1 190", k)
	}}
	fake := &fakemodel.Server{Answer: r.model.answer}
	up := httptest.NewServer(overHTTP(fake))
	defer up.Close()
	data, file := filepath.Join(r.dir, "data"), filepath.Join(r.dir, "summary.json")
	out, err := r.run(up.URL, data, file)
	if r.profile == "off" {
		if err := r.read(data, file); err != nil {
			r.problem("%v", err)
		}
		if r.model.compactions == 0 {
			r.problem("the agent did not compact with profile off: the run is too short to prove anything")
		}
		return
	}
	if err != nil {
		r.problem("%v: …%s", err, out[max(0, len(out)-400):])
	}
	if !bytes.Contains(out, fmt.Appendf(nil, "All %d parts were read.", calls)) {
		r.problem("%d tool calls of %d: …%s", r.model.script.step, calls, out[max(0, len(out)-400):])
	}
	for _, p := range fake.Problems() {
		r.problem("%s", p)
	}
	if err := r.read(data, file); err != nil {
		r.problem("%v", err)
		return
	}
	switch {
	case r.summary.Profile != "balanced":
		r.problem("the profile without --profile is %q", r.summary.Profile)
	case r.model.compactions+r.model.refused > 0:
		r.problem("%d requests were too long, and the agent compacted %d times", r.model.refused, r.model.compactions)
	case r.summary.Cuts == 0:
		r.problem("nothing was cut: the run is too short to prove anything")
	}
	r.compare()
}

// compare compares the summary, oriel usage, and what the model itself reported.
func (r *defaultRun) compare() {
	s, u, m := &r.summary, &r.usage, &r.model
	if n := s.Failed + s.Unread + s.Unrecorded + s.Refused + s.Unreported + u.Failed + u.Unreported; n > 0 {
		r.problem("calls without a record, an answer or a usage: %+v, %+v", *s, *u)
	}
	if s.Calls != u.Calls || s.Calls != m.calls {
		r.problem("%d calls in the summary, %d in oriel usage, %d at the model", s.Calls, u.Calls, m.calls)
	}
	if s.Input != u.Input || s.Input != m.input || s.CacheRead != u.CacheRead || s.CacheRead != m.read ||
		s.Output != u.Output || s.Output != m.output {
		r.problem("tokens (prompt, cached, output) are %d, %d, %d in the summary, %d, %d, %d in oriel usage, %d, %d, %d at the model",
			s.Input, s.CacheRead, s.Output, u.Input, u.CacheRead, u.Output, m.input, m.read, m.output)
	}
	if differ := func(a, b float64) bool { return math.Abs(a-b) > 1e-6 }; s.Cost <= 0 || differ(s.Cost, u.Cost) ||
		differ(s.Without, u.Without) {
		r.problem("the cost is $%f of $%f in the summary, $%f of $%f in oriel usage", s.Cost, s.Without, u.Cost,
			u.Without)
	}
}

// read reads the summary and asks oriel usage.
func (r *defaultRun) read(data, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &r.summary); err != nil {
		return fmt.Errorf("the summary: %w", err)
	}
	out, err := exec.CommandContext(ctx, r.oriel, "usage", "--json", "--data", data).Output()
	if err != nil {
		return fmt.Errorf("oriel usage: %w", err)
	}
	for line := range bytes.Lines(out) {
		var u usageSums
		if err := json.Unmarshal(line, &u); err != nil {
			return fmt.Errorf("oriel usage: %w", err)
		}
		t := &r.usage
		*t = usageSums{t.Calls + u.Calls, t.Failed + u.Failed, t.Input + u.Input, t.CacheRead + u.CacheRead,
			t.Output + u.Output, t.Unreported + u.Unreported, t.Cost + u.Cost, t.Without + u.Without}
	}
	return nil
}

// run runs the agent as a person would, in a home of its own.
func (r *defaultRun) run(upstream, data, file string) ([]byte, error) {
	work := filepath.Join(r.dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	args := []string{"run", "--data", data, "--summary", file}
	if r.profile != "" {
		args = append(args, "--profile", r.profile)
	}
	args = append(args, "--", r.agent)
	env := []string{"PATH=" + r.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + r.dir,
		"ORIEL_CONFIG=" + os.DevNull}
	const prompt = "Read all parts one after another, then say that you are done."
	switch r.agent {
	case "claude":
		args = append(args, "-p", prompt, "--model", modelNames["claude"]["known"], "--allowedTools", "Bash",
			"--max-turns", "10000")
		env = append(env, "ANTHROPIC_BASE_URL="+upstream, "ANTHROPIC_API_KEY=sk-none",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	case "codex":
		args = append(args, "exec", "--skip-git-repo-check", prompt)
		env = append(env, "CODEX_API_KEY=sk-none", "CODEX_HOME="+r.dir)
		config := fmt.Sprintf(
			"model=%q\napproval_policy=\"never\"\nsandbox_mode=\"danger-full-access\"\nopenai_base_url=%q\n",
			modelNames["codex"]["known"], upstream+"/v1")
		if err := os.WriteFile(filepath.Join(r.dir, "config.toml"), []byte(config), 0o644); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("no such agent: claude and codex are known")
	}
	limit, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(limit, r.oriel, args...)
	cmd.Dir, cmd.Env = work, env
	return cmd.CombinedOutput()
}

// compacting is a model that knows when an agent asks it for a summary of the
// conversation, refuses what exceeds its limit, and reports usage as a provider
// that caches what the last prompt began with.
type compacting struct {
	script *script
	limit  int // in tokens

	mu                            sync.Mutex // protects the fields below
	last                          []byte
	compactions, refused, largest int
	calls, input, read, output    int
}

// compactionWords are in the last message when an agent asks for a summary of
// the conversation: Claude Code's words, and the item that Codex sends.
var compactionWords = []string{"create a detailed summary of", `"type":"compaction_trigger"`}

// overHTTP refuses WebSockets, which Codex tries first.
func overHTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			w.WriteHeader(http.StatusUpgradeRequired)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (m *compacting) answer(r *fakemodel.Request) fakemodel.Answer {
	now, _ := prompt(r.Data())
	m.mu.Lock()
	defer m.mu.Unlock()
	a := fakemodel.Answer{ID: "summary_" + strconv.Itoa(m.calls), Text: "<summary>Parts were read; read on.</summary>",
		Output: 20}
	if n := len(now) / 4; n > m.limit {
		m.refused++
		return fakemodel.Answer{Status: http.StatusBadRequest,
			Error: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, m.limit)}
	}
	if asksForSummary(r.Data()) {
		m.compactions++
	} else {
		a = m.script.answer(r)
	}
	a.CacheRead = shared(m.last, now) / 4
	if a.Input = len(now)/4 - a.CacheRead; strings.HasSuffix(r.Path, "/messages") { // OpenAI reports no writes
		a.Input, a.CacheWrite = 10, a.Input
	}
	m.last = now
	m.calls++
	m.input += a.Input + a.CacheRead + a.CacheWrite
	m.read += a.CacheRead
	m.output += a.Output
	m.largest = max(m.largest, a.Input+a.CacheRead+a.CacheWrite)
	return a
}

// asksForSummary reports whether the last message of a body asks for a summary
// of the conversation.
func asksForSummary(body []byte) bool {
	var b struct{ Messages, Input []json.RawMessage }
	if json.Unmarshal(body, &b) != nil || len(b.Messages)+len(b.Input) == 0 {
		return false
	}
	all := append(b.Messages, b.Input...)
	for _, words := range compactionWords {
		if bytes.Contains(all[len(all)-1], []byte(words)) {
			return true
		}
	}
	return false
}
