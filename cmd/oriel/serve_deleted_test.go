//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

const logDeleted = "the log of the history, oriel.db-wal or oriel.db-shm, was deleted or replaced while it was in use"

var logFiles = [][]string{{"-wal"}, {"-shm"}, {"-wal", "-shm"}}

func deleteLog(t *testing.T, dir string, suffixes []string) {
	t.Helper()
	for _, suffix := range suffixes {
		if err := os.Remove(filepath.Join(dir, "oriel.db"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
}

// copyOf copies the folder as it is now, as kill -9 would leave it. Another process copies it:
// a process that closes one of SQLite's files loses its locks on that file.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "left")
	if out, err := exec.Command("cp", "-R", dir, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

// await waits until something that is bound to happen has happened.
func await(is func() bool) {
	for !is() {
		runtime.Gosched()
	}
}

// chatting sends growing conversations, one turn of each at a time.
type chatting struct {
	t    *testing.T
	url  string
	said map[string][]string
}

func (c *chatting) turn(name string) (body string) {
	c.t.Helper()
	said := append(c.said[name], fmt.Sprintf(`{"role":"user","content":"%s asks for the %dth time"}`, name,
		len(c.said[name])))
	body = fmt.Sprintf(`{"model":"gpt-4o","messages":[%s]}`, strings.Join(said, ","))
	res, err := http.Post(c.url+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != 200 {
		c.t.Fatalf("%s %s %v", res.Status, answer, err)
	}
	c.said[name] = append(said, `{"role":"assistant","content":"Noted."}`)
	return body
}

// recorded are the bodies of the calls in a history, which must be sound.
func recorded(t *testing.T, dir string) map[string]int {
	t.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Verify(ctx, func(p timeline.Problem) { t.Errorf("%+v", p) }); err != nil {
		t.Error(err)
	}
	all, err := s.Conversations(ctx, timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]int{}
	for _, c := range all {
		calls, err := s.Records(ctx, timeline.Local, c.Name, "call", "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range calls {
			call, err := call.Read(ctx, s, timeline.Local, &calls[i])
			if err != nil {
				t.Fatal(err)
			}
			bodies[string(call.Body)]++
		}
	}
	return bodies
}

// Whoever deletes the history of a running server loses what it had, is told so on
// standard error and in the log, at once and at the end, and loses no later call.
func TestADeletedHistoryIsBegunAnew(t *testing.T) {
	reopenEvery = time.Millisecond
	t.Cleanup(func() { reopenEvery = 0 })
	for name, remove := range map[string]func(dir string) error{
		"folder": func(dir string) error {
			// In one step, as the server may write to the folder while it is emptied.
			return errors.Join(os.Rename(dir, dir+".gone"), os.RemoveAll(dir+".gone"))
		},
		"files": func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "oriel.db*"))
			for _, file := range files {
				err = errors.Join(err, os.Remove(file))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			up := httptest.NewServer(
				&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
					return fakemodel.Answer{Text: "Noted."}
				}})
			defer up.Close()
			dir := filepath.Join(t.TempDir(), "data")
			s := startServe(t, "--upstream-openai", up.URL+"/v1", "--data", dir)
			c := chatting{t, s.openAI, map[string][]string{}}
			for range 3 {
				for _, name := range []string{"anna", "bert", "cora"} {
					c.turn(name)
				}
			}
			await(func() bool { return len(recorded(t, dir)) == 9 })
			if err := remove(dir); err != nil {
				t.Fatal(err)
			}
			const told = "the file of the history was deleted or replaced while it was in use"
			await(func() bool { return strings.Contains(s.errors.String(), told) })
			if got := health(t, s); !strings.Contains(got, `"status":"degraded"`) ||
				!strings.Contains(got, "was deleted or replaced") {
				t.Error(got)
			}
			// Other conversations first: they get the numbers that the first ones had.
			var sent []string
			for range 3 {
				for _, name := range []string{"dora", "cora", "anna", "bert"} {
					sent = append(sent, c.turn(name))
				}
			}
			await(func() bool { return strings.Contains(health(t, s), `"status":"ok"`) }) // calls are written beside
			http.DefaultClient.CloseIdleConnections()
			s.end(t)
			if n := strings.Count(s.errors.String(), told); n != 2 {
				t.Errorf("told %d times, not at once and at the end: %s", n, s.errors)
			}
			got := recorded(t, dir)
			for _, body := range sent {
				if got[body] != 1 {
					t.Errorf("%d records of %s", got[body], body)
				}
			}
		})
	}
}

