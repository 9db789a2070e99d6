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

// A settings file that is a link, such as to one among other files of one's own, stays one.
func TestTuneWritesThroughALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "dotfiles.toml"), filepath.Join(dir, "config.toml")
	if err := errors.Join(os.WriteFile(file, []byte("# mine\n"), 0o600), os.Symlink(file, link)); err != nil {
		t.Skip(err)
	}
	if _, err := writeProfile(link, "mine", &replay.Tuning{Budget: 80_000, Low: .4}); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("%q, %v", to, err)
	}
	if text, _ := os.ReadFile(file); !strings.HasPrefix(string(text), "# mine\n\n[profiles.mine]\n") {
		t.Errorf("%s", text)
	}
}

// The profiles of the file that is written to count, and not those of the usual one.
func TestTuneLooksIntoTheFileThatItWrites(t *testing.T) {
	dir := t.TempDir()
	usual, other := filepath.Join(dir, "usual.toml"), filepath.Join(dir, "other.toml")
	for file, name := range map[string]string{usual: "a", other: "b"} {
		if err := os.WriteFile(file, []byte("[profiles."+name+"]\nbudget = 50000\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ORIEL_CONFIG", usual)
	for file, want := range map[string]string{"": "a", other: "b", filepath.Join(dir, "new.toml"): ""} {
		own, err := ownProfiles(file)
		if err != nil || (len(own) == 0) != (want == "") || len(own) > 0 && own[0].Name != want {
			t.Errorf("%q: %+v, %v", file, own, err)
		}
	}
}

// The screen names the settings file where the profile is not in the usual one, and does not praise
// recall that was not tried.
func TestATuningSaysHowToUseIt(t *testing.T) {
	tuning := &replay.Tuning{Budget: 80_000, Low: .4}
	got := string(drawTuning(tuning, "mine", "my.toml", &replayFlags{config: "my.toml", noRecall: true}, plainScreen(80)))
	for _, want := range []string{"oriel run --config my.toml --profile mine", "recall on, and not tried"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q: %s", want, got)
		}
	}
}
