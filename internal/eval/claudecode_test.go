package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/chat"
)

// coder writes a session of Claude Code.
type coder struct {
	lines strings.Builder
	n     int
}

func (c *coder) line(kind, more, message string) string {
	c.n++
	ref := fmt.Sprintf("r%d", c.n)
	fmt.Fprintf(&c.lines,
		`{"type":%q,"uuid":%q,"sessionId":"s","cwd":"/work","isSidechain":false,"timestamp":"2026-05-01T10:%02d:%02dZ"%s,"message":%s}`+"\n", kind, ref, c.n/60%60, c.n%60, more, message)
	return ref
}

func quoted(text string) string { b, _ := json.Marshal(text); return string(b) }

func (c *coder) says(role, text string) string {
	return c.line(role, "", fmt.Sprintf(`{"id":"m%d","role":%q,"content":%s}`, c.n, role, quoted(text)))
}

// reads is a call, in a turn of the model, and its result, whose ref it gives.
func (c *coder) reads(turn, file, text string) string {
	c.line("assistant", "",
		fmt.Sprintf(`{"id":%q,"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":%q}}]}`, turn, c.n, file))
	return c.line("user", "",
		fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%s}]}`, c.n-1,
			quoted(text)))
}

func (c *coder) compacts(summary string) {
	c.line("system", `,"subtype":"compact_boundary"`, "null")
	c.line("user", `,"isCompactSummary":true`, fmt.Sprintf(`{"role":"user","content":%s}`, quoted(summary)))
}

func (c *coder) load(t *testing.T) *Set {
	t.Helper()
	dir := write(t, t.TempDir(), map[string]string{"s.jsonl": c.lines.String()})
	set, err := Load(t.Context(), "claude-code", []string{filepath.Join(dir, "s.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A file that was read before a compaction and is read again after it is a question,
// once. What the new window shows is not recalled, and what comes later is not known.
func TestFilesThatAreReadAgain(t *testing.T) { // SPEC D3
	var c coder
	c.says("user", "The hive counter loses bees at night.")
	first := c.reads("m1", "/work/hive/counter.py", "     1→def count_bees(frames): return sum(frames)\n")
	c.reads("m2", "/work/other.py", "     1→def unrelated(): pass\n")
	c.compacts("Summary: the hive counter in /work/hive/counter.py is wrong.")
	c.reads("m5", "/work/new.py", "     1→never read before, counter\n")
	c.line("assistant", "",
		`{"id":"m6","role":"assistant","content":[{"type":"text","text":"Let me see count_bees in the hive counter."}]}`)
	c.reads("m6", "/work/hive/counter.py", "     1→def count_bees(frames): return sum(frames)\n")
	c.reads("m7", "/work/hive/counter.py", "     1→def count_bees(frames): return sum(frames)\n")
	c.says("user", "Later: count_bees in the hive counter is right now.")
	set := c.load(t)
	if len(set.Conversations) != 2 || len(set.Conversations[1].Questions) != 0 {
		t.Fatalf("%+v", set.Conversations)
	}
	got := set.Conversations[0].Questions
	// Calls and results are messages; the boundary is none.
	same := Question{File: "/work/hive/counter.py", Folder: "/work", Evidence: []string{first}, Gone: 5,
		Lines: []string{"def count_bees(frames): return sum(frames)"}}
	with, before := same, same
	with.ID, with.Kind, with.Text, with.Said = "1", kindReread, "Let me see count_bees in the hive counter.", 9
	before.ID, before.Kind, before.Text, before.Said, before.Aside = "2", kindReread+ahead,
		"The hive counter loses bees at night.", 8, true
	if diff := cmp.Diff([]Question{with, before}, got); diff != "" {
		t.Fatal(diff)
	}
	var details bytes.Buffer
	report, err := Run(t.Context(), set, Options{Budgets: []int{500}, Policies: Policies(), Model: flat{},
		Details: &details})
	if err != nil {
		t.Fatal(err)
	}
	if report.Questions != 1 || report.Aside != 1 {
		t.Errorf("%+v", report)
	}
	for _, row := range report.Rows {
		if row.Recall != 100 {
			t.Errorf("%+v", row)
		}
	}
	for line := range strings.Lines(details.String()) {
		for _, hidden := range []string{"Summary", "never read", "Let me see", "Later"} {
			if _, context, _ := strings.Cut(line, `"context":`); strings.Contains(context, hidden) {
				t.Errorf("%s is shown or not said yet: %s", hidden, line)
			}
		}
	}
}

// Without a compaction the window is cut, oldest first.
func TestWindowsAreCut(t *testing.T) {
	var c coder
	c.says("user", "Begin with the plan.")
	c.reads("m1", "/work/plan.md", "Bees before honey, always.")
	for i := range 40 { // 2,000 tokens each
		c.reads(fmt.Sprintf("x%d", i), fmt.Sprintf("/work/%d.txt", i), strings.Repeat("buzz wing ", 1000))
	}
	c.says("assistant", "What did the plan say?")
	c.reads("m2", "/work/plan.md", "Bees before honey, always.")
	set := c.load(t)
	q := set.Conversations[1].Questions
	if len(q) != 2 || q[0].Kind != kindCut || !q[0].Aside || q[0].File != "/work/plan.md" || q[0].Gone < 20 ||
		q[0].Gone > 60 {
		t.Errorf("%+v", q)
	}
	if len(set.Conversations[0].Questions) != 0 {
		t.Errorf("nothing was compacted: %+v", set.Conversations[0].Questions)
	}
}

func TestCommandsThatShowAFile(t *testing.T) {
	for command, want := range map[string]string{
		"cat a/b.go": "/w/a/b.go", "cat /etc/hosts": "/etc/hosts", "sed -n '1,20p' x.go": "/w/x.go",
		"head -n 20 x.go": "/w/x.go", "head -20 x.go": "/w/x.go",
		"cd /y && cat x": "/y/x", "cd sub && tail -5 x": "/w/sub/x",
		"sed -i s/a/b/ x.go": "", "cat a b": "", "cat x | grep y": "", "cat > x": "", "cat *.go": "", "ls x": "",
		"rm x": "", "cat": "",
	} {
		args, _ := json.Marshal(map[string]string{"command": command})
		p := chat.Part{Kind: chat.Call, Name: "Bash", Args: args}
		if got := fileRead(&p, "/w"); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestPathsStandAlone(t *testing.T) {
	q := Question{File: "/w/a/b.go", Folder: "/w"}
	for text, want := range map[string]bool{
		"Read /w/a/b.go\n": true, "see a/b.go.": true, "a/b.go:12": true, "/w/a/b.gone a/b.go": true,
		"/w/a/b.go.bak": false, "/w/a/b.go/c": false, "b.go": false, "": false,
	} {
		if q.names(text) != want {
			t.Errorf("%q", text)
		}
	}
}
