package snippets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Below its title each page of docs says whom it is for.
func TestEveryPageSaysWhomItIsFor(t *testing.T) {
	for _, page := range pages(t) {
		if page == "README.md" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		title, text, _ := strings.Cut(string(raw), "\n\n")
		if !strings.HasPrefix(title, "# ") || strings.Contains(title, "\n") || !strings.HasPrefix(text, "For ") {
			t.Errorf("%s: the line below the title does not begin with For, and say whom the page is for", page)
		}
	}
}

// The guides together have at most 30,000 words: what people look up is below docs/reference.
func TestGuidesAreShort(t *testing.T) {
	words := 0
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, "docs/") || strings.HasPrefix(page, "docs/reference/") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		words += len(strings.Fields(string(raw)))
	}
	if words > 30_000 {
		t.Errorf("the pages of docs have %d words: move what people look up to docs/reference", words)
	}
}
