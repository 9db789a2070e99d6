//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/token"
)

// storePassword is the password of the URL of tests. The server of tests does not ask for
// it, and nobody may show it.
const storePassword = "canary-b4e1"

// storeURL returns the URL of a new schema, with a password.
func storeURL(t *testing.T) string {
	t.Helper()
	return strings.Replace(pgtest.URL(t), "oriel@", "oriel:"+storePassword+"@", 1)
}

// TestCommandsWorkOnPostgreSQL runs what takes --data with --store instead.
func TestCommandsWorkOnPostgreSQL(t *testing.T) {
	url := storeURL(t)
	dir := t.TempDir()
	talk := filepath.Join(dir, "talk.jsonl")
	if err := os.WriteFile(talk, longTalk(), 0o600); err != nil {
		t.Fatal(err)
	}
	model := startModel(t)
	t.Setenv("ORIEL_UPSTREAM_OPENAI", model+"/v1")
	t.Setenv("ORIEL_UPSTREAM_ANTHROPIC", model)
	t.Setenv("ORIEL_STORE", url)
	t.Setenv("ORIEL_DATA", filepath.Join(dir, "data"))
	for _, c := range []struct {
		args string
		code int
		want string // in what it prints
	}{
		{"conversations", 0, "no history yet in postgres://oriel:xxxxx@"},
		{"verify", 2, "no history yet"},
		{"import " + talk, 0, "300"},
		{"import --store nonsense " + talk, 2, "a store is the URL of a PostgreSQL database"},
		{"conversations", 0, "long"},
		{"show long --last 2", 0, "number 300"},
		{"pin long 17", 0, ""},
		{"show long 17", 0, "number 17"},
		{"recall --no-embed --conversation long number 42", -1, ""},
		{"stats", 0, "messages +300"},
		{"usage", 0, ""},
		{"verify", 0, "all is well: 300 messages"},
		{"doctor", -1, "answers in "},
		{"config", 0, "store"},
		{"config --json", 0, `"set"`},
		{"backup " + filepath.Join(dir, "copy.db"), 2, "pg_dump"},
		{"token add --tenant team", 0, "token"},
		{"token list", 0, "team"},
		{"export long", 0, "number 299"},
		{"copy --from " + filepath.Join(dir, "folder") + " --to " + url, 1, "there is no history"},
		{"copy --from " + url + " --to " + filepath.Join(dir, "folder"), 0, "the same, byte for byte"},
		{"copy --from " + filepath.Join(dir, "folder") + " --to " + url, 0,
			"0 messages copied, 1 conversation were there"},
		{"copy --from " + url + " --to " + url, 2, "the same history"},
		{"copy --from " + url + " --to " + pgtest.With(url, "application_name", "other"), 2, "the same history"},
		{"verify --store= --data " + filepath.Join(dir, "folder"), 0, "all is well: 300 messages"},
		{"prune --older-than 1d --dry-run", 0, "would delete 1 conversation"},
		{"stats", 0, "messages +300"},
		{"prune --older-than 1d --yes", 0, "deleted 1 conversation"},
		{"stats", 0, "messages +0"},
		{"delete long --yes", 2, `no conversation is called "long"`},
		{"verify", 0, "all is well"},
	} {
		args := strings.Fields(c.args)
		code, out, errOut := command(t, args...)
		if code != c.code && c.code >= 0 {
			t.Errorf("oriel %s: exit %d: %s%s", c.args, code, out, errOut)
		}
		all := strings.ReplaceAll(out+errOut, "  ", " ")
		for strings.Contains(all, "  ") {
			all = strings.ReplaceAll(all, "  ", " ")
		}
		if !strings.Contains(all, strings.ReplaceAll(c.want, " +", " ")) {
			t.Errorf("oriel %s: %q is not in %s", c.args, c.want, all)
		}
		if strings.Contains(all, storePassword) {
			t.Errorf("oriel %s shows the password: %s", c.args, all)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "oriel.db")); err == nil {
		t.Error("a history was made in the folder, too")
	}
}

// TestServeRecordsInPostgreSQL makes calls through a server whose history is a database.
func TestServeRecordsInPostgreSQL(t *testing.T) {
	url, dir := storeURL(t), t.TempDir()
	s := startServe(t, "--upstream-openai", startModel(t)+"/v1", "--data", dir, "--store", url)
	for _, body := range []string{
		`{"model":"gpt-4o","messages":[{"role":"user","content":"where is the key?"}]}`,
		`{"model":"gpt-4o","messages":[{"role":"user","content":"where is the key?"},{"role":"assistant","content":"Noted."},{"role":"user","content":"and the lock?"}]}`,
	} {
		res, err := http.Post(s.openAI+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(res.Body); res.StatusCode != 200 {
			t.Errorf("%d: %s", res.StatusCode, text)
		}
		res.Body.Close()
	}
	if got := health(t, s); !strings.Contains(got, `"store":"ok"`) || strings.Contains(got, storePassword) {
		t.Error(got)
	}
	s.end(t)
	http.DefaultClient.CloseIdleConnections()
	if log := s.errors.String(); strings.Contains(log, storePassword) || !strings.Contains(log, "msg=recorded") {
		t.Error(log)
	}
	code, out, errOut := command(t, "show", "last", "--store", url, "--data", dir)
	if code != 0 || !strings.Contains(out, "where is the key?") || !strings.Contains(out, "and the lock?") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
	if code, _, errOut := command(t, "verify", "--store", url); code != 0 {
		t.Error(errOut)
	}
	for _, name := range []string{"oriel.db*", serve.LearntFile} {
		if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) > 0 {
			t.Errorf("it is in the folder, too: %v", found)
		}
	}
}

// TestServeGoesOnWithoutItsDatabase: calls go through while there is none, and are told so
// without the password.
func TestServeGoesOnWithoutItsDatabase(t *testing.T) {
	s := startServe(t, "--upstream-openai", startModel(t)+"/v1", "--data", t.TempDir(), "--store", "postgres://u:"+
		storePassword+"@127.0.0.1:1/d?connect_timeout=1")
	res, err := http.Post(s.openAI+"/chat/completions", "application/json",
		strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	res.Body.Close()
	if got := health(t, s); !strings.Contains(got, "degraded") || strings.Contains(got, storePassword) {
		t.Error(got)
	}
	s.end(t)
	http.DefaultClient.CloseIdleConnections()
	if log := s.errors.String(); strings.Contains(log, storePassword) ||
		!strings.Contains(log, "THE HISTORY CANNOT BE OPENED") {
		t.Error(log)
	}
}

// TestServersShareWhatTheyLearnt: what one server learns about a provider, another knows as
// soon as it hears of it.
func TestServersShareWhatTheyLearnt(t *testing.T) {
	url := storeURL(t)
	var all []*token.Learnt
	for range 2 {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		l, err := token.OpenLearntAt(serve.LearntOf(s, "here"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	for i := range 40 {
		all[0].Calibration.Observe("local\tgpt-4o", 1000+i, 1300+i)
	}
	if err := all[0].Save(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); len(all[1].Scales()) == 0; time.Sleep(time.Millisecond) {
		if err := all[1].Refresh(); err != nil || time.Since(start) > time.Minute {
			t.Fatal("it was not heard of", err)
		}
	}
	code, out, errOut := command(t, "models", "--learnt", "--json", "--store", url)
	if code != 0 || !strings.Contains(out, "gpt-4o") || strings.Contains(out+errOut, storePassword) {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}
