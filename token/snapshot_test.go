package token

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// newer is a snapshot of which the built-in table knows everything but what its models say.
func newer(models ...Figures) Snapshot {
	return Snapshot{Source: "a newer file", Date: "2027-01-02", Models: models}
}

func TestEveryFigureOfTheSnapshotIsInTheTable(t *testing.T) {
	s := BuiltinSnapshot()
	if len(s.Models) < 300 || s.Source == "" || s.Also == "" {
		t.Fatalf("%d models of %q and %q", len(s.Models), s.Source, s.Also)
	}
	for _, f := range s.Models {
		m := Builtin().Lookup(f.ID)
		switch {
		case !m.Known:
			t.Errorf("%s is not known", f.ID)
		case m.Figures == "":
			// An entry kept by hand states its own; tools/modelgen lists where they differ.
		case m.ID == f.ID && f.Window != m.Window:
			t.Errorf("%s: window %d, the snapshot has %d", f.ID, m.Window, f.Window)
		case m.ID == f.ID && f.Prices.Known() && f.Prices.Input != m.Prices.Input:
			t.Errorf("%s: input %v, the snapshot has %v", f.ID, m.Prices.Input, f.Prices.Input)
		}
	}
}

// The prices that stood wrong, or were missing, before the table had a snapshot.
func TestFiguresOfNovember2026(t *testing.T) {
	for name, want := range map[string]Rates{
		"claude-fable-5-2":  {8, 40, 0.2, 10, 16},
		"claude-mythos-5-2": {8, 40, 0.2, 10, 16},
		"claude-sonnet-5-5": {2, 10, 0.1, 2.5, 4},
		"gpt-5.6-terra":     {2, 12, 0.2, 2.5, 5},
		"gpt-6.1-terra":     {1, 5, 0.05, 1.25, 2.5},
		"gemini-4-argon":    {2, 10, 0.1, 0, 0},
		"grok-4.7":          {2, 6, 0.5, 0, 0},
		"kimi-k3.1-pro":     {2, 10, 0.2, 2, 4},
		"glm-5.3":           {1.4, 4.4, 0.26, 0, 0},
		"MiniMax-M3":        {0.3, 1.2, 0.06, 0, 0},
		"qwen3.8-max":       {2, 6, 0.25, 0, 0},
		"deepseek-flash":    {0.3, 1.2, 0.006, 0, 0},
		"mistral-large-4":   {0.7, 2.1, 0.07, 0, 0},
	} {
		if m := Builtin().Lookup(name); !m.Known || m.Prices.Rates != want {
			t.Errorf("%s: known %v, %+v, want %+v", name, m.Known, m.Prices.Rates, want)
		}
	}
	if m := Builtin().Lookup("claude-fable-5-2"); !m.Binds || m.Window != 1_000_000 || m.MaxOutput != 128_000 ||
		m.Structure != "claude-4.7" {
		t.Errorf("%+v", m)
	}
	if m := Builtin().Lookup("claude-haiku-5-5"); m.Prices.For(100_001).Input != 0.5 {
		t.Errorf("prompts of more than 100,000 tokens: %+v", m.Prices)
	}
	if m := Builtin().Lookup("gpt-6.1-terra"); m.MaxInput != 922_000 || m.Window != 1_050_000 ||
		!reflect.DeepEqual(m.Cache.TTL, []int{1800, 43200}) {
		t.Errorf("%+v", m)
	}
}

func TestANewerSnapshotReplacesWhatHasChanged(t *testing.T) {
	old := Builtin()
	ms, err := old.Update(newer(
		Figures{ID: "gpt-6.1-sol", Provider: "openai", Window: 1_050_000, MaxInput: 922_000, MaxOutput: 128_000,
			Prices: Prices{Rates: Rates{Input: 1.5, Output: 9}}},
		Figures{ID: "grok-9", Provider: "xai", Window: 2_000_000, MaxOutput: 9_000,
			Prices: Prices{Rates: Rates{Input: 7, Output: 8}}},
		Figures{ID: "zilog-1", Provider: "zilog", Window: 4096},
		Figures{ID: "claude-mythos-5-2", Provider: "anthropic", Window: 5},
		Figures{ID: "no-window", Provider: "xai", Prices: Prices{Rates: Rates{Input: 7}}}))
	if err != nil {
		t.Fatal(err)
	}
	sol := ms.Lookup("gpt-6.1-sol")
	if sol.Prices.Input != 1.5 || sol.Prices.CacheRead != 0 || sol.Prices.Tiers != nil ||
		sol.Figures != "a newer file" ||
		sol.Date != "2027-01-02" || sol.Structure != "openai" {
		t.Errorf("%+v", sol)
	}
	grok := ms.Lookup("grok-9")
	if !grok.Known || grok.Window != 2_000_000 || grok.Prices.Output != 8 || grok.Cache.Mode != "automatic" ||
		grok.Multiplier != 1.15 {
		t.Errorf("%+v", grok)
	}
	if z := ms.Lookup("zilog-1"); !z.Known || z.Window != 4096 || z.Multiplier != 1.3 {
		t.Errorf("%+v", z)
	}
	if m := ms.Lookup("claude-mythos-5-2"); m.ID != "claude-fable-5-2" || m.Window != 1_000_000 {
		t.Errorf("another name of a model: %+v", m)
	}
	if ms.Lookup("no-window").Known {
		t.Error("a model without a window is in the table")
	}
	if old.Lookup("grok-9").Known || old.Lookup("gpt-6.1-sol").Prices.Input != 2 {
		t.Error("the table that was updated has changed")
	}
	if s := ms.Snapshot(); s.Source != "a newer file" || s.Age(time.Date(2027, 1, 12, 5, 0, 0, 0, time.UTC)) != 10 {
		t.Errorf("%+v", s)
	}
}