// Whoever deletes the log of a running server's history loses nothing, though no call comes
// afterwards, and is told so at once and at the end.
func TestADeletedLogIsSaved(t *testing.T) {
	reopenEvery = time.Millisecond
	t.Cleanup(func() { reopenEvery = 0 })
	for _, suffixes := range logFiles {
		t.Run(strings.Join(suffixes, ""), func(t *testing.T) {
			up := httptest.NewServer(
				&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
					return fakemodel.Answer{Text: "Noted."}
				}})
			defer up.Close()
			dir := filepath.Join(t.TempDir(), "data")
			s := startServe(t, "--upstream-openai", up.URL+"/v1", "--data", dir)
			c := chatting{t, s.openAI, map[string][]string{}}
			var sent []string
			turns := func() {
				for _, name := range []string{"anna", "bert", "cora"} {
					sent = append(sent, c.turn(name))
				}
			}
			turns()
			turns()
			await(func() bool { return len(recorded(t, dir)) == len(sent) })
			deleteLog(t, dir, suffixes)
			await(func() bool {
				return strings.Contains(s.errors.String(), "a new log was begun") &&
					strings.Contains(health(t, s), `"status":"ok"`)
			})
			saved := recorded(t, copyOf(t, dir))
			for _, body := range sent {
				if saved[body] != 1 {
					t.Errorf("%d records after a kill of %s", saved[body], body)
				}
			}
			turns()
			await(func() bool { return len(recorded(t, dir)) == len(sent) }) // another reader sees all
			killed := recorded(t, copyOf(t, dir))
			http.DefaultClient.CloseIdleConnections()
			s.end(t)
			if got := s.errors.String(); !reported(got, len(suffixes)) {
				t.Errorf("not reported at once and at the end: %s", got)
			}
			got := recorded(t, dir)
			for _, body := range sent {
				if got[body] != 1 || killed[body] != 1 {
					t.Errorf("%d records at the end, %d after a kill, of %s", got[body], killed[body], body)
				}
			}
		})
	}
}

// reported reports whether got tells of the log at once, as often as files of it were
// deleted at most, and once at the end.
func reported(got string, deleted int) bool {
	n := strings.Count(got, logDeleted)
	return 1 <= n && n <= deleted && strings.Count(got, "what it had was saved") == 1
}

// Two servers on one folder lose no call when the log is deleted under them again and again
// and both are killed at the end.
func TestTwoServersSaveADeletedLog(t *testing.T) {
	model := startModel(t)
	dir := filepath.Join(t.TempDir(), "data")
	var servers [2]*exec.Cmd
	var output [2]syncBuffer
	var talks [2]chatting
	for i := range servers {
		address := freeAddress(t)
		servers[i] = startOriel(t, nil, &output[i], "serve", "--listen", address, "--data", dir, "--upstream-openai",
			model, "--upstream-anthropic", model)
		awaitHealth(t, address)
		talks[i] = chatting{t, "http://" + address + "/v1", map[string][]string{}}
	}
	const rounds = 12
	var sent [2][]string
	turns := func() {
		var both sync.WaitGroup
		for i := range talks {
			both.Go(func() {
				for n := range rounds {
					sent[i] = append(sent[i], talks[i].turn(fmt.Sprintf("server %d talk %d", i, n%4)))
				}
			})
		}
		both.Wait()
	}
	all := func() []string { return append(append([]string(nil), sent[0]...), sent[1]...) }
	turns()
	for n, suffixes := range logFiles {
		await(func() bool { return len(recorded(t, dir)) == len(all()) })
		deleteLog(t, dir, suffixes)
		turns() // while the servers notice, one after the other
		for i := range output {
			await(func() bool { return strings.Count(output[i].String(), "a new log was begun") == n+1 })
		}
	}
	turns()
	await(func() bool { return len(recorded(t, dir)) == len(all()) })
	for i := range servers {
		if err := servers[i].Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = servers[i].Wait()
		if got := output[i].String(); strings.Count(got, logDeleted) != len(logFiles) ||
			strings.Contains(got, "wait on disk") || strings.Contains(got, "cannot be saved") {
			t.Errorf("server %d: %s", i, got)
		}
	}
	got := recorded(t, dir)
	for _, body := range all() {
		if got[body] != 1 {
			t.Errorf("%d records of %s", got[body], body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
