package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newService is a service whose commands are only noted.
func newService(t *testing.T, goos string, ran *[]string) *service {
	t.Helper()
	return &service{
		goos: goos, program: `/opt/my & tools/100%/$HOME/oriel`, home: t.TempDir(), config: `/etc/a & "$b".toml`,
		user:   "501",
		getenv: func(string) string { return "" },
		run: func(_ context.Context, argv []string) error {
			*ran = append(*ran, strings.Join(argv, " "))
			return nil
		},
		wait: func(_ context.Context, d time.Duration) error {
			*ran = append(*ran, "wait "+d.String())
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
		if err := s.install(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "nothing is installed: no bus; until then, run oriel serve") {
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
		if err := s.install(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "is written, but the system did not start it: no bus") {
			t.Error(goos, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(goos, err)
		}
	}
}

// exitWith is the error of a command that ended with this code.
type exitWith int

func (e exitWith) Error() string { return fmt.Sprint("exit ", int(e)) }
func (e exitWith) ExitCode() int { return int(e) }

// launchd refuses an agent, with error 5, until the one before has ended.
func TestLaunchdIsAskedAgain(t *testing.T) {
	const bootstrap = "launchctl bootstrap "
	for name, c := range map[string]struct {
		refused, tries, waits int
		code                  int
	}{
		"it ends":       {refused: 3, tries: 4, waits: 3, code: 5},
		"it never ends": {refused: 1000, tries: 21, waits: 20, code: 5},
		"another error": {refused: 1000, tries: 1, waits: 0, code: 125},
	} {
		var ran []string
		s := newService(t, "darwin", &ran)
		refused := 0
		s.run = func(_ context.Context, argv []string) error {
			ran = append(ran, strings.Join(argv, " "))
			if refused < c.refused && argv[1] == "bootstrap" {
				refused++
				return fmt.Errorf("launchctl: %w", exitWith(c.code))
			}
			return nil
		}
		err := s.install(t.Context())
		if worked := c.refused < 1000; (err == nil) != worked {
			t.Errorf("%s: %v", name, err)
		}
		all := strings.Join(ran, "\n") + "\n"
		if tries, waits := strings.Count(all, bootstrap), strings.Count(all, "wait 250ms\n"); tries != c.tries ||
			waits != c.waits {
			t.Errorf("%s: %d tries, %d waits:\n%s", name, tries, waits, all)
		}
	}
	// Ctrl-C ends the wait.
	var ran []string
	s := newService(t, "darwin", &ran)
	s.run = func(context.Context, []string) error { return exitWith(5) }
	s.wait = func(context.Context, time.Duration) error { return context.Canceled }
	if err := s.install(t.Context()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Without a user bus systemctl fails. The service is removed all the same, so that it does not
// start with the next session. A task of Windows starts without its file, which therefore stays.
func TestServiceThatCannotBeEnded(t *testing.T) {
	for goos, stays := range map[string]bool{"linux": false, "windows": true} {
		var ran []string
		s := newService(t, goos, &ran)
		if err := s.install(t.Context()); err != nil {
			t.Fatal(err)
		}
		path, _ := s.file()
		link := filepath.Join(filepath.Dir(path), "default.target.wants", unitName)
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(link, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.run = func(context.Context, []string) error { return errors.New("no bus") }
		err := s.remove(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no bus") {
			t.Errorf("%s: %v", goos, err)
		}
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v", goos, err)
		}
		if stays {
			continue
		}
		if !strings.Contains(err.Error(), path+" is removed, but the system did not end the service") {
			t.Errorf("%s: %v", goos, err)
		}
		if _, err := os.Stat(link); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", goos, err)
		}
	}
}

// The status is that of the server that the installed service starts: the one of its settings
// file, without the variables of this shell.
func TestServiceStatusIsThatOfItsSettings(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"status":"ok","version":"v1","store":"ok"}`)
	}))
	defer server.Close()
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "ORIEL_CONFIG"} {
		t.Setenv(name, "")
	}
	t.Setenv("ORIEL_LISTEN", "127.0.0.1:1")
	s, err := thisService()
	if err != nil {
		t.Skip(err)
	}
	s.run = func(context.Context, []string) error { return nil }
	at := server.Listener.Addr().String()
	s.config = filepath.Join(home, "wo$rk & 100%.toml")
	if err := os.WriteFile(s.config, []byte("listen = \""+at+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{"service", "status"}, strings.NewReader(""), &out, &errs)
	if code != 0 || !strings.Contains(out.String(), "settings   "+s.config+"\n") ||
		!strings.Contains(out.String(), "running    "+at+"\n") {
		t.Errorf("%d %q %q", code, out.String(), errs.String())
	}
}

// What a description says of its settings file is read as it was written.
func TestServiceFindsItsSettings(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, config := range []string{"", `/etc/a & b/<c> 100%/$HOME.toml`, `C:\Users\a b\oriel.toml`} {
			var ran []string
			s := newService(t, goos, &ran)
			s.config = config
			if err := s.install(t.Context()); err != nil {
				t.Fatal(err)
			}
			path, _ := s.file()
			s.config = "of another service"
			if got, err := s.installedConfig(path); err != nil || got != config {
				t.Errorf("%s: %q, %v, want %q", goos, got, err, config)
			}
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
	if got := strings.Join(kinds,
		", "); got != "Label string, ProgramArguments array, RunAtLoad true, KeepAlive dict, StandardErrorPath string" {
		t.Error(got)
	}
}

func TestServiceQuotesItsCommand(t *testing.T) {
	var ran []string
	_, unit := newService(t, "linux", &ran).file()
	if want := `ExecStart="/opt/my & tools/100%%/$HOME/oriel" "serve" "--config" "/etc/a & \"$$b\".toml"` +
		"\n"; !strings.Contains(unit, want) {
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
