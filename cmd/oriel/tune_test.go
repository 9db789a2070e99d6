package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/report/replay"
	"github.com/oriel-context/oriel/internal/settings"
)

func TestTuneAddsItsProfileToTheSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "oriel", "config.toml")
	tuning := &replay.Tuning{Budget: 80_000, Low: .4, NoRecall: true}
	for _, name := range []string{"mine", "second"} {
		if got, err := writeProfile(path, name, tuning); err != nil || got != path {
			t.Fatalf("%s: %q, %v", name, got, err)
		}
		if name == "mine" { // what stands there stays
			before, _ := os.ReadFile(path)
			err := os.WriteFile(path, append([]byte("# my own words\n"), before...), 0o600)
			if err = errors.Join(err, os.Chmod(path, 0o640)); err != nil {
				t.Fatal(err)
			}
		}
	}
	l, err := settings.Load(settings.Sources{File: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine", "second"} {
		if p := l.Profiles[name]; p.Budget != 80_000 || p.LowMark != .4 || p.Recall != -1 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	text, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	if !strings.HasPrefix(string(text), "# my own words\n") || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v: %s", info.Mode(), text)
	}
}

func TestTuneLeavesSettingsThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("profile = [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := writeProfile(path, "mine", &replay.Tuning{Budget: 80_000, Low: .4}); err == nil ||
		!strings.Contains(err.Error(), "stays as it was") {
		t.Error(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "profile = [\n" {
		t.Errorf("%s", text)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
