package prompt_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every text of Oriel's that begins with its mark is written here: no other file that
// ships spells the mark out, except for the constant itself.
func TestOrielSpeaksInOnePlace(t *testing.T) {
	root := filepath.Join("..", "..")
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		switch name := d.Name(); {
		case d.IsDir() && (name == "testdata" || strings.HasPrefix(name, ".") && name != "." && name != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		case rel == filepath.Join("chat", "message.go") ||
			strings.HasPrefix(rel, filepath.Join("internal", "test", "growth")),
			rel == filepath.Join("tools", "check", "attack", "text.go"):
			return nil // the mark, histories for tests, and forged marks
		}
		read++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for n, line := range strings.Split(string(data), "\n") {
			if code, _, _ := strings.Cut(line, "//"); strings.Contains(code, `"[Oriel`) ||
				strings.Contains(code, "`[Oriel") {
				t.Errorf("%s:%d: %s", rel, n+1, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("%d files, %v", read, err)
	}
}
