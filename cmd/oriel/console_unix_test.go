//go:build unix

package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal that ends oriel console, as a supervisor sends it, ends the server that it started.
func TestConsoleEndsItsServer(t *testing.T) {
	address := freeAddress(t)
	t.Setenv("ORIEL_LISTEN", address)
	t.Setenv("ORIEL_CONFIG", "")
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		errs := &syncBuffer{}
		cmd := startOriel(t, &syncBuffer{}, errs, "console", "--data", t.TempDir())
		awaitHealth(t, address)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v %s", s, err, errs)
		}
		if listens(context.Background(), address) {
			t.Errorf("%v: the server still runs", s)
		}
	}
}

// Beside a server on another history, oriel console runs one of its own, at another address.
func TestConsoleRunsAServerOfItsHistory(t *testing.T) {
	address := freeAddress(t)
	t.Setenv("ORIEL_LISTEN", address)
	for _, name := range []string{"ORIEL_CONFIG", "ORIEL_DATA", "ORIEL_STORE", "ORIEL_TOKEN", "DISPLAY",
		"WAYLAND_DISPLAY"} {
		t.Setenv(name, "")
	}
	theirs, mine := t.TempDir(), t.TempDir()
	startOriel(t, &syncBuffer{}, &syncBuffer{}, "serve", "--data", theirs)
	awaitHealth(t, address)
	out, errs := &syncBuffer{}, &syncBuffer{}
	if err := startOriel(t, out, errs, "console", "--data", theirs).Wait(); err != nil ||
		out.String() != "http://"+address+"/oriel/\n" {
		t.Fatalf("%v %q %q", err, out, errs)
	}
	page, said := &syncBuffer{}, &syncBuffer{}
	cmd := startOriel(t, page, said, "console", "--data", mine)
	at := ""
	for late := time.Now().Add(tooLong); at == "" && time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		for line := range strings.Lines(page.String()) {
			if rest, ok := strings.CutPrefix(line, "http://"); ok && strings.HasSuffix(rest, "/oriel/\n") {
				at = strings.TrimSuffix(rest, "/oriel/\n")
			}
		}
	}
	if at == "" || at == address || !strings.Contains(said.String(), "has another history, "+theirs+":") {
		t.Fatalf("%q %q %q", at, page, said)
	}
	client, err := newTopClient("http://"+at, "")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := otherHistory(t.Context(), client, &history{dir: theirs, given: true}); err != nil ||
		other != mine {
		t.Errorf("%q %v", other, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v %s", err, said)
	}
}
