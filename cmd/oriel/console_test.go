package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestConsoleNamesItsAddress(t *testing.T) {
	data := t.TempDir()
	t.Setenv("ORIEL_LISTEN", "0.0.0.0:8799")
	t.Setenv("ORIEL_CONFIG", "")
	oriel := func(args ...string) (string, int) {
		var out, errs bytes.Buffer
		code := run(append(args, "--data", data), strings.NewReader(""), &out, &errs)
		return out.String() + errs.String(), code
	}
	if out, code := oriel("console", "--print"); code != 0 || out != "http://127.0.0.1:8799/oriel/\n" {
		t.Errorf("%d %q", code, out)
	}
	if out, code := oriel("console", "--print", "last"); code != 2 || !strings.Contains(out, "no history yet") {
		t.Errorf("%d %q", code, out)
	}
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(file, []byte(`{"conversation":"a b","text":"something that was said"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := oriel("import", file); code != 0 {
		t.Fatal(out)
	}
	if out, code := oriel("console", "--print", "last"); code != 0 || out != "http://127.0.0.1:8799/oriel/#/conversation/a%20b\n" {
		t.Errorf("%d %q", code, out)
	}
}

func TestTheBrowserOfEachSystem(t *testing.T) {
	screen := func(name string) string { return map[string]string{"DISPLAY": ":0"}[name] }
	none := func(string) string { return "" }
	for _, c := range []struct {
		goos   string
		getenv func(string) string
		want   []string
	}{
		{"darwin", none, []string{"open", "http://x"}},
		{"windows", none, []string{"rundll32", "url.dll,FileProtocolHandler", "http://x"}},
		{"linux", screen, []string{"xdg-open", "http://x"}},
		{"linux", none, nil},
	} {
		if got := browserFor(c.goos, "http://x", c.getenv); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.goos, got)
		}
	}
}

// The error of a command that does not exist names one that does the job.
func TestUnknownCommandsNameAnotherWay(t *testing.T) {
	for name, want := range map[string]string{
		"ui": `did you mean "console"?`, "dashboard": `did you mean "console"?`,
		"rm": `did you mean "delete"?`, "rules": `did you mean "directives"?`, "cat": `did you mean "show"?`,
		"stop": "Ctrl-C ends oriel serve", "start": "oriel serve the proxy", "logs": "oriel top shows calls", "update": "oriel version shows",
	} {
		var out, errs bytes.Buffer
		code := run([]string{name}, strings.NewReader(""), &out, &errs)
		if code != 2 || out.Len() > 0 || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%s: %d %q %q", name, code, out.String(), errs.String())
		}
	}
}

// oriel status says whether a server runs, and is not the beginning of oriel statusline.
func TestStatusIsThatOfTheServer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("ORIEL_LISTEN", "127.0.0.1:1")
	t.Setenv("ORIEL_CONFIG", "")
	var out, errs bytes.Buffer
	if code := run([]string{"status"}, strings.NewReader(""), &out, &errs); code != 1 || !strings.Contains(errs.String(), "nothing answers at 127.0.0.1:1") {
		t.Errorf("%d %q %q", code, out.String(), errs.String())
	}
}

// Another program at Oriel's address is not taken for it.
func TestAnotherProgramIsNoServer(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("ORIEL_LISTEN", other.Listener.Addr().String())
	t.Setenv("ORIEL_CONFIG", "")
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	for _, args := range [][]string{{"service", "status"}, {"console", "--data", t.TempDir()}} {
		var out, errs bytes.Buffer
		code := run(args, strings.NewReader(""), &out, &errs)
		if code != 1 || !strings.Contains(errs.String(), "another program listens at "+other.Listener.Addr().String()) {
			t.Errorf("%v: %d %q %q", args, code, out.String(), errs.String())
		}
	}
}
