package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// Every command that opens a history says that a folder belongs to another user.
func TestAnotherUsersFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "theirs")
	others := t.TempDir()
	talk := filepath.Join(others, "talk.jsonl")
	if err := os.WriteFile(talk, []byte(`{"conversation":"c1","text":"hello"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(others), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "import", "--data", dir, talk); code != 0 {
		t.Fatal(errOut)
	}
	if err := os.WriteFile(filepath.Join(dir, serve.LearntFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	asAnother(t, dir)
	for _, args := range []string{
		"conversations", "show c1", "export c1", "recall x", "usage", "context", "context c1", "statusline",
		"directives", "pin c1 1", "unpin c1 1", "undo c1",
		"release c1", "private c1", "backup x.db", "verify", "stats", "prune --older-than 1d --yes", "delete c1 --yes",
		"models --learnt", "models --forget all",
		"token list", "token revoke x", "demo", "import " + talk, "token add --tenant x",
	} {
		code, out, errOut := command(t, append(strings.Fields(args), "--data", dir)...)
		if code != 1 || out != "" || errOut != "oriel: "+dir+notYours {
			t.Errorf("oriel %s: exit %d: %s%s", args, code, out, errOut)
		}
	}
	if code, out, errOut := command(t, "copy", "--from", dir, "--to", others); code != 1 || out != "" ||
		errOut != "oriel: "+dir+notYours {
		t.Errorf("oriel copy: exit %d: %s%s", code, out, errOut)
	}
}

const notYours = " cannot be read: permission denied: it belongs to another user; --data names another folder\n"

// oriel run says it before the program starts, and again at the end.
func TestRunInAnotherUsersFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "theirs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	asAnother(t, dir)
	_, err := (&history{dir: dir, given: true}).serve(t.Context(), sqlite.Normal, nil)
	if err == nil || err.Error()+"\n" != dir+notYours {
		t.Error(err)
	}
	var b strings.Builder
	const trouble = "oriel: THE HISTORY CANNOT BE OPENED\n"
	tellStart(&b, &settings.Loaded{Settings: settings.Settings{Profile: "full"}}, []byte(trouble), "http://127.0.0.1:1")
	if !strings.HasPrefix(b.String(), trouble+"oriel: profile full") {
		t.Error(b.String())
	}
}

// asAnother makes dir another user's for the rest of the test: with the rights of nobody for
// root, who may read everything.
func asAnother(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
		return
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Fatal(err)
		}
		runtime.UnlockOSThread()
	})
}

func TestListenHint(t *testing.T) {
	for cause, want := range map[error]string{syscall.EACCES: "ports below 1024 need root",
		syscall.EADDRINUSE: "is oriel already running there?"} {
		err := &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", cause)}
		if got := listenHint(errors.Join(err)); !strings.Contains(got, want) {
			t.Errorf("%v: %s", cause, got)
		}
	}
}
