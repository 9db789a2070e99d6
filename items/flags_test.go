package items

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// SPEC A1: each rule of the table, and what must not set a flag.
func TestAutoFlags(t *testing.T) {
	const e, c, q, s = FlagError, FlagCode, FlagQuestion, FlagSolution
	for _, tc := range []struct {
		source Source
		text   string
		want   []Flag
	}{
		// Errors in words.
		{SourceUser, "I get an error when I start it.", []Flag{e}},
		{SourceUser, "The build failed", []Flag{e}},
		{SourceUser, "It crashed again with an exception", []Flag{e}},
		{SourceTool, "Build failed", []Flag{e}},
		{SourceUser, "No, it failed.", []Flag{e}},
		{SourceUser, "I have no idea why it failed", []Flag{e}},
		{SourceTool, "0 warnings, 2 errors", []Flag{e}},
		{SourceTool, "12 passed, 1 failed", []Flag{e}},
		{SourceUser, "It doesn't start, the server fails.", []Flag{e}},
		{SourceSystem, "Error 500 from the server", []Flag{e}},
		{"", "an error", []Flag{e}},
		// Errors denied, supposed or only named.
		{SourceTool, "no errors", nil},
		{SourceTool, "No errors.", nil},
		{SourceTool, "0 errors, 0 warnings", nil},
		{SourceTool, "12 passed, 0 failed", nil},
		{SourceTool, "errors: 0", nil},
		{SourceTool, "Failures: none", nil},
		{SourceTool, "finished without any errors", nil},
		{SourceTool, "no warnings, errors or failures", nil},
		{SourceAssistant, "There were no more build errors", nil},
		{SourceAssistant, "It did not fail", nil},
		{SourceAssistant, "The test doesn't fail", nil},
		{SourceAssistant, "That isn’t an error", nil},
		{SourceAssistant, "The output is free of errors", nil},
		{SourceAssistant, "an error-free run", nil},
		{SourceAssistant, "a fail-safe design", nil},
		{SourceUser, "Tell me if the build fails", nil},
		{SourceUser, "Please add error handling", nil},
		{SourceUser, "We learn by trial and error", nil},
		{SourceUser, "All days with the exception of Monday", nil},
		{SourceUser, "The terror of the mirror", nil},
		{SourceUser, "an exceptional failover", nil},
		{SourceTool, "func f() error {", nil},
		{SourceTool, "func f() (int, error)", nil},
		{SourceAssistant, "It calls errors.New and err.Error() in on_error", nil},
		{SourceFile, "// Open returns an error if the file is missing", nil},
		{SourceAssistant, "The `error` type", nil},
		// What programs print.
		{SourceTool, "Traceback (most recent call last):\n  File \"a.py\"", []Flag{e}},
		{SourceTool, "TypeError: x is not a function", []Flag{e}},
		{SourceTool, "main.go:12:5: error: expected ';'", []Flag{e}},
		{SourceTool, "error[E0308]: mismatched types", []Flag{e}},
		{SourceTool, "panic: runtime error: index out of range", []Flag{e}},
		{SourceTool, "--- FAIL: TestX (0.00s)", []Flag{e}},
		{SourceTool, "2025-07-10 12:00:00 ERROR disk full", []Flag{e}},
		{SourceTool, "exit status 2", []Flag{e}},
		{SourceTool, "exit status 0", nil},
		{SourceFile, "2025-07-10T12:00:00Z [ERROR] disk full", []Flag{e}},
		{SourceFile, "try:\n    f()\nexcept ValueError:\n    pass", nil},
		{SourceUser, "It says `fatal: not a git repository`.", []Flag{e}},
		{SourceError, "anything", []Flag{e}},
		// Code.
		{SourceUser, "Look:\n```go\nfunc main() {}\n```", []Flag{c}},
		{SourceAssistant, "> ```\n> quoted\n> ```", []Flag{c}},
		{SourceAssistant, "Three backticks (```) open a fence", nil},
		{SourceUser, "```\nerror: disk full\n```", []Flag{e, c}},
		{SourceUser, "```go\nif err != nil { return errors.New(\"it failed\") }\n```", []Flag{c}},
		// Questions.
		{SourceUser, "What is this?", []Flag{q}},
		{SourceAssistant, "Shall I go on? I can.", []Flag{q}},
		{SourceUser, "これは何ですか？", []Flag{q}},
		{SourceUser, "Really?!", []Flag{q}},
		{SourceUser, "how do I start it", []Flag{q}},
		{SourceUser, "I know how to start it", nil},
		{SourceUser, "See https://example.com/?q=1 for it", nil},
		{SourceUser, "Use the pattern (.*?) here", nil},
		{SourceUser, "The field is `name?: string`", nil},
		{SourceUser, "```js\nconst a = b ? c : d\n```", []Flag{c}},
		{SourceTool, "Overwrite? y", nil},
		// Solutions.
		{SourceUser, "Thanks, that fixed it!", []Flag{s}},
		{SourceUser, "It works now.", []Flag{s}},
		{SourceUser, "That worked", []Flag{s}},
		{SourceUser, "Problem solved", []Flag{s}},
		{SourceAssistant, "All tests pass now.", []Flag{s}},
		{SourceAssistant, "The fix was to close the file.", []Flag{s}},
		{SourceUser, "Did that fix it?", []Flag{q}},
		{SourceUser, "That worked?", []Flag{q}},
		{SourceUser, "It still isn't fixed", nil},
		{SourceUser, "That didn't fix it", nil},
		{SourceUser, "Please fix the typo", nil},
		{SourceAssistant, "This should be fixed after a restart", nil},
		{SourceAssistant, "Let me check whether it works now", nil},
		{SourceUser, "Tell me how it works", nil},
		{SourceUser, "I worked on it", nil},
		{SourceTool, "it works now", nil},
	} {
		if diff := cmp.Diff(tc.want, AutoFlags(tc.text, tc.source, false)); diff != "" {
			t.Errorf("%s %q (-want +got)\n%s", tc.source, tc.text, diff)
		}
	}
}

// SPEC A1: a failed tool's result is an error whatever it says.
func TestFailedToolIsAnError(t *testing.T) {
	if diff := cmp.Diff([]Flag{FlagError}, AutoFlags("done", SourceTool, true)); diff != "" {
		t.Error(diff)
	}
}

// A long text is judged by its ends; that costs the same however long it is.
func TestLongTextIsJudgedByItsEnds(t *testing.T) {
	filler := strings.Repeat("é nothing to see\n", 10_000)
	for _, text := range []string{"it failed\n" + filler, filler + "it failed"} {
		if diff := cmp.Diff([]Flag{FlagError}, AutoFlags(text, SourceTool, false)); diff != "" {
			t.Error(diff)
		}
	}
	if got := AutoFlags(filler, SourceTool, false); got != nil {
		t.Error(got)
	}
}

func FuzzAutoFlags(f *testing.F) {
	f.Add("no errors? `x`\n```\nerror: y", "user")
	f.Fuzz(func(t *testing.T, text, source string) {
		seen := map[Flag]bool{}
		for _, flag := range AutoFlags(text, Source(source), false) {
			if seen[flag] || flagWeights[flag] == 0 {
				t.Errorf("%q: flag %q", text, flag)
			}
			seen[flag] = true
		}
	})
}

func BenchmarkAutoFlags(b *testing.B) {
	line := "The server answers after 3 ms, and the log says that nothing was left to do.\n"
	for _, n := range []int{2 << 10, 16 << 10, 1 << 20} {
		text := strings.Repeat(line, n/len(line))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				AutoFlags(text, SourceUser, false)
			}
		})
	}
}
