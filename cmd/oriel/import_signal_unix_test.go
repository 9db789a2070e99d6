//go:build unix

package main

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// An import that SIGTERM or SIGHUP ends removes its copy of a database. What is ignored, as
// by nohup, stays ignored.
func TestSignalsLeaveNoCopyOfADatabase(t *testing.T) {
	statements, err := os.ReadFile("../../internal/importer/testdata/opencode.sql")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		signal syscall.Signal
		before []string
	}{
		"SIGTERM":        {syscall.SIGTERM, nil},
		"SIGHUP":         {syscall.SIGHUP, nil},
		"ignored SIGHUP": {syscall.SIGHUP, []string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			path := filepath.Join(t.TempDir(), "opencode.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(string(statements)); err != nil {
				t.Fatal(err)
			}
			db.Close()
			args := append(test.before, "oriel", "import", "--data", filepath.Join(t.TempDir(), "data"), path)
			cmd := exec.Command(args[0], args[1:]...)
			errs := &syncBuffer{}
			cmd.Stderr = errs
			startProgram(t, cmd)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				cmd.Wait()
			}()
			for n, signalled := 0, false; ; n++ { // so that it copies the database again and again
				if err := os.Chtimes(path, time.Time{}, time.Unix(int64(n), 0)); err != nil {
					t.Fatal(err)
				}
				if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 && !signalled {
					signalled = true
					cmd.Process.Signal(test.signal)
				}
				select {
				case <-ended:
				default:
					continue
				}
				break
			}
			if code := cmd.ProcessState.ExitCode(); code < 0 || test.before != nil && code == 1 {
				t.Errorf("%v: %s", cmd.ProcessState, errs.String())
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
