package main

import (
	"bytes"
	"encoding/json"
	"io"
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
	if out, code := oriel("console", "--print", "last"); code != 0 ||
		out != "http://127.0.0.1:8799/oriel/#/conversation/a%20b\n" {
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
		"stop": "Ctrl-C ends oriel serve", "start": "oriel serve the proxy", "logs": "oriel top shows calls",
		"update": "oriel version shows",
	} {
		var out, errs bytes.Buffer
		code := run([]string{name}, strings.NewReader(""), &out, &errs)
		if code != 2 || out.Len() > 0 || !strings.Contains(errs.String(), want) ||
			strings.Count(errs.String(), "\n") != 1 {
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
	if code := run([]string{"status"}, strings.NewReader(""), &out, &errs); code != 1 ||
		!strings.Contains(errs.String(), "nothing answers at 127.0.0.1:1") {
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

// A server on another history is not taken for that of the one which the command names.
func TestConsoleNoticesAnotherHistory(t *testing.T) {
	mine, other := t.TempDir(), t.TempDir()
	data, store := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/oriel/healthz":
			io.WriteString(w, `{"status":"ok","version":"v1","store":"ok"}`)
		case data == "": // it wants a token
			w.WriteHeader(http.StatusUnauthorized)
		default:
			json.NewEncoder(w).Encode(map[string]any{"settings": []any{
				map[string]any{"key": "profile", "value": "full"}, map[string]any{"key": "keep", "value": 1},
				map[string]any{"key": "data", "value": data}, map[string]any{"key": "store", "value": store},
			}})
		}
	}))
	defer server.Close()
	t.Setenv("HOME", t.TempDir())
	for name, value := range map[string]string{"ORIEL_LISTEN": server.Listener.Addr().String(), "ORIEL_CONFIG": "",
		"ORIEL_DATA": "", "ORIEL_STORE": ""} {
		t.Setenv(name, value)
	}
	for name, c := range map[string]struct {
		data, store string
		args        []string
		other       string // the history that the error names
	}{
		"the same folder": {mine, "not set", []string{"--data", mine}, ""},
		"the same folder, written twice": {filepath.Join(mine, "..", filepath.Base(mine)) + "/", "not set",
			[]string{"--data", mine}, ""},
		"another folder":             {other, "not set", []string{"--data", mine}, other},
		"no folder is named":         {other, "not set", nil, ""},
		"a token is wanted":          {"", "not set", []string{"--data", mine}, ""},
		"a folder of its own folder": {filepath.Base(mine), "not set", []string{"--data", mine}, ""},
		"another of its own folder":  {"demo-history", "not set", []string{"--data", mine}, "demo-history"},
		"a database":                 {mine, "set", []string{"--data", mine}, "a database"},
		"two databases":              {mine, "set", []string{"--store", "postgres://localhost/x"}, ""},
		"a folder, not the database": {mine, "not set", []string{"--store", "postgres://localhost/x"}, mine},
	} {
		data, store = c.data, c.store
		var out, errs bytes.Buffer
		code := run(append([]string{"console", "--print"}, c.args...), strings.NewReader(""), &out, &errs)
		switch {
		case c.other == "" && (code != 0 || errs.Len() > 0):
			t.Errorf("%s: %d %q", name, code, errs.String())
		case c.other != "" && (code != 1 || out.Len() > 0 ||
			!strings.Contains(errs.String(), "has another history, "+c.other+":")):
			t.Errorf("%s: %d %q %q", name, code, out.String(), errs.String())
		}
	}
}
