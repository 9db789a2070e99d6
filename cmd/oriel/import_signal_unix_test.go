//go:build unix

package main

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// An import that SIGTERM or SIGHUP ends removes its copy of a database. What is ignored, as
// by nohup, stays ignored.
func TestSignalsLeaveNoCopyOfADatabase(t *testing.T) {
	statements, err := os.ReadFile("../../timeline/importer/testdata/opencode.sql")
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
			// The import stops at the log until the test lets it go on.
			log := path + "-wal"
			if err := syscall.Mkfifo(log, 0o600); err != nil {
				t.Fatal(err)
			}
			args := append(test.before, "oriel", "import", "--data", filepath.Join(t.TempDir(), "data"), path)
			cmd := exec.Command(args[0], args[1:]...)
			errs := &syncBuffer{}
			cmd.Stderr = errs
			startProgram(t, cmd)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				cmd.Wait()
				if f, err := os.OpenFile(log, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil { // it did not come to the log
					f.Close()
				}
			}()
			held, err := os.OpenFile(log, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(test.signal); err != nil {
				t.Error(err, errs.String())
			}
			os.Remove(log)
			held.Close()
			<-ended
			if code := cmd.ProcessState.ExitCode(); code < 0 || test.before != nil && code != 0 {
				t.Errorf("%v: %s", cmd.ProcessState, errs.String())
			}
			if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
