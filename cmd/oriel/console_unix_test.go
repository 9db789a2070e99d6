//go:build unix

package main

import (
	"context"
	"syscall"
	"testing"
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
