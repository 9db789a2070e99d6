package agents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// run is one agent with one model behind one profile.
type run struct {
	agent   string
	limit   int    // of the model, in tokens; 0 means none
	profile string // NAME or NAME@PERCENT
	model   string // a key of modelNames
	// replicas, if not 0, is the number of servers behind a balancer, on one database.
	replicas int
}

// modelNames are the models that agents ask for, by what the table has of
// them: the right window, one far larger than any limit here, nothing.
var modelNames = map[string]map[string]string{
	"claude": {"known": "claude-sonnet-4-5", "wide": "claude-opus-4-6", "unknown": "house-model-7"},
	"codex":  {"known": "gpt-5", "wide": "gpt-5.4", "unknown": "house-model-7"},
}

// choose returns the runs: all combinations of what is asked for, or the most
// informative ones.
func choose(agents []string, limits, profiles, models string) ([]run, error) {
	var runs []run
	for _, a := range agents {
		if modelNames[a] == nil {
			return nil, fmt.Errorf("agent %q: claude and codex are known", a)
		}
		if limits+profiles+models == "" {
			below := map[string]string{"claude": "full@24", "codex": "full@12"}[a] // 48,000 tokens
			runs = append(runs,
				run{a, 64_000, below, "known", 0}, run{a, 64_000, "thrifty", "known", 0},
				run{a, 64_000, "full", "wide", 0}, run{a, 64_000, "full", "unknown", 0},
				run{a, 100_000, "thrifty", "known", 0}, run{a, 100_000, "full", "wide", 0},
				run{a, 200_000, "balanced", "known", 0}, run{a, 200_000, "full", "wide", 0},
				run{a, 0, "thrifty", "known", 0}, run{a, 0, "balanced", "wide", 0})
			continue
		}
		for _, l := range list(limits, "64000,100000,200000,0") {
			n, err := strconv.Atoi(l)
			if err != nil {
				return nil, fmt.Errorf("-limits: %q is not a number of tokens", l)
			}
			for _, p := range list(profiles, "thrifty,balanced,full") {
				for _, m := range list(models, "known") {
					if modelNames[a][m] == "" {
						return nil, fmt.Errorf("-models: %q: use known, wide, unknown", m)
					}
					runs = append(runs, run{a, n, p, m, 0})
				}
			}
		}
	}
	return runs, nil
}

func list(given, all string) []string {
	if given == "" {
		given = all
	}
	return strings.Split(given, ",")
}

// checkViews runs all runs, prints a line for each and returns how many
// failed.
func checkViews(runs []run, oriel, install string, calls int) (failed int, err error) {
	dir, oriel, err := workspace(oriel)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	f, err := newFolder(filepath.Join(dir, "work"), calls)
	if err != nil {
		return 0, err
	}
	fmt.Printf("%d tool calls a run, %d tokens a result on average; a token is four bytes of the body\n", calls,
		f.mean())
	const row = "%-7s %7s  %-9s %-18s %5v %8v %5v %8v %9v %8v  %s\n"
	fmt.Printf(row, "agent", "limit", "profile", "model", "calls", "refused", "cuts", "largest", "prefix", "seconds",
		"verdict")
	for i, r := range runs {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		began := time.Now()
		p, done, cuts, problems := r.check(oriel, install, filepath.Join(dir, strconv.Itoa(i)), f)
		limit, verdict := "none", "ok"
		if r.limit > 0 {
			limit = strconv.Itoa(r.limit)
		}
		if len(problems) > 0 {
			failed, verdict = failed+1, "FAILED"
		}
		fmt.Printf(row, r.agent, limit, r.profile, modelNames[r.agent][r.model], done, len(p.refused), cuts, p.largest,
			fmt.Sprintf("%.3f%%", 100*p.least), int(time.Since(began).Seconds()), verdict)
		for _, problem := range problems[:min(len(problems), 10)] {
			fmt.Printf("        %.600s\n", problem)
		}
	}
	return failed, nil
}

