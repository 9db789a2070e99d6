package snippets

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of headers has a row for every value of X-Oriel-Action.
func TestEveryActionIsDocumented(t *testing.T) {
	read := func(path string) string {
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	list := regexp.MustCompile(`(?m)^var actions = \[\]string\{(.*)\}$`).FindStringSubmatch(read("window/plan.go"))
	if list == nil {
		t.Fatal("window/plan.go has no list of actions")
	}
	page := read("docs/reference/protocols.md")
	for _, action := range strings.Split(list[1]+`, "bypass", "error"`, ", ") {
		if row := "\n| `" + strings.Trim(action, `"`) + "` | "; !strings.Contains(page, row) {
			t.Errorf("docs/reference/protocols.md has no row for %s", action)
		}
	}
}
