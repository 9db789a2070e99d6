package replay_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/report/replay"
)

// story writes a session of Claude Code as a file has it, with the usage of a provider that
// caches every prompt for five minutes.
type story struct {
	lines   []string
	at      time.Time
	call    int
	prompt  int // tokens of the prompt so far
	written int // tokens of the last prompt
	newest  int // tokens that the last call wrote
	last    time.Time
	parent  string
	model   string
}

func newStory() *story {
	return &story{at: time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC), prompt: 12_000, model: "claude-opus-4-5"}
}

func (s *story) line(v map[string]any) {
	v["timestamp"] = s.at.Format(time.RFC3339)
	v["sessionId"], v["cwd"] = "harbour", "/home/ann/harbour"
	s.parent = fmt.Sprint("u", len(s.lines))
	v["uuid"] = s.parent
	b, _ := json.Marshal(v)
	s.lines = append(s.lines, string(b))
}

func (s *story) user(content any) {
	s.line(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": content}})
}

// reads has the agent read a file of about the given number of tokens.
func (s *story) reads(file string, tokens int) {
	s.call++
	s.at = s.at.Add(20 * time.Second)
	id := fmt.Sprint("toolu_", s.call)
	u := map[string]any{"input_tokens": 5, "output_tokens": 50}
	read := s.written
	if s.at.Sub(s.last) >= 5*time.Minute {
		read = 0
	}
	s.newest = s.prompt - read - 5
	u["cache_read_input_tokens"], u["cache_creation_input_tokens"] = read, s.newest
	s.line(map[string]any{"type": "assistant", "message": map[string]any{"id": fmt.Sprint("msg_", s.call),
		"role": "assistant", "model": s.model, "usage": u, "content": []any{map[string]any{
			"type": "tool_use", "id": id, "name": "Read", "input": map[string]any{"file_path": file}}}}})
	s.last, s.written = s.at, s.prompt
	var text strings.Builder
	for i := 0; text.Len() < tokens*4; i++ {
		fmt.Fprintf(&text, "%s line %d notes tide %d of the harbour\n", file, i, i*i%977+s.call)
	}
	s.prompt += tokens*11/10 + 60
	s.user([]any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": text.String()}})
}

func (s *story) write(t *testing.T, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "harbour.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(append(s.lines, more...), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// long is a session that outgrows thrifty and balanced, with a pause and a file that is read
// again.
func long() *story {
	s := newStory()
	s.user("Chart every berth of the harbour, and keep the depths in mind.")
	for i := range 60 {
		if i == 40 {
			s.at = s.at.Add(2 * time.Hour)
		}
		s.reads(fmt.Sprintf("berths/%d.txt", i%37), 2500)
	}
	return s
}

func run(t *testing.T, path string, o replay.Options) *replay.Report {
	t.Helper()
	r, err := replay.Run(t.Context(), []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAppendIsWhatWasRecorded(t *testing.T) {
	r := run(t, long().write(t), replay.Options{})
	if len(r.Sessions) != 1 || r.Broken != 0 {
		t.Fatalf("%d sessions, %d broken: %v", len(r.Sessions), r.Broken, r.Problems)
	}
	s := r.Sessions[0]
	if s.Calls != 60 || s.Project != "/home/ann/harbour" || s.Models[0].Model != "claude-opus-4-5" {
		t.Errorf("%d calls in %s of %v", s.Calls, s.Project, s.Models)
	}
	if e := s.Calibration.Error(); e > .02 {
		t.Errorf("append is %.1f%% from what was recorded: %+v", 100*e, s.Calibration)
	}
	a := s.Outcomes[0]
	if a.CostRatio != 1 || a.Cuts != 0 || a.IdleCalls != 1 {
		t.Errorf("append: %+v", a)
	}
	if math.Abs(a.Cost-s.Paid.Prompts) > .02*s.Paid.Prompts {
		t.Errorf("append costs %.3f, paid was %.3f", a.Cost, s.Paid.Prompts)
	}
}

// A client may have prompts cached for an hour and later for five minutes.
func TestLifetimesFollowTheRecording(t *testing.T) {
	s := newStory()
	s.user("Chart the harbour.")
	for i := range 20 {
		s.reads(fmt.Sprintf("%d.txt", i), 1000)
		if at := len(s.lines) - 2; i < 10 {
			s.lines[at] = strings.Replace(s.lines[at], `"cache_creation_input_tokens":`+fmt.Sprint(s.newest),
				fmt.Sprintf(`"cache_creation":{"ephemeral_1h_input_tokens":%d},"cache_creation_input_tokens":%d`, s.newest,
					s.newest), 1)
		}
	}
	r := run(t, s.write(t), replay.Options{NoRecall: true})
	if u := r.Paid.Usage; u.CacheWrite == 0 || u.CacheWrite1h == 0 {
		t.Fatalf("recorded %+v", u)
	}
	if a := r.Total[0]; math.Abs(a.Cost-r.Paid.Prompts) > .02*a.Cost {
		t.Errorf("append costs %f, paid was %f", a.Cost, r.Paid.Prompts)
	}
}

func TestSumsAreEqual(t *testing.T) {
	policies := replay.Defaults()
	for _, name := range []string{"slide", "halve", "mask", "fifo"} {
		policies = append(policies, replay.Policy{Name: name, Window: 50_000})
	}
	var mu sync.Mutex
	costs := make([]float64, len(policies)+1)
	r := run(t, long().write(t), replay.Options{Policies: policies, Points: true, Each: func(c *replay.Call) {
		mu.Lock()
		defer mu.Unlock()
		for i, s := range c.Sent {
			costs[i] += s.Cost
		}
	}})
	for i, o := range r.Sessions[0].Outcomes {
		if o.CacheRead+o.CacheWrite+o.Uncached != o.PromptTokens || o.PromptTokens == 0 {
			t.Errorf("%s: %d read, %d written, %d neither of %d", o.Policy, o.CacheRead, o.CacheWrite, o.Uncached,
				o.PromptTokens)
		}
		points := 0.0
		for _, p := range o.Points {
			points += p.Cost
		}
		if math.Abs(costs[i]-o.Cost) > 1e-9 || math.Abs(points-o.Cost) > 1e-9 || len(o.Points) != o.Calls {
			t.Errorf("%s: calls cost %f, points %f, all %f", o.Policy, costs[i], points, o.Cost)
		}
		if o.PairViolations != 0 || o.PrefixStable <= 0 || o.PrefixStable > 1 {
			t.Errorf("%s: %d pair violations, prefix %f", o.Policy, o.PairViolations, o.PrefixStable)
		}
		if total := r.Total[i]; total.Cost != o.Cost || total.CostRatio != o.CostRatio || total.Calls != o.Calls {
			t.Errorf("%s: the total is %+v", o.Policy, total)
		}
	}
}

func TestSmallerWindowsReadLess(t *testing.T) {
	r := run(t, long().write(t), replay.Options{})
	full, balanced, thrifty := r.Total[1], r.Total[2], r.Total[3]
	if !(thrifty.PromptTokens < balanced.PromptTokens && balanced.PromptTokens < full.PromptTokens) {
		t.Errorf("prompts of %d, %d, %d tokens", thrifty.PromptTokens, balanced.PromptTokens, full.PromptTokens)
	}
	if thrifty.Cuts == 0 || thrifty.Longest > 75_000 || thrifty.CostRatio >= 1 {
		t.Errorf("thrifty: %+v", thrifty)
	}
	if thrifty.Idle >= r.Total[0].Idle {
		t.Errorf("the pause has thrifty write %d tokens again, append %d", thrifty.Idle, r.Total[0].Idle)
	}
	if thrifty.Needed == 0 || thrifty.Missing == 0 {
		t.Errorf("needed again %d, missing %d: the files that were read twice", thrifty.Needed, thrifty.Missing)
	}
}

// After an hour's pause the provider's cache is empty: the next call of a long session pays for
// all of it, and under a budget for the little that a cut leaves.
func TestAnHoursPauseCostsLittleUnderABudget(t *testing.T) {
	s := newStory()
	s.model = "claude-opus-4-6"
	s.user("Chart every berth of the harbour, and keep the depths in mind.")
	for i := range 55 {
		s.reads(fmt.Sprintf("berths/%d.txt", i), 10_000)
	}
	s.at = s.at.Add(time.Hour)
	s.reads("berths/last.txt", 2500)
	var woke *replay.Call
	report := run(t, s.write(t), replay.Options{Each: func(c *replay.Call) {
		if c.Gap >= time.Hour {
			woke = c
		}
	}})
	if woke == nil {
		t.Fatal("no call follows the pause")
	}
	whole := woke.Sent[0]
	if n := whole.Prompt.Tokens(); n < 600_000 {
		t.Fatalf("the session has %d tokens", n)
	}
	for i, o := range report.Total {
		share := woke.Sent[i].Cost / whole.Cost
		t.Logf("%s: %.1f%%, %d tokens", o.Policy, 100*share, woke.Sent[i].Prompt.Tokens())
		if (o.Policy == "balanced" || o.Policy == "thrifty") && share > .2 {
			t.Errorf("%s pays %.0f%% of what all of it costs", o.Policy, 100*share)
		}
	}
}

func TestTwoReplaysAreEqual(t *testing.T) {
	path := long().write(t)
	first, second := run(t, path, replay.Options{Workers: 1}), run(t, path, replay.Options{})
	for i, o := range first.Total {
		a, _ := json.Marshal(o)
		b, _ := json.Marshal(second.Total[i])
		if string(a) != string(b) {
			t.Errorf("%s and then %s", a, b)
		}
	}
}

func TestBrokenLinesAreSkipped(t *testing.T) {
	s := long()
	whole := run(t, s.write(t), replay.Options{NoRecall: true})
	var lines []string
	for i, l := range s.lines {
		if lines = append(lines, l); i%7 == 3 {
			lines = append(lines, l[:len(l)/2], "[]", `{"type":"assistant","message":{"content":{}}}`, "\x00")
		}
	}
	s.lines = lines
	r := run(t, s.write(t), replay.Options{NoRecall: true})
	if r.Broken == 0 || len(r.Problems) != 20 {
		t.Errorf("%d broken, %d listed", r.Broken, len(r.Problems))
	}
	for i, o := range whole.Total {
		if got := r.Total[i]; got.Calls != o.Calls || math.Abs(got.Cost-o.Cost) > 1e-9 {
			t.Errorf("%s: %d calls for %f, without broken lines %d for %f", o.Policy, got.Calls, got.Cost, o.Calls,
				o.Cost)
		}
	}
}

func TestUnknownPoliciesAreNamed(t *testing.T) {
	_, err := replay.Run(t.Context(), []string{"."}, replay.Options{Policies: []replay.Policy{{Name: "blanced"}}})
	if err == nil || !strings.Contains(err.Error(), "balanced") {
		t.Errorf("%v", err)
	}
}

// A file of many histories takes no more memory than one of few: it is not held whole.
func TestMemoryIsThatOfOneHistory(t *testing.T) {
	held := func(histories int) (most uint64) {
		s := newStory()
		for h := range histories {
			if h > 0 {
				s.line(map[string]any{"type": "system", "subtype": "compact_boundary"})
				s.prompt, s.written = 12_000, 0
			}
			s.user(fmt.Sprint("Chart the harbour, part ", h))
			for i := range 6 {
				s.reads(fmt.Sprintf("part%d/%d.txt", h, i), 16000)
			}
		}
		path := s.write(t)
		s.lines = nil
		calls := 0
		run(t, path, replay.Options{NoRecall: true, Workers: 1, Drop: true, Each: func(*replay.Call) {
			if calls++; calls%6 != 5 {
				return
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}})
		return most
	}
	few, many := held(2), held(30)
	if many > few+6<<20 {
		t.Errorf("%d bytes with 2 histories, %d with 30", few, many)
	}
}
