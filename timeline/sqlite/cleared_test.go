package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// childHold keeps the history open until its input ends: with a snapshot of a
// conversation, or without one where the name is empty.
func childHold(dir, conversation string) error {
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	wait := func() error {
		fmt.Println("here")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	if conversation == "" {
		return errors.Join(wait(), s.Close())
	}
	c, err := s.Conversation(ctx, timeline.Local, conversation)
	if err != nil {
		return err
	}
	err = s.Messages(ctx, timeline.Local, c.Head, 1, 1, false, func(*timeline.Entry) error { return wait() })
	return errors.Join(err, s.Close())
}

// hold starts such a child, and gives what ends it.
func hold(t *testing.T, dir, conversation string) (end func()) {
	t.Helper()
	c := command("hold", dir, conversation)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			in.Close()
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "here\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return end
}

const hidden = "zz9-plural-z-alpha"

// deletedBeside is the folder of a history whose conversation "goes" another process
// deleted while a third was reading it. A fourth keeps the history open, so that
// SQLite does not clear it by itself when the others end.
func deletedBeside(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	add(t, s, "goes", hidden, prose(1, 3000))
	add(t, s, "stays", "hello")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	hold(t, dir, "")
	end := hold(t, dir, "goes")
	out, err := command("delete", dir, "goes").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "pending: true" {
		t.Fatalf("%s, %v", out, err)
	}
	if n := found(t, dir); n == 0 {
		t.Fatal("the text is gone already: the test finds nothing")
	}
	end()
	return dir
}

// found counts what should be gone, in both files.
func found(t *testing.T, dir string) int {
	t.Helper()
	return bytesIn(t, filepath.Join(dir, "oriel.db"), hidden) + bytesIn(t, filepath.Join(dir, "oriel.db-wal"), hidden)
}

func TestDeletedBytesGoWhenTheNextProcessOpensTheHistory(t *testing.T) {
	dir := deletedBeside(t)
	if out, err := command("open", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n := found(t, dir); n != 0 {
		t.Errorf("the text is there %d times", n)
	}
	s := open(t, dir)
	if st, err := s.Stats(ctx, timeline.Local); err != nil || st.Pending {
		t.Errorf("%+v, %v", st, err)
	}
	verify(t, s)
}

func TestDeletedBytesGoWhenAnotherProcessWrites(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, "goes", hidden, prose(1, 3000))
	hold(t, dir, "")
	end := hold(t, dir, "goes")
	if out, err := command("delete", dir, "goes").CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "pending: true" {
		t.Fatalf("%s, %v", out, err)
	}
	add(t, s, "stays", "hello")
	if n := bytesIn(t, filepath.Join(dir, "oriel.db-wal"), hidden); n == 0 {
		t.Fatal("the text is gone already: the test finds nothing")
	}
	end()
	time.Sleep(1100 * time.Millisecond) // it has just been tried
	add(t, s, "stays", "again")
	if n := bytesIn(t, filepath.Join(dir, "oriel.db-wal"), hidden); n != 0 {
		t.Errorf("the log has the text %d times", n)
	}
	if st, err := s.Stats(ctx, timeline.Local); err != nil || st.Pending {
		t.Errorf("%+v, %v", st, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := found(t, dir); n != 0 {
		t.Errorf("the text is there %d times", n)
	}
}

func TestDeletionWaitsForReadersButNotForLong(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		add(t, s, name, "text of "+name)
	}
	took := func(ctx context.Context, name string) (time.Duration, bool) {
		t.Helper()
		start := time.Now()
		gone, err := s.Delete(ctx, timeline.Local, name, nil)
		if err != nil || gone.Messages != 1 {
			t.Errorf("%s: %+v, %v", name, gone, err)
		}
		return time.Since(start), gone.Pending
	}
	// One that ends soon is waited for.
	end := hold(t, dir, "a")
	time.AfterFunc(300*time.Millisecond, end)
	if d, pending := took(ctx, "a"); pending || d < 100*time.Millisecond {
		t.Errorf("after %v, pending %t", d, pending)
	}
	end = hold(t, dir, "b")
	// Who has no time gets what is known by then.
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if d, pending := took(short, "b"); !pending || d > time.Second {
		t.Errorf("after %v, pending %t", d, pending)
	}
	if d, pending := took(ctx, "c"); !pending || d < 1500*time.Millisecond || d > 6*time.Second {
		t.Errorf("after %v, pending %t", d, pending)
	}
	// Another deletion beside the same reader does not wait once more.
	if d, pending := took(ctx, "d"); !pending || d > time.Second {
		t.Errorf("after %v, pending %t", d, pending)
	}
	end()
	if _, pending := took(ctx, "e"); pending {
		t.Error("pending with nobody reading")
	}
	verify(t, s)
}
