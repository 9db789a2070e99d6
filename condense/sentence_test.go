package condense

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSentences(t *testing.T) {
	for in, want := range map[string][]string{
		"One. Two! Three? Four":                      {"One.", "Two!", "Three?", "Four"},
		"See e.g. Rule 3. Then go.":                  {"See e.g. Rule 3.", "Then go."},
		"Ask Dr. Ada M. King. She knows.":            {"Ask Dr. Ada M. King.", "She knows."},
		"Edit a.go, v1.2. and go on.":                {"Edit a.go, v1.2. and go on."},
		"He said \"Stop.\" Then he left.":            {"He said \"Stop.\"", "Then he left."},
		"Wait... What?!":                             {"Wait...", "What?!"},
		"soft\nwrapped line.\n\nNext paragraph":      {"soft wrapped line.", "Next paragraph"},
		"List:\n- one\n- two. Three\n2. four":        {"List:", "one", "two.", "Three", "four"},
		"# Title\nText":                              {"# Title", "Text"},
		"こんにちは。元気？「はい。」と言った。":                        {"こんにちは。", "元気？", "「はい。」", "と言った。"},
		"ठीक है। आगे बढ़ो।":                          {"ठीक है।", "आगे बढ़ो।"},
		"كيف حالك؟ جيد":                              {"كيف حالك؟", "جيد"},
		"a\n```go\nx. Y.\n```\nb":                    {"a", "```go\nx. Y.\n```", "b"},
		"open\n~~~\nx":                               {"open", "~~~\nx\n~~~"},
		"--- \n ***\n":                               nil,
		"No. 5 is alive. No. We leave.":              {"No. 5 is alive.", "No.", "We leave."},
		"https://example.org/a.b?c=d. Then https://": {"https://example.org/a.b?c=d.", "Then https://"},
	} {
		var got []string
		for _, s := range sentences(in) {
			got = append(got, s.text)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", in, d)
		}
	}
}

func TestCutting(t *testing.T) {
	bytes := func(s string) int { return len(s) }
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"One. Two. Three.", 16, "One. Two. Three."},
		{"One. Two. Three.", 15, "One. Two."},
		{"One. Two. Three.", 4, "One."},
		{"One. Two. Three.", 3, ""},
		{"v1.2 is out", 8, ""},
		{"line\nmore", 6, "line"},
		{"完了。次へ。", 10, "完了。"},
		{"", 5, ""},
	} {
		if got := clipAtSentence(c.text, c.limit, bytes); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
	if got := clipWords("one two three four", 14, bytes); got != "one two …" {
		t.Errorf("%q", got)
	}
	if got := clipTail("äöü", 3, bytes); got != "ü" {
		t.Errorf("%q", got)
	}
	if got := clipLine(strings.Repeat("ä", 10), 5); got != "ää …" {
		t.Errorf("%q", got)
	}
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		command, result string
		isError         bool
		state           string
		lines           []string
	}{
		{"go test ./...", "ok  \tp\t0.1s", false, "passed", nil},
		{"go test ./...", "--- FAIL: TestA (0.00s)\n    a_test.go:3: got 1\nFAIL\nFAIL\tp\t0.1s\nok \tq", false,
			"failed", []string{"--- FAIL: TestA (0.00s)", "a_test.go:3: got 1"}},
		{"pytest", "E   assert 1 == 2\n1 failed, 3 passed", false, "failed",
			[]string{"E assert 1 == 2", "1 failed, 3 passed"}},
		{"pytest", "4 passed, 0 failed", false, "passed", nil},
		{"make", "Exit code 2\ncc: no input", true, "failed, exit 2", []string{"cc: no input"}},
		{"make", `{"output":"fine","metadata":{"exit_code":0}}`, false, "ok", nil},
		{"make", "error: optional tool is missing\nbuilt\nProcess exited with code 0", false, "ok", nil},
		{"make", "[lint] $ x\n[lint] ERROR task failed\na.go:1:2: unused x", false, "failed",
			[]string{"a.go:1:2: unused x"}},
		{"python x.py", "Traceback (most recent call last):\nValueError: bad", false, "failed",
			[]string{"Traceback (most recent call last):", "ValueError: bad"}},
		{"grep -r error .", "x: error: y", false, "", nil},
		{"git push", "Everything up-to-date", false, "", nil},
		{"foo", "bash: foo: command not found", true, "failed", []string{"bash: foo: command not found"}},
	} {
		show, test := kindOfCommand(tidy(c.command))
		o := judge(c.result, c.isError, show, test)
		if d := cmp.Diff(c.lines, o.lines); o.state != c.state || d != "" {
			t.Errorf("%s: %q, want %q; lines %s", c.command, o.state, c.state, d)
		}
	}
}

func TestTheNewestPiecesFitWithTheirNote(t *testing.T) {
	words := func(s string) int { return len(strings.Fields(s)) }
	list := make([]string, 50)
	for i := range list {
		list[i] = "three words here"
	}
	for room := 20; room < 150; room++ {
		got := newest(list, room, words)
		if n := words(got); n > room || n < room/2 {
			t.Errorf("%d words for %d", n, room)
		}
	}
	if got := newest(list, 500, words); strings.Contains(got, "left out") {
		t.Errorf("everything fits, and yet: %s", got)
	}
}
