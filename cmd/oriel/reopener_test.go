//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

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
	said := append(c.said[name], fmt.Sprintf(`{"role":"user","content":"%s asks for the %dth time"}`, name, len(c.said[name])))
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
			up := httptest.NewServer(&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer { return fakemodel.Answer{Text: "Noted."} }})
			defer up.Close()
			dir := filepath.Join(t.TempDir(), "data")
			s := serve(t, "--upstream-openai", up.URL+"/v1", "--data", dir)
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
			if got := health(t, s); !strings.Contains(got, `"status":"degraded"`) || !strings.Contains(got, "was deleted or replaced") {
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

// A file that cannot be opened again is told, and tried again.
func TestADeletedHistoryThatCannotBeMadeAgainIsRefused(t *testing.T) {
	var log syncBuffer
	dir := t.TempDir()
	var full atomic.Bool
	ticks := make(chan time.Time)
	r := newReopener(t.Context(), filepath.Join(dir, "oriel.db"), func(ctx context.Context) (timeline.Store, error) {
		if full.Load() {
			return nil, fmt.Errorf("make it: %w", syscall.ENOSPC)
		}
		return sqlite.Open(ctx, dir, sqlite.Options{})
	}, slog.New(slog.NewTextHandler(&log, nil)), ticks)
	defer r.Close()
	say := func(text string) error {
		_, err := r.Apply(t.Context(), timeline.Local, timeline.Change{Conversation: text, Now: time.Now(), Messages: []timeline.Message{
			{Raw: []byte(text), Identity: timeline.HashOf([]byte(text)), Role: "user", Format: "text", Time: time.Now()},
		}})
		return err
	}
	if err := say("one"); err != nil {
		t.Fatal(err)
	}
	before, err := r.Changed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"oriel.db", "oriel.db-wal", "oriel.db-shm"} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	full.Store(true)
	if err := say("two"); !errors.Is(err, syscall.ENOSPC) || !errors.Is(r.health(t.Context()), syscall.ENOSPC) {
		t.Errorf("%v, health %v", err, r.health(t.Context()))
	}
	ticks <- time.Time{}
	ticks <- time.Time{} // the first was looked at
	full.Store(false)
	ticks <- time.Time{}
	ticks <- time.Time{}
	if err := say("three"); err != nil {
		t.Error(err)
	}
	if all, err := r.Conversations(t.Context(), timeline.Local); err != nil || len(all) != 1 || all[0].Name != "three" {
		t.Errorf("%v %v", all, err)
	}
	if after, err := r.Changed(t.Context()); err != nil || after == before {
		t.Errorf("another file, and the number is %d as before: %v", after, err)
	}
	for _, once := range []string{"deleted or replaced while", "cannot be opened again: calls wait on disk until it can", "can be opened now"} {
		if strings.Count(log.String(), once) != 1 {
			t.Errorf("%q is not told once: %s", once, &log)
		}
	}
}

// lookedAt are files that count how often they are looked at.
type lookedAt struct {
	written time.Time
	gone    bool
	looks   int
}

func (w *lookedAt) FileGone() bool                   { w.looks++; return w.gone }
func (w *lookedAt) LogGone() bool                    { return false }
func (w *lookedAt) CloseSaved(context.Context) error { return nil }
func (w *lookedAt) Written() time.Time               { return w.written }

// Changes that were written together share one look at the files, which follows them.
func TestTheFilesAreLookedAtOnceAfterAChange(t *testing.T) {
	w := &lookedAt{written: time.Now().Add(-time.Minute)}
	o := &opened{file: w}
	for range 8 {
		if o.stateAfterWrite() != whole {
			t.Error("it is not whole")
		}
	}
	if w.looks != 1 {
		t.Errorf("%d looks after changes that were written together", w.looks)
	}
	w.gone = true
	w.written = o.looked // the next change, by a clock that has not moved
	for range 2 {
		if o.stateAfterWrite() != fileGone {
			t.Error("a change was written to a deleted file, and nobody noticed")
		}
	}
}
