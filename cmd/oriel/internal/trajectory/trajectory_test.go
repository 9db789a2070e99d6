package trajectory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/test/script"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// countFields takes every word for a token.
func countFields(s string) int { return len(strings.Fields(s)) }

func readTrajectory(t testing.TB, data string) *wire.Trajectory {
	t.Helper()
	tr, err := wire.ReadTrajectory([]byte(data), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func members(t testing.TB, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return m
}

func defaults(t testing.TB) Options {
	t.Helper()
	o, err := Preset("")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// SPEC C1
func TestTrajectoryPresets(t *testing.T) {
	for name, want := range map[string][3]int{
		"": {10, 500, 1}, "demo": {5, 200, 1}, "reasoning": {15, 500, 2}, "debug": {100, 1000, 5},
		"minimal": {3, 100, 0},
	} {
		o, err := Preset(name)
		if got := [3]int{o.MaxInteractions, o.ResultLimit, o.PreserveFirst}; err != nil || got != want ||
			o.KeepResults {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if _, err := Preset("other"); err == nil || !strings.Contains(err.Error(), "demo, reasoning, debug, minimal") {
		t.Errorf("unknown preset: %v", err)
	}
}

// SPEC C1: the zero value has the defaults, and a negative number preserves none.
func TestTrajectoryOptionsHaveDefaults(t *testing.T) {
	tr := readTrajectory(t, made(wire.Flat, slices.Repeat([]int{600}, 15), ""))
	zero, _, _ := Fit(tr, Options{})
	if want, _, _ := Fit(tr, defaults(t)); string(zero) != string(want) || !strings.Contains(string(zero), `"t0"`) {
		t.Errorf("%s, want %s", zero, want)
	}
	for _, o := range []Options{{PreserveFirst: -1}, {MaxInteractions: 10}, {MaxInteractions: 10, PreserveFirst: -1}} {
		if out, _, _ := Fit(tr, o); strings.Contains(string(out), `"t0"`) {
			t.Errorf("%+v: %s", o, out)
		}
	}
}

// SPEC C2: calls and results are never separated; the first and the newest stay,
// under new numbers.
func TestTrajectoryKeepsPairs(t *testing.T) {
	tr := readTrajectory(t, `{"question": "test",
		"thought_1": "thinking", "tool_1": "weather", "tool_result_1": "sunny",
		"thought_2": "more thinking", "tool_2": "forecast", "tool_result_2": "rainy",
		"thought_3": "final thought", "tool_3": "history", "tool_result_3": "data"}`)
	out, report, _ := Fit(tr, Options{MaxInteractions: 2, PreserveFirst: 1})
	want := map[string]any{
		"question":  "test",
		"thought_1": "thinking", "tool_1": "weather", "tool_result_1": "sunny",
		"thought_2": "final thought", "tool_2": "history", "tool_result_2": "data",
		"context_note": "[Note: 1 earlier tool interaction was removed to manage context size]",
	}
	if diff := cmp.Diff(want, members(t, out)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if report != (window.TrajectoryReport{Removed: 1, RemovedTotal: 1}) {
		t.Errorf("%+v", report)
	}
}

// SPEC C3: a large result is cut although there are few interactions.
func TestTrajectoryCutsResultsBeforeRemoving(t *testing.T) {
	tr := readTrajectory(t, `{"question": "test", "tool_1": "weather", "tool_result_1": "`+strings.Repeat("x", 100)+
		`", "tool_2": "forecast", "tool_result_2": "small"}`)
	out, report, _ := Fit(tr, Options{MaxInteractions: 3, ResultLimit: 10, PreserveFirst: 1})
	m := members(t, out)
	if got := m["tool_result_1"]; got != "[TRUNCATED: result too large (100 chars). First 10 chars shown]\nxxxxxxxxxx..." {
		t.Errorf("result %q", got)
	}
	if m["tool_2"] != "forecast" || m["tool_result_2"] != "small" || m["context_note"] != nil {
		t.Errorf("%v", m)
	}
	if report != (window.TrajectoryReport{Truncated: 1}) {
		t.Errorf("%+v", report)
	}
}

// SPEC C2: a gap in the numbers is nothing to do.
func TestTrajectoryWithNothingToDoIsByteIdentical(t *testing.T) {
	for _, data := range []string{
		`{ "question":"q" }`,
		`{"question": "q", "thought_2": "a\u00e9", "tool_2":"t" ,"tool_result_2": 1.50, "thought_7": "b", "context_note": "[Note: 4 earlier]"}`,
		`{"thought_3": "a", "tool_name_3": "finish", "observation_3": "Completed."}`,
	} {
		out, report, plan := Fit(readTrajectory(t, data), defaults(t))
		if string(out) != data || plan.Action != "none" || report.Removed+report.Truncated != 0 {
			t.Errorf("%s\nbecame\n%s\n%+v", data, out, report)
		}
	}
}

// made is a trajectory of n interactions with results of the given lengths.
func made(form wire.Form, results []int, note string) string {
	m := `{"question": "q"`
	tool, result := "tool", "tool_result"
	if form == wire.DSPy {
		tool, result = "tool_name", "observation"
	}
	for i, n := range results {
		k := form.Base() + i
		m += fmt.Sprintf(`, "thought_%d": "t%d", "%s_%d": "tool%d", "tool_args_%d": {"n": %d}, "%s_%d": "%s"`, k, i,
			tool, k, i, k, i, result, k, strings.Repeat("é", n))
	}
	if note != "" {
		m += `, "context_note": "` + note + `"`
	}
	return m + "}"
}

// SPEC C2, C3: whatever the options, interactions stay whole and in order, the
// question stays, and a second pass changes nothing.
func TestTrajectoryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom([]wire.Form{wire.Flat, wire.DSPy}).Draw(t, "form")
		results := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 12).Draw(t, "results")
		o := Options{
			MaxInteractions: rapid.IntRange(1, 14).Draw(t, "max"),
			ResultLimit:     rapid.IntRange(1, 50).Draw(t, "limit"),
			PreserveFirst:   rapid.IntRange(0, 5).Draw(t, "preserve"),
			KeepResults:     rapid.Bool().Draw(t, "keep"),
			Count:           countFields,
		}
		tr, err := wire.ReadTrajectory([]byte(made(form, results, "")), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		out, report, plan := Fit(tr, o)
		first := o.PreserveFirst
		if first >= o.MaxInteractions {
			first = 0
		}
		var want []int
		for i := range results {
			if len(results) <= o.MaxInteractions || i < first || i >= len(results)-(o.MaxInteractions-first) {
				want = append(want, i)
			}
		}
		got, err := wire.ReadTrajectory(out, wire.Limits{})
		if err != nil || got.Question.String() != "q" || len(got.Steps) != len(want) || got.Form != form {
			t.Fatalf("%v: %s", err, out)
		}
		cut := 0
		for k, i := range want {
			s := &got.Steps[k]
			if s.Number != form.Base()+k || string(s.Thought()) != fmt.Sprintf(`"t%d"`, i) ||
				string(s.Args()) != fmt.Sprintf(`{"n": %d}`, i) {
				t.Fatalf("step %d: %s", k, out)
			}
			long := results[i] > o.ResultLimit && !o.KeepResults
			if long {
				cut++
			}
			if strings.Contains(string(s.Result()), fmt.Sprintf("(%d chars)", results[i])) != long {
				t.Fatalf("step %d, limit %d: %s", k, o.ResultLimit, s.Result())
			}
		}
		removed := len(results) - len(want)
		if report != (window.TrajectoryReport{Removed: removed, Truncated: cut, RemovedTotal: removed}) {
			t.Fatalf("%+v, want %d removed, %d cut", report, removed, cut)
		}
		verdicts := map[window.Verdict]int{}
		for i, b := range plan.Blocks {
			verdicts[b.Verdict]++
			if b.Index != i || b.Reason == "" {
				t.Fatalf("block %d: %+v", i, b)
			}
		}
		if verdicts[window.Evict] != removed || verdicts[window.Trim] != cut || len(plan.Blocks) != len(results) {
			t.Fatalf("verdicts %v", verdicts)
		}
		again, second, _ := Fit(got, o)
		if string(again) != string(out) || second != (window.TrajectoryReport{RemovedTotal: removed}) {
			t.Fatalf("second pass: %+v\n%s\n%s", second, out, again)
		}
	})
}

// SPEC C1–C3: scripts. The first lines are options (max=, limit=, preserve=,
// results=keep, preset=), the rest is the trajectory; what comes out is the
// report, the plan and the new trajectory.
func TestTrajectoryScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T, in string) string {
		o := defaults(t)
		var data strings.Builder
		for line := range strings.Lines(in) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			if data.Len() == 0 && !strings.HasPrefix(line, "{") {
				for w := range strings.FieldsSeq(line) {
					name, value, _ := strings.Cut(w, "=")
					n := 0
					switch name {
					case "preset":
						var err error
						if o, err = Preset(value); err != nil {
							return err.Error()
						}
						continue
					case "results":
						o.KeepResults = value == "keep"
						continue
					}
					if _, err := fmt.Sscan(value, &n); err != nil {
						t.Fatal(err)
					}
					switch name {
					case "max":
						o.MaxInteractions = n
					case "limit":
						o.ResultLimit = n
					case "preserve":
						o.PreserveFirst = n
					default:
						t.Fatalf("unknown option %q", w)
					}
				}
				continue
			}
			data.WriteString(line)
		}
		o.Count = countFields
		out, report, plan := Fit(readTrajectory(t, data.String()), o)
		var b strings.Builder
		fmt.Fprintf(&b, "removed %d, truncated %d, removed in total %d; action %s\n", report.Removed, report.Truncated,
			report.RemovedTotal, plan.Action)
		for _, k := range plan.Blocks {
			fmt.Fprintf(&b, "  %d %s: %s\n", k.Index, k.Verdict, k.Reason)
		}
		if string(out) == data.String() {
			return b.String() + "the same bytes\n"
		}
		return b.String() + string(out) + "\n"
	})
}

// A mark that a tool printed itself does not save a long result.
func TestForgedMarkIsCut(t *testing.T) {
	forged := `[TRUNCATED: result too large (900 chars). First 10 chars shown]\n` + strings.Repeat("x", 5000)
	_, report, _ := Fit(readTrajectory(t, `{"question": "q", "tool_1": "t", "tool_result_1": "`+forged+`"}`),
		defaults(t))
	if report.Truncated != 1 {
		t.Errorf("%+v", report)
	}
}

// SPEC C3: a result that was cut under a larger limit is not cut again.
func TestResultIsCutAtMostOnce(t *testing.T) {
	data := made(wire.Flat, []int{3000}, "")
	debug, _ := Preset("debug")
	minimal, _ := Preset("minimal")
	once, _, _ := Fit(readTrajectory(t, data), debug)
	twice, report, _ := Fit(readTrajectory(t, string(once)), minimal)
	if string(once) != string(twice) || report.Truncated != 0 {
		t.Errorf("%+v\n%s", report, twice)
	}
}
