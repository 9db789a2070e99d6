package snippets

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are those that a page's headings get where it is shown.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		out[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// What a page links to is there, the heading too.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		raw, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(raw), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			target := page
			if to != "" {
				target = filepath.Join(filepath.Dir(page), to)
			}
			info, err := os.Stat(filepath.Join(root, target))
			if err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
				continue
			}
			if anchor == "" || info.IsDir() {
				continue
			}
			other, err := os.ReadFile(filepath.Join(root, target))
			if err != nil {
				t.Fatal(err)
			}
			if !anchors(string(other))[anchor] {
				t.Errorf("%s: %s: no such heading", page, m[1])
			}
		}
	}
}

// Who opens the repository sees at once what to type.
func TestTheFirstScreenHasTheTwoCommands(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Join(strings.SplitN(string(raw), "\n", 41)[:40], "\n")
	for _, want := range []string{"```sh\ngo run -v ./cmd/oriel demo\n```", "```sh\n./scripts/test\n```"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first 40 lines of README.md do not have\n%s", want)
		}
	}
}