// An entry kept by hand may differ from the snapshot. The same snapshot again changes none.
func TestTheSameSnapshotChangesNothing(t *testing.T) {
	ms, err := Builtin().Update(BuiltinSnapshot())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := Builtin().All(), ms.All(); !reflect.DeepEqual(a, b) {
		for i := range a {
			if !reflect.DeepEqual(a[i], b[i]) {
				t.Errorf("%s was %+v, is %+v", a[i].ID, a[i], b[i])
			}
		}
	}
	// The hand's figure stays until the snapshot's changes.
	f := BuiltinSnapshot().Models
	for i := range f {
		if f[i].ID == "claude-sonnet-4-5" {
			changed := f[i]
			changed.Prices = Prices{Rates: Rates{Input: 1, Output: 2}}
			if ms, err = Builtin().Update(newer(changed)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if m := ms.Lookup("claude-sonnet-4-5"); m.Prices.Input != 1 || m.Prices.Tiers != nil || m.Window != 200_000 {
		t.Errorf("%+v", m)
	}
}

func TestASnapshotIsReadAsItWasWritten(t *testing.T) {
	data, err := BuiltinSnapshot().Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadSnapshot(data)
	if err != nil || !reflect.DeepEqual(again, BuiltinSnapshot()) {
		t.Errorf("%v", err)
	}
	if string(data) != string(snapshotJSON) {
		t.Error("the file is not as modelgen writes it")
	}
}

func TestReadSnapshotNamesModelAndField(t *testing.T) {
	for _, c := range []struct{ in, model, field, says string }{
		{`{"source":"x","date":"soon","models":[]}`, "", "date", "YYYY-MM-DD"},
		{`{"source":"x","date":"2026-01-02","models":[{"window":1}]}`, "#1", "id", "non-empty"},
		{`{"source":"x","date":"2026-01-02","models":[{"id":"a","window":-1}]}`, "a", "window", "negative"},
		{`{"source":"x","date":"2026-01-02","models":[{"id":"a","prices":{"input":-1}}]}`, "a", "prices.input",
			"negative"},
		{`{"source":"x","date":"2026-01-02","models":[{"id":"a","window":1,"max_input":2}]}`, "a", "max_input",
			"more than"},
		{`{"source":"x","date":"2026-01-02","models":[{"id":"a"},{"id":"a"}]}`, "a", "id", "twice"},
		{`{"source":"x","date":"2026-01-02","modles":[]}`, "", "modles", "no such field"},
		{`[`, "", "", "ends too early"},
	} {
		_, err := ReadSnapshot([]byte(c.in))
		var me *ModelError
		if !errors.As(err, &me) || me.Model != c.model || me.Field != c.field ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.in, err)
		}
	}
}

// Prices change every week. The table must not keep a build from passing, so this only warns;
// scripts/test prints the warning, too.
func TestAnOldTableIsNamed(t *testing.T) {
	s := BuiltinSnapshot()
	if n := s.Age(time.Now()); n > MaxAge {
		t.Logf("warning: %s of %s is %d days old: run tools/modelgen", s.Source, s.Date, n)
	}
	day := time.Date(2026, 11, 12, 0, 0, 0, 0, time.UTC)
	for date, want := range map[string]int{"2026-11-12": 0, "2026-09-28": 45, "2026-11-13": 0, "": 0} {
		if n := (Snapshot{Date: date}).Age(day.Add(3 * time.Hour)); n != want {
			t.Errorf("%q is %d days old, want %d", date, n, want)
		}
	}
}

// testdata/programs.txt has the ids that programs offer or use by default.
func TestTheTableKnowsWhatProgramsUse(t *testing.T) {
	data, err := os.ReadFile("testdata/programs.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, known := 0, 0
	for line := range strings.Lines(string(data)) {
		program, id, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		all++
		if m := Builtin().Lookup(id); m.Known {
			known++
		} else {
			t.Logf("%s: %s is not known", program, id)
		}
	}
	if share := 100 * float64(known) / float64(all); all < 700 || share < 95 {
		t.Errorf("%d of %d ids are known, %.1f%%: want 95%% of at least 700", known, all, share)
	}
}

func TestLookupTakesTheSpellingsOfClouds(t *testing.T) {
	for name, want := range map[string]string{
		"openrouter/x-ai/grok-4.7":                            "grok-4.7",
		"global.xai.grok-4.7":                                 "grok-4.7",
		"us.moonshotai.kimi-k3":                               "kimi-k3",
		"zai.glm-5.3":                                         "glm-5.3",
		"minimax.minimax-m2.5":                                "minimax-m2.5",
		"accounts/fireworks/models/glm-5p3-flash":             "glm-5.3-flash",
		"bedrock/eu.anthropic.claude-fable-5-2-20261109-v1:0": "claude-fable-5-2",
		"vertex_ai/claude-opus-5-5@default":                   "claude-opus-5-5",
		"amazon.nova-pro-v1:0":                                "nova-pro-v1",
		"azure/gpt-6.1-terra":                                 "gpt-6.1-terra",
		"anthropic/claude-sonnet-latest":                      "claude-sonnet-5-5",
		"zai-org/GLM-5.2":                                     "glm-5.2",
	} {
		if m := Builtin().Lookup(name); m.ID != want || !m.Known {
			t.Errorf("Lookup(%q) = %q, known %v; want %q", name, m.ID, m.Known, want)
		}
	}
}
