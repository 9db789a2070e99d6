package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/term"
)

// A terminal is shown what is longer than it through $PAGER, within its width, with the words
// of a query marked, and gets no control character of a message. Without colours there are
// none.
func TestScreensOfATerminal(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "talk.jsonl")
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, `{"conversation":"c1","time":"2024-05-01T10:00:00Z","role":"user","text":"step %d %s"}`+
			"\n", i+1, strings.Repeat("on and on ", 20))
	}
	fmt.Fprintf(&lines,
		`{"conversation":"c1","time":"2024-05-01T10:00:00Z","role":"user","text":"The ladder: %s the end."}`+"\n",
		strings.Repeat("on and on ", 200))
	lines.WriteString(`{"conversation":"c1","time":"2024-05-01T10:00:00Z","role":"assistant","text":"The spare key \u001b]0;evil\u0007 hangs behind the fuse box."}` + "\n")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "import", "--data", dir, file); code != 0 {
		t.Fatal(errOut)
	}
	colours := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, k := range []struct{ pager, plain, args, end, want string }{
		{"sed s/^/paged:/", "", "show c1", "step 40", `(?m)^paged:    1  10:00 user `},
		{"sed s/^/paged:/", "", "recall spare --mode keyword --top 1", "keyword, ", "\x1b\\[1;33mspare\x1b\\[0m key"},
		{"cat", "1", "recall spare --mode keyword --top 1", "keyword, ",
			"(?m)^    The spare key  \\]0;evil  hangs behind the fuse box\\.$"},
		{"cat", "1", "recall ladder --mode keyword --top 1", "keyword, ",
			`(?m)^    … \d lines more: oriel show c1 41$`},
		{"cat", "1", "recall ladder --mode keyword --top 1 --full", "keyword, ", `(?m) the end\.$`},
		{"cat", "", "show c1 42", "hangs behind", "(?m)^The spare key  \\]0;evil  hangs behind the fuse box\\.$"},
	} {
		t.Setenv("PAGER", k.pager)
		t.Setenv("NO_COLOR", k.plain)
		t.Setenv("TZ", "UTC")
		keys, _, _ := onTerminal(t, append([]string{"oriel"}, append(strings.Fields(k.args), "--data", dir)...)...)
		shown := strings.ReplaceAll(strings.Join(awaiter(t, keys)(k.end), "\n"), "\r", "")
		if !regexp.MustCompile(k.want).MatchString(shown) {
			t.Errorf("%s: no %q in\n%q", k.args, k.want, shown)
		}
		if k.plain != "" && colours.MatchString(shown) {
			t.Errorf("%s: colours with NO_COLOR in\n%q", k.args, shown)
		}
		if strings.ContainsAny(colours.ReplaceAllString(shown, ""), "\x1b\x07") && !strings.Contains(shown, "\x1b[K") {
			t.Errorf("%s: control characters in\n%q", k.args, shown)
		}
		for line := range strings.SplitSeq(colours.ReplaceAllString(shown, ""), "\n") {
			if n := term.Cells(strings.TrimPrefix(line, "paged:")); n > 80 {
				t.Errorf("%s: %d columns in %q", k.args, n, line)
			}
		}
	}
}
