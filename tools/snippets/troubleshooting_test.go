package snippets

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each message that the page explains is one that the program prints.
func TestTroubleshootingQuotesTheProgram(t *testing.T) {
	var source strings.Builder
	for _, dir := range []string{"cmd/oriel", "internal/proxy", "internal/serve", "internal/forward", "timeline"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := 0
	for _, row := range regexp.MustCompile(`(?m)^\| (`+"`"+`[^|]+) \|`).FindAllStringSubmatch(string(page), -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if quoted++; !strings.Contains(source.String(), m[1]) {
				t.Errorf("no program prints %q", m[1])
			}
		}
	}
	if quoted < 15 {
		t.Errorf("only %d messages are explained", quoted)
	}
}
