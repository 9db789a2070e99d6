package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// fullDisk is a folder on a disk without room, and what makes room there.
func fullDisk(t *testing.T) (dir string, grow func()) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("SKIPPED: no disk that can be filled, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func() {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that begins on a full disk records as soon as there is space.
func TestAStartOnAFullDiskRecovers(t *testing.T) {
	reopenEvery = time.Millisecond
	t.Cleanup(func() { reopenEvery = 0 })
	up := httptest.NewServer(
		&fakemodel.Server{Answer: func(*fakemodel.Request) fakemodel.Answer {
			return fakemodel.Answer{Text: "Noted."}
		}})
	defer up.Close()
	dir, grow := fullDisk(t)
	s := startServe(t, "--upstream-openai", up.URL+"/v1", "--data", dir)
	c := chatting{t, s.openAI, map[string][]string{}}
	c.turn("anna")
	if got := health(t, s); !strings.Contains(got, `"status":"degraded"`) {
		t.Error(got)
	}
	grow()
	await(func() bool { return strings.Contains(s.errors.String(), "the history can be opened now") })
	sent := []string{c.turn("anna"), c.turn("bert")}
	await(func() bool { return strings.Contains(health(t, s), `"status":"ok"`) }) // calls are written beside
	http.DefaultClient.CloseIdleConnections()
	s.end(t)
	got := recorded(t, dir)
	for _, body := range sent {
		if got[body] != 1 {
			t.Errorf("%d records of %s", got[body], body)
		}
	}
}
