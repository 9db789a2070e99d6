package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// mount makes a small disk of its own, in memory.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED: no disk that can be filled, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestAFullDiskCostsNothingStored(t *testing.T) {
	for _, level := range []sqlite.Sync{sqlite.Normal, sqlite.Full} {
		dir := mount(t, "3m")
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(ctx, dir, sqlite.Options{Sync: level})
		if err != nil {
			t.Fatal(err)
		}
		var at timeline.Place
		apply := func(i int) error {
			a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "c", At: at, Now: time.Now(),
				Messages: texts(prose(i, 30_000))})
			if err == nil {
				at = a.Head
			}
			return err
		}
		whole := func() {
			t.Helper()
			verify(t, s)
			n := 0
			if err := s.Messages(ctx, timeline.Local, at, 1, at.Depth, false, func(e *timeline.Entry) error {
				if n++; string(e.Raw) != prose(n-1, 30_000) {
					t.Errorf("message %d is another", n)
				}
				return nil
			}); err != nil || int64(n) != at.Depth {
				t.Errorf("%d messages of %d: %v", n, at.Depth, err)
			}
		}
		i := 0
		for ; i < 1000; i++ {
			if err = apply(i); err != nil {
				break
			}
		}
		if !errors.Is(err, sqlite.ErrFull) || !strings.Contains(err.Error(), "make room") {
			t.Fatalf("after %d: %v", i, err)
		}
		for range 3 {
			if err := apply(i); !errors.Is(err, sqlite.ErrFull) {
				t.Fatal(err)
			}
		}
		whole()
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := apply(i); err != nil {
				t.Fatalf("with space again: %v", err)
			}
			i++
		}
		whole()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = sqlite.Open(ctx, dir, sqlite.Options{}); err != nil {
			t.Fatal(err)
		}
		whole()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullDiskIsToldWhenAHistoryIsMade(t *testing.T) {
	dir := mount(t, "40k")
	_, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if !errors.Is(err, sqlite.ErrFull) {
		t.Errorf("error %v", err)
	}
	err = syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=4m")
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verify(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// asNobody runs a child that the modes of files hold back, which do not do so with
// root.
func asNobody(t *testing.T, job string, args ...string) (string, error) {
	t.Helper()
	c := command(job, args...)
	if os.Getuid() == 0 {
		program := filepath.Join(t.TempDir(), "child")
		from, err := os.Open(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		c.Path = program
		c.Args[0] = program
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := c.CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}

func TestWhatCannotBeWrittenToIsToldAtOpening(t *testing.T) {
	for _, c := range []struct {
		name         string
		folder, file os.FileMode
		running      bool // its log is there
	}{
		{"folder", 0o555, 0o666, false},
		{"file", 0o777, 0o444, false},
		{"both", 0o555, 0o444, false},
		{"both, with a log", 0o555, 0o444, true},
		{"unreadable", 0o777, 0o000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for p := dir; p != os.TempDir() && p != "/"; p = filepath.Dir(p) {
				if err := os.Chmod(p, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, dir)
			add(t, s, "c", "hello")
			if !c.running {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if err := os.Chmod(f, c.file); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, c.folder); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o755)
			out, err := asNobody(t, "open", dir)
			if err == nil || !strings.Contains(out, sqlite.ErrReadOnly.Error()) ||
				!strings.Contains(out, "make the folder") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	t.Run("no folder can be made", func(t *testing.T) {
		dir := t.TempDir()
		for p := dir; p != os.TempDir() && p != "/"; p = filepath.Dir(p) {
			if err := os.Chmod(p, 0o555); err != nil {
				t.Fatal(err)
			}
		}
		defer os.Chmod(filepath.Dir(dir), 0o755)
		defer os.Chmod(dir, 0o755)
		out, err := asNobody(t, "open", filepath.Join(dir, "data"))
		if err == nil || !strings.Contains(out, "make the folder") {
			t.Error(fmt.Errorf("%w: %s", err, out))
		}
	})
}

// reachable lets every user into a folder for tests.
func reachable(t *testing.T, dir string) {
	t.Helper()
	for p := dir; p != os.TempDir() && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatCannotBeWrittenToCanBeRead(t *testing.T) {
	for _, c := range []struct {
		name         string
		folder, file os.FileMode
		running      bool   // its log is there
		without      string // a file that is missing
		want         string
	}{
		{"folder", 0o555, 0o666, false, "", "hello"},
		{"file", 0o777, 0o444, false, "", "hello"},
		{"both", 0o555, 0o444, false, "", "hello"},
		{"both, with a log", 0o555, 0o444, true, "", "hello"},
		{"both, with a log that has no index", 0o555, 0o444, true, "oriel.db-shm", "its log can only be read where"},
		{"unreadable", 0o755, 0o000, false, "", "make the folder and the files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, dir := t.TempDir(), t.TempDir()
			reachable(t, dir)
			s := open(t, from)
			add(t, s, "c", "hello")
			if !c.running {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			// A copy: nothing else may have it open, which would share its index.
			if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			dir = filepath.Join(dir, "data")
			if c.without != "" {
				if err := os.Remove(filepath.Join(dir, c.without)); err != nil {
					t.Fatal(err)
				}
			}
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, f := range files {
				if err := os.Chmod(f, c.file); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, c.folder); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o755)
			out, err := asNobody(t, "read", dir)
			if (err == nil) != (c.want == "hello") || !strings.Contains(out, c.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestAReadOnlyDiskCanBeRead(t *testing.T) {
	dir := mount(t, "4m")
	s := open(t, dir)
	add(t, s, "c", "hello")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	s, err := sqlite.Open(ctx, dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := history(t, s, "c"); got != "hello" {
		t.Errorf("history %q", got)
	}
	verify(t, s)
	if err := s.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")); err != nil {
		t.Error(err)
	}
	if _, err := sqlite.Open(ctx, dir, sqlite.Options{}); !errors.Is(err, sqlite.ErrReadOnly) {
		t.Errorf("error %v", err)
	}
	// What is read while it changes after all may be of two states.
	remount(0)
	if out, err := command("delete", dir, "c").CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	if _, err := s.Conversation(ctx, timeline.Local, "c"); !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("error %v", err)
	}
}
