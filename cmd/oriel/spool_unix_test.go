//go:build unix

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// Whatever is wrong with the history of a server, calls go on; the server is killed, and
// the next one has all of them in the history, once and in order.
func TestCallsOfAKilledServerWaitForItsHistory(t *testing.T) {
	up := httptest.NewServer(
		&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
			return fakemodel.Answer{Text: "Noted."}
		}})
	defer up.Close()
	for name, fault := range map[string]func(t *testing.T, dir string) (mend func()){
		"the folder is a file": func(t *testing.T, dir string) func() {
			must(t, os.Rename(dir, dir+".moved"))
			must(t, os.WriteFile(dir, nil, 0o600))
			return func() {
				must(t, os.Remove(dir))
				must(t, os.Rename(dir+".moved", dir))
			}
		},
		"full": fillDisk,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if name == "full" {
				dir = smallDisk(t)
			}
			spool := t.TempDir()
			start := func() (*exec.Cmd, *chatting) {
				address := freeAddress(t)
				cmd := startOriel(t, nil, nil, "serve", "--listen", address, "--upstream-openai", up.URL+"/v1",
					"--data", dir, "--spool", spool)
				awaitHealth(t, address)
				return cmd, &chatting{t, "http://" + address + "/v1", map[string][]string{}}
			}
			server, c := start()
			agents := []string{"anna", "bert", "cora", "dora"}
			var sent []string
			for _, agent := range agents {
				sent = append(sent, c.turn(agent))
			}
			// One that is in the history and not acknowledged would wait in the spool, too.
			await(func() bool {
				return metric(t, c.url, `oriel_records_total{outcome="written"}`) == strconv.Itoa(len(agents))
			})
			mend := fault(t, dir)
			for range 5 {
				for _, agent := range agents {
					sent = append(sent, c.turn(agent))
				}
			}
			await(func() bool { return metric(t, c.url, "oriel_spool_calls") == "20" })
			if got := awaitHealth(t, strings.TrimSuffix(strings.TrimPrefix(c.url, "http://"),
				"/v1")); !strings.Contains(got, `"status":"degraded"`) {
				t.Error(got)
			}
			must(t, server.Process.Signal(syscall.SIGKILL))
			server.Wait()
			mend()
			said := c.said
			server, c = start()
			c.said = said
			for _, agent := range agents {
				sent = append(sent, c.turn(agent))
			}
			await(func() bool { return len(recorded(t, dir)) == len(sent) })
			http.DefaultClient.CloseIdleConnections()
			must(t, server.Process.Signal(syscall.SIGTERM))
			server.Wait()
			got := recorded(t, dir)
			for _, body := range sent {
				if got[body] != 1 {
					t.Errorf("%d records of %s", got[body], body)
				}
			}
			inOrder(t, dir, len(agents))
			if left, err := filepath.Glob(filepath.Join(spool, "*", "*")); err != nil || len(left) > 0 {
				t.Error(left, err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// metric returns a value of /oriel/metrics.
func metric(t *testing.T, url, name string) string {
	t.Helper()
	res, err := http.Get(strings.TrimSuffix(url, "/v1") + "/oriel/metrics")
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// inOrder fails unless a history has so many conversations, whose calls grow.
func inOrder(t *testing.T, dir string, conversations int) {
	t.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir, sqlite.Options{ReadOnly: true})
	must(t, err)
	defer s.Close()
	all, err := s.Conversations(ctx, timeline.Local)
	if err != nil || len(all) != conversations {
		t.Errorf("%d conversations, %v", len(all), err)
	}
	for _, c := range all {
		calls, err := s.Records(ctx, timeline.Local, c.Name, "call", "")
		must(t, err)
		last := 0
		for i := range calls {
			call, err := call.Read(ctx, s, timeline.Local, &calls[i])
			must(t, err)
			if len(call.Body) <= last {
				t.Errorf("call %d of %s has %d bytes, the one before %d", i, c.Name, len(call.Body), last)
			}
			last = len(call.Body)
		}
		if c.Head.Depth != 14 {
			t.Errorf("the head of %s is at %d", c.Name, c.Head.Depth)
		}
	}
}

// smallDisk is a folder on a disk of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := mountSmall(dir); err != nil {
		t.Skipf("!! SKIPPED: no disk that can be filled, which takes Linux and root: %v", err)
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "data")
}

// fillDisk fills the disk of a folder.
func fillDisk(t *testing.T, dir string) func() {
	path := filepath.Join(filepath.Dir(dir), "ballast")
	f, err := os.Create(path)
	must(t, err)
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	must(t, f.Close())
	return func() { must(t, os.Remove(path)) }
}
