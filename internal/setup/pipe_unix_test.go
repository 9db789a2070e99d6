//go:build unix

package setup

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe in place of a file is refused and not waited for.
func TestAPipeIsNoConfiguration(t *testing.T) {
	for agent, name := range map[string]string{
		"claude-code": ".claude/settings.json", "codex": ".codex/config.toml", "gemini-cli": ".gemini/settings.json",
		"opencode": ".config/opencode/opencode.json", "aider": ".aider.conf.yml",
	} {
		at := newHome(t, map[string]string{filepath.Join(filepath.Dir(name), "other"): ""})
		if err := syscall.Mkfifo(filepath.Join(at.Home, name), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := New(agent, base, at); err == nil || !strings.Contains(err.Error(), "is not a file") {
			t.Errorf("%s: %v", agent, err)
		}
	}
}
