package main

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newService is a service whose commands are only noted.
func newService(t *testing.T, goos string, ran *[]string) *service {
	t.Helper()
	return &service{
		goos: goos, program: `/opt/my & tools/100%/$HOME/oriel`, home: t.TempDir(), config: `/etc/a & "$b".toml`, user: "501",
		getenv: func(string) string { return "" },
		run: func(_ context.Context, argv []string) error {
			*ran = append(*ran, strings.Join(argv, " "))
			return nil
		},
	}
}

func TestServiceIsInstalledAndRemoved(t *testing.T) {
	for goos, want := range map[string]struct{ file, install, remove string }{
		"linux": {".config/systemd/user/oriel.service",
			"systemctl --user daemon-reload|systemctl --user enable oriel.service|systemctl --user restart oriel.service",
			"systemctl --user disable --now oriel.service"},
		"darwin": {"Library/LaunchAgents/oriel.serve.plist",
			"launchctl bootout gui/501/oriel.serve|launchctl bootstrap gui/501 FILE",
			"launchctl bootout gui/501/oriel.serve"},
		"windows": {"AppData/Local/oriel/service.xml",
			"schtasks /Create /TN Oriel /XML FILE /F|schtasks /Run /TN Oriel",
			"schtasks /End /TN Oriel|schtasks /Delete /TN Oriel /F"},
	} {
		var ran []string
		s := newService(t, goos, &ran)
		path := filepath.Join(s.home, filepath.FromSlash(want.file))
		if err := s.remove(t.Context()); !errors.Is(err, fs.ErrNotExist) || len(ran) > 0 {
			t.Errorf("%s: %v %v", goos, err, ran)
		}
		if err := s.install(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(strings.Join(ran, "|"), path, "FILE"); got != want.install {
			t.Errorf("%s: %s", goos, got)
		}
		if data, err := os.ReadFile(path); err != nil || len(data) == 0 {
			t.Errorf("%s: %v", goos, err)
		}
		ran = nil
		if err := s.remove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(ran, "|"); got != want.remove {
			t.Errorf("%s: %s", goos, got)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", goos, err)
		}
	}
}

// A service that the system did not start leaves nothing behind; one that was there before
// stays.
func TestServiceThatDoesNotStart(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		var ran []string
		s := newService(t, goos, &ran)
		works := s.run
		s.run = func(_ context.Context, argv []string) error {
			ran = append(ran, strings.Join(argv, " "))
			return errors.New("no bus")
		}
		path, _ := s.file()
		if err := s.install(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing is installed: no bus; until then, run oriel serve") {
			t.Error(goos, err)
		}
		last := s.stops()[len(s.stops())-1]
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || ran[len(ran)-1] != strings.Join(last.argv, " ") {
			t.Error(goos, err, ran)
		}
		fails := s.run
		s.run = works
		if err := s.install(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.run = fails
		if err := s.install(t.Context()); err == nil || !strings.Contains(err.Error(), "is written, but the system did not start it: no bus") {
			t.Error(goos, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(goos, err)
		}
	}
}

// A description that somebody else wrote is neither overwritten nor removed, and its service
// keeps running.
func TestServiceKeepsTheUsersOwn(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		var ran []string
		s := newService(t, goos, &ran)
		path, _ := s.file()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		const own = "[Service]\nExecStart=/opt/oriel serve\nEnvironment=ORIEL_TOKEN=a-token\n"
		if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, act := range []func(context.Context) error{s.install, s.remove} {
			if err := act(t.Context()); err == nil || !strings.Contains(err.Error(), "move the file away") {
				t.Errorf("%s: %v", goos, err)
			}
			if data, err := os.ReadFile(path); string(data) != own || len(ran) > 0 {
				t.Errorf("%s: %q, %v, ran %v", goos, data, err, ran)
			}
		}
	}
}

// The unit is one that systemd accepts, whatever the path of the program.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze on this machine")
	}
	program := filepath.Join(t.TempDir(), `my & tools 100% $HOME`, "oriel")
	if err := os.Mkdir(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var ran []string
	s := newService(t, "linux", &ran)
	s.program = program
	_, text := s.file()
	unit := filepath.Join(t.TempDir(), unitName)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), analyze, "--user", "verify", unit)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
}

// A property list is keys, each with a value of the kind that launchd.plist(5) names for it.
func TestThePropertyListHasKindsOfLaunchd(t *testing.T) {
	var ran []string
	_, text := newService(t, "darwin", &ran).file()
	d := xml.NewDecoder(strings.NewReader(text))
	var kinds []string
	depth, key := 0, ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			depth++
			if depth != 3 {
				continue
			}
			if e.Name.Local == "key" {
				if err := d.DecodeElement(&key, &e); err != nil {
					t.Fatal(err)
				}
				depth--
				continue
			}
			kinds = append(kinds, key+" "+e.Name.Local)
		case xml.EndElement:
			depth--
		}
	}
	if got := strings.Join(kinds, ", "); got != "Label string, ProgramArguments array, RunAtLoad true, KeepAlive dict, StandardErrorPath string" {
		t.Error(got)
	}
}

func TestServiceQuotesItsCommand(t *testing.T) {
	var ran []string
	_, unit := newService(t, "linux", &ran).file()
	if want := `ExecStart="/opt/my & tools/100%%/$HOME/oriel" "serve" "--config" "/etc/a & \"$$b\".toml"` + "\n"; !strings.Contains(unit, want) {
		t.Error(unit)
	}
	for _, goos := range []string{"darwin", "windows"} {
		_, text := newService(t, goos, &ran).file()
		d := xml.NewDecoder(strings.NewReader(strings.Replace(text, "UTF-16", "UTF-8", 1)))
		var words strings.Builder
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", goos, err, text)
			}
			if data, ok := token.(xml.CharData); ok {
				words.Write(data)
			}
		}
		for _, want := range []string{`/opt/my & tools/100%/$HOME/oriel`, "serve", "--config", `/etc/a & "$b".toml`} {
			if !strings.Contains(words.String(), want) {
				t.Errorf("%s: no %s in %s", goos, want, words.String())
			}
		}
	}
}