// check makes one run; done counts its tool calls.
func (r *run) check(oriel, install, dir string, f *folder) (p *provider, done, cuts int, problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	s := &script{n: len(f.commands), command: func(k int) string { return f.commands[k-1] }}
	fake := &fakemodel.Server{Answer: s.answer}
	p = &provider{limit: r.limit, next: fake, least: 1}
	upstream := httptest.NewServer(p)
	defer upstream.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		problem("%v", err)
		return p, 0, 0, problems
	}
	start := r.serveOne
	if r.replicas > 0 {
		start = r.serveReplicas
	}
	served, err := start(oriel, upstream.URL, dir)
	if err != nil {
		problem("%v", err)
		return p, 0, 0, problems
	}
	defer served.end()
	front := httptest.NewServer(p.front(served.handler))
	defer front.Close()

	out, err := agent(r.agent, modelNames[r.agent][r.model], install, dir, f.dir, front.URL)
	if err != nil {
		problem("the agent: %v: …%s", err, out[max(0, len(out)-400):])
	}
	if log, err := served.stop(); err != nil {
		problem("oriel serve: %v: …%s", err, log[max(0, len(log)-400):])
	}
	if done = s.step; done != s.n || !bytes.Contains(out, fmt.Appendf(nil, "All %d parts were read.", s.n)) {
		problem("%d tool calls of %d", done, s.n)
	}
	problems = append(append(problems, p.problems...), fake.Problems()...)
	for _, path := range served.events {
		n, bad := readEvents(path)
		cuts, problems = cuts+n, append(problems, bad...)
	}
	if p.breaks > cuts {
		problem("%d prompts begin otherwise than the one before, with %d cuts", p.breaks, cuts)
	}
	budget := r.budget()
	switch {
	case len(p.refused) > 1:
		problem("bodies of %v tokens were refused: a limit was not learnt", p.refused)
	case len(p.refused) > 0 && budget > 0 && budget < r.limit*9/10:
		problem("bodies of %v tokens were refused, with a budget of %d", p.refused, budget)
	}
	if budget > 0 && p.largest > budget*21/20 {
		problem("a body has %d tokens, with a budget of %d", p.largest, budget)
	}
	return p, done, cuts, append(problems, checkStored(oriel, f, served.store...)...)
}

// budget returns the most tokens that the settings allow, or 0 if only the
// table's window limits them.
func (r *run) budget() int {
	name, percent, limited := strings.Cut(r.profile, "@")
	if limited {
		n, _ := strconv.ParseFloat(percent, 64)
		return int(n / 100 * float64(token.Builtin().Lookup(modelNames[r.agent][r.model]).Window))
	}
	profile, _ := window.LookupProfile(name)
	return profile.Budget
}

// serveOne starts one server.
func (r *run) serveOne(oriel, upstream, dir string) (*served, error) {
	data, events := filepath.Join(dir, "data"), filepath.Join(dir, "events")
	base, stop, err := r.serve(oriel, upstream, data, events)
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(base)
	proxy.FlushInterval = -1
	return &served{handler: proxy, stop: stop, store: []string{"--data", data}, events: []string{events},
		end: func() {}}, nil
}

// serve starts the program.
func (r *run) serve(oriel, upstream, data,
	events string) (base *url.URL, stop func() (log []byte, err error), err error) {
	name, percent, limited := strings.Cut(r.profile, "@")
	cmd := exec.CommandContext(ctx, oriel, "serve", "--listen", "127.0.0.1:0", "--profile", name, "--data", data,
		"--events", events,
		"--upstream-openai", upstream+"/v1", "--upstream-anthropic", upstream)
	if limited {
		cmd.Args = append(cmd.Args, "--threshold", percent)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() ([]byte, error) {
		cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		err := cmd.Wait()
		return log.Bytes(), err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "oriel listens at "); ok {
			base, err = url.Parse("http://" + address)
			return base, stop, err
		}
	}
	text, err := stop()
	return nil, nil, fmt.Errorf("oriel serve does not listen: %v: %s", err, text)
}

// readEvents counts the cuts and returns what failed.
func readEvents(path string) (cuts int, problems []string) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, []string{err.Error()}
	}
	for line := range bytes.Lines(raw) {
		var e struct{ Kind, Error string }
		switch err := json.Unmarshal(line, &e); {
		case err != nil:
			problems = append(problems, err.Error())
		case e.Kind == oriel.EventCut:
			cuts++
		case !slices.Contains([]string{"call", oriel.EventRecall, oriel.EventOverflow}, e.Kind):
			problems = append(problems, e.Kind+": "+e.Error)
		}
	}
	return cuts, problems
}
