//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

const toldLog = "the log of the history, oriel.db-wal or oriel.db-shm, was deleted or replaced while it was in use"

// left is a copy of the folder: what kill -9 would leave now. Another process makes it, as
// a process that closes a file of SQLite's loses its locks.
func left(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "left")
	if out, err := exec.Command("cp", "-R", dir, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

func removeLog(t *testing.T, dir string, suffixes []string) {
	t.Helper()
	for _, suffix := range suffixes {
		if err := os.Remove(filepath.Join(dir, "oriel.db"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
}

var logSuffixes = [][]string{{"-wal"}, {"-shm"}, {"-wal", "-shm"}}

// Whoever deletes the log of a running server's history loses nothing, though no call comes
// afterwards, and is told so at once and at the end.
func TestADeletedLogIsSaved(t *testing.T) {
	reopenEvery = time.Millisecond
	t.Cleanup(func() { reopenEvery = 0 })
	for _, suffixes := range logSuffixes {
		t.Run(strings.Join(suffixes, ""), func(t *testing.T) {
			up := httptest.NewServer(&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Noted."} }})
			defer up.Close()
			dir := filepath.Join(t.TempDir(), "data")
			s := serve(t, "--upstream-openai", up.URL+"/v1", "--data", dir)
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
			removeLog(t, dir, suffixes)
			await(func() bool {
				return strings.Contains(s.errors.String(), "a new log was begun") && strings.Contains(health(t, s), `"status":"ok"`)
			})
			saved := recorded(t, left(t, dir))
			for _, body := range sent {
				if saved[body] != 1 {
					t.Errorf("%d records after a kill of %s", saved[body], body)
				}
			}
			turns()
			await(func() bool { return len(recorded(t, dir)) == len(sent) }) // another reader sees all
			killed := recorded(t, left(t, dir))
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
	n := strings.Count(got, toldLog)
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
		servers[i] = startOriel(t, nil, &output[i], "serve", "--listen", address, "--data", dir, "--upstream-openai", model, "--upstream-anthropic", model)
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
	for n, suffixes := range logSuffixes {
		await(func() bool { return len(recorded(t, dir)) == len(all()) })
		removeLog(t, dir, suffixes)
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
		if got := output[i].String(); strings.Count(got, toldLog) != len(logSuffixes) || strings.Contains(got, "wait on disk") || strings.Contains(got, "cannot be saved") {
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

// watched opens a history that looks after its files with a call, and when ticks says so.
func watched(t *testing.T, dir string, log *syncBuffer, ticks <-chan time.Time) *reopener {
	t.Helper()
	r := newReopener(t.Context(), filepath.Join(dir, "oriel.db"), func(ctx context.Context) (timeline.Store, error) {
		return sqlite.Open(ctx, dir, sqlite.Options{})
	}, slog.New(slog.NewTextHandler(log, nil)), ticks)
	t.Cleanup(func() { r.Close() })
	return r
}

func say(ctx context.Context, s timeline.Store, name string) error {
	_, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, Now: time.Now(), Messages: []timeline.Message{
		{Raw: []byte(name), Identity: timeline.HashOf([]byte(name)), Role: "user", Format: "text", Time: time.Now()},
	}})
	return err
}

func conversationsOf(t *testing.T, s timeline.Store) string {
	t.Helper()
	all, err := s.Conversations(t.Context(), timeline.Local)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// conversationsLeft are those in a copy of the folder.
func conversationsLeft(t *testing.T, dir string) string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), left(t, dir), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return conversationsOf(t, s)
}

// A call that is acknowledged after the log was deleted is in the file by then, with all
// before it. Calls at the same time are not lost by that.
func TestACallAfterItsLogWasDeletedIsSaved(t *testing.T) {
	var log syncBuffer
	dir := t.TempDir()
	r := watched(t, dir, &log, nil)
	if err := say(t.Context(), r, "one"); err != nil {
		t.Fatal(err)
	}
	removeLog(t, dir, []string{"-wal"})
	if err := r.health(t.Context()); err == nil || !strings.Contains(err.Error(), "log of the history") {
		t.Errorf("health %v", err)
	}
	if err := say(t.Context(), r, "two"); err != nil {
		t.Error(err)
	}
	if got := conversationsLeft(t, dir); got != "one two" {
		t.Errorf("a kill leaves %s", got)
	}
	if err := r.health(t.Context()); err != nil {
		t.Errorf("no new log was begun: %v", err)
	}
	for n, suffixes := range logSuffixes {
		removeLog(t, dir, suffixes)
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				name := fmt.Sprintf("%d-%d", n, i)
				if err := say(t.Context(), r, name); err != nil {
					t.Error(err)
				}
				if _, err := r.Conversation(t.Context(), timeline.Local, name); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	if got, want := len(strings.Fields(conversationsLeft(t, dir))), 2+3*16; got != want {
		t.Errorf("a kill leaves %d conversations, want %d", got, want)
	}
	if n := strings.Count(log.String(), toldLog); n != 4 {
		t.Errorf("reported %d times, not once a deletion: %s", n, &log)
	}
}

// While another program has the history open with the deleted log, the server has saved
// what it had, reports that calls wait on disk, and records again when the program ends.
func TestADeletedLogThatOthersUseIsReported(t *testing.T) {
	var log syncBuffer
	dir := t.TempDir()
	ticks := make(chan time.Time)
	var used atomic.Bool
	r := newReopener(t.Context(), filepath.Join(dir, "oriel.db"), func(ctx context.Context) (timeline.Store, error) {
		if used.Load() { // nothing is worth waiting for
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
		}
		return sqlite.Open(ctx, dir, sqlite.Options{})
	}, slog.New(slog.NewTextHandler(&log, nil)), ticks)
	defer r.Close()
	if err := say(t.Context(), r, "one"); err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	removeLog(t, dir, []string{"-wal"})
	used.Store(true)
	if err := say(t.Context(), r, "two"); err != nil {
		t.Errorf("a change that was saved failed: %v", err)
	}
	if got := conversationsLeft(t, dir); got != "one two" {
		t.Errorf("a kill leaves %s", got)
	}
	if err := r.health(t.Context()); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("health %v", err)
	}
	if err := say(t.Context(), r, "three"); err == nil {
		t.Error("a change was acknowledged that nobody has")
	}
	if !strings.Contains(log.String(), "calls wait on disk until it can") {
		t.Errorf("not reported: %s", &log)
	}
	if err := other.CloseSaved(t.Context()); err != nil {
		t.Fatal(err)
	}
	used.Store(false)
	ticks <- time.Time{}
	ticks <- time.Time{} // the first was looked at
	if err := say(t.Context(), r, "four"); err != nil {
		t.Error(err)
	}
	if got := conversationsLeft(t, dir); got != "four one two" {
		t.Errorf("a kill leaves %s", got)
	}
}

// A folder in whose place somebody puts a file is gone.
func TestAFolderReplacedByAFileIsGone(t *testing.T) {
	var log syncBuffer
	dir := filepath.Join(t.TempDir(), "data")
	ticks := make(chan time.Time)
	r := watched(t, dir, &log, ticks)
	if err := say(t.Context(), r, "one"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.health(t.Context()); err == nil {
		t.Error("health is good")
	}
	if err := say(t.Context(), r, "two"); err == nil {
		t.Error("a call went into a file that is gone")
	}
	if !strings.Contains(log.String(), "the history cannot be opened again") {
		t.Errorf("not reported: %s", &log)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	ticks <- time.Time{}
	ticks <- time.Time{}
	if err := say(t.Context(), r, "three"); err != nil {
		t.Error(err)
	}
	if got := conversationsOf(t, r); got != "three" {
		t.Error(got)
	}
	if got := conversationsLeft(t, dir+".away"); got != "one two" && got != "one" {
		t.Errorf("what was moved away has %s", got)
	}
}
