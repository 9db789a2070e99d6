package snippets

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository's.
const root = "../.."

// block is a fenced block of a page.
type block struct {
	page string // from the root of the repository
	line int    // of its opening fence
	info string
	text string
}

// pages are README.md and all of docs.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			rel, _ := filepath.Rel(root, path)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// blocks are those of a page, in order.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	out, open := fenced(page, string(raw))
	if open > 0 {
		t.Errorf("%s:%d: the block has no end", page, open)
	}
	return out
}

// fenced are the blocks of a text, and the line of one without an end, 0 for none.
func fenced(page, text string) (out []block, open int) {
	var b block
	var lines []string
	for i, line := range strings.Split(text, "\n") {
		mark, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case open == 0 && isFence:
			b, lines, open = block{page: page, line: i + 1, info: mark}, nil, i+1
		case open > 0 && isFence && mark == "":
			b.text = strings.Join(lines, "\n") + "\n"
			out, open = append(out, b), 0
		case open > 0:
			lines = append(lines, line)
		}
	}
	return out, open
}

func TestFencedBlocksAreFound(t *testing.T) {
	got, open := fenced("p.md", "a\n```sh\nx\n\ny\n```\n\n  ```\n  z\n  ```\n```go\n")
	if open != 11 || len(got) != 2 {
		t.Fatalf("%d blocks, open at %d", len(got), open)
	}
	if got[0] != (block{"p.md", 2, "sh", "x\n\ny\n"}) || got[1] != (block{"p.md", 8, "", "  z\n"}) {
		t.Errorf("%+v", got)
	}
}
