package replay_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/report/replay"
)

// folder writes sessions of some calls each.
func folder(t *testing.T, sessions, calls, tokens int) string {
	t.Helper()
	dir := t.TempDir()
	for n := range sessions {
		s := newStory()
		s.user(fmt.Sprint("Chart basin ", n))
		for i := range calls {
			s.reads(fmt.Sprintf("basin%d/%d.txt", n, i), tokens)
		}
		text := strings.ReplaceAll(strings.Join(s.lines, "\n"), `"sessionId":"harbour"`,
			fmt.Sprintf(`"sessionId":"harbour-%d"`, n))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n, ".jsonl")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAProfileIsJudgedOnSessionsThatItWasNotChosenOn(t *testing.T) {
	tuning, err := replay.Tune(t.Context(), []string{folder(t, 4, 30, 4000)}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tuning.Off || tuning.Budget == 0 || tuning.Low <= 0 || tuning.Low >= 1 || tuning.Reason == "" {
		t.Fatalf("%+v", tuning)
	}
	if tuning.Learnt != 2 || tuning.Judged != 2 || len(tuning.Judge) != 4 || !tuning.Priced {
		t.Errorf("%d and %d sessions, %d outcomes", tuning.Learnt, tuning.Judged, len(tuning.Judge))
	}
	calls := 0
	for _, o := range tuning.Judge {
		if o.Calls != 60 {
			t.Errorf("%s: judged on %d calls", o.Policy, o.Calls)
		}
		calls = o.Calls
	}
	if tuning.Choice[0].Calls != calls {
		t.Errorf("chosen on %d calls", tuning.Choice[0].Calls)
	}
	whole, mine := tuning.Judge[0], tuning.Judge[3]
	if mine.Cost >= whole.Cost || mine.CostRatio >= 1 {
		t.Errorf("the profile costs %f of %f", mine.Cost, whole.Cost)
	}
	// No other budget is better where it was chosen.
	best := tuning.Choice[0].Net()
	for _, o := range tuning.Choice[3:9] {
		if o.Window == tuning.Budget {
			best = o.Net()
		}
	}
	for _, o := range tuning.Choice[3:9] {
		if o.Net() < best {
			t.Errorf("a budget of %d costs %f, that of %d %f", o.Window, o.Net(), tuning.Budget, best)
		}
	}
}

func TestShortSessionsNeedNoProfile(t *testing.T) {
	tuning, err := replay.Tune(t.Context(), []string{folder(t, 2, 5, 500)}, replay.Options{NoRecall: true})
	if err != nil {
		t.Fatal(err)
	}
	if !tuning.Off || !strings.Contains(tuning.Reason, "No profile would have cut anything") {
		t.Errorf("%+v", tuning)
	}
}

func TestOneSessionCannotBeDivided(t *testing.T) {
	_, err := replay.Tune(t.Context(), []string{folder(t, 1, 5, 500)}, replay.Options{NoRecall: true})
	if !errors.Is(err, replay.ErrFew) {
		t.Error(err)
	}
}

func TestAdviceWeighsWhatWasNeededAgain(t *testing.T) {
	outcome := func(policy string, cost float64, missing, needed int) *replay.Outcome {
		return &replay.Outcome{Policy: policy, Cost: cost, Calls: 100, PromptTokens: int(cost * 1000),
			Detail: replay.Detail{Missing: missing, Needed: needed, Longest: 90_000}}
	}
	money := func(x float64) string { return fmt.Sprintf("$%.0f", x) }
	whole := outcome(replay.Append, 100, 0, 50)
	for _, c := range []struct {
		name     string
		outcomes []*replay.Outcome
		policy   string
		reason   string
	}{
		{"the cheapest", []*replay.Outcome{whole, outcome("balanced", 80, 2, 50), outcome("thrifty", 60, 5, 50)}, "thrifty",
			"cost $40 less (40%). 5 of 50 things"},
		{"the cheapest lacks too much", []*replay.Outcome{whole, outcome("balanced", 80, 2, 50),
			outcome("thrifty", 60, 20, 50)}, "balanced", "thrifty costs less, but lacks 20 of them"},
		{"gaps cost more than it saves", []*replay.Outcome{whole, outcome("balanced", 95, 7, 50)}, replay.Append,
			"fetching them again costs as much"},
		{"all lack too much", []*replay.Outcome{whole, outcome("thrifty", 60, 20, 50)}, replay.Append,
			"20 of 50 things that replies needed again had left the window: too many"},
		{"nothing to cut", []*replay.Outcome{whole, outcome("balanced", 100, 0, 50)}, replay.Append,
			"the largest prompt had 90,000 tokens"},
		{"no calls", []*replay.Outcome{{Policy: replay.Append}, {Policy: "balanced"}}, replay.Append, "no calls"},
	} {
		a := replay.Advise(c.outcomes, money)
		if a.Policy != c.policy || !strings.Contains(a.Reason, c.reason) {
			t.Errorf("%s: %s: %s", c.name, a.Policy, a.Reason)
		}
	}
}
