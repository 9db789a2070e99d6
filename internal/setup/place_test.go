package setup

import (
	"os"
	"path/filepath"
	"testing"
)

// What agents keep elsewhere, because a variable says so, is changed there.
func TestVariablesMoveTheFilesOfAgents(t *testing.T) {
	for variable, c := range map[string]struct{ agent, file string }{
		"GEMINI_CLI_HOME": {"gemini-cli", ".gemini/.env"},
		"CLINE_DIR":       {"cline-cli", "data/settings/cline_mcp_settings.json"},
		"CLINE_DATA_DIR":  {"cline-cli", "settings/cline_mcp_settings.json"},
	} {
		elsewhere, at := t.TempDir(), newHome(t, nil)
		at.Getenv = func(name string) string {
			if name == variable {
				return elsewhere
			}
			return ""
		}
		p, _, err := New(c.agent, base, at)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, change := range p.Changes {
			found = found || change.File == filepath.Join(elsewhere, filepath.FromSlash(c.file))
		}
		if !found {
			t.Errorf("%s: %+v", variable, p.Changes)
		}
		if left, _ := os.ReadDir(at.Home); len(left) != 0 {
			t.Errorf("%s: %v", variable, left)
		}
	}
}
