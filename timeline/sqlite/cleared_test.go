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
	clock := setClock(s)
	add(t, s, "goes", hidden, prose(1, 3000))
	hold(t, dir, "")
	end := hold(t, dir, "goes")
	if out, err := command("delete", dir, "goes").CombinedOutput(); err != nil ||
		strings.TrimSpace(string(out)) != "pending: true" {
		t.Fatalf("%s, %v", out, err)
	}
	add(t, s, "stays", "hello")
	if n := bytesIn(t, filepath.Join(dir, "oriel.db-wal"), hidden); n == 0 {
		t.Fatal("the text is gone already: the test finds nothing")
	}
	end()
	clock.time = clock.time.Add(1100 * time.Millisecond) // it has just been tried
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
	clock := setClock(s)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		add(t, s, name, "text of "+name)
	}
	// took tells how long a deletion waits; paused is called at each of its pauses.
	took := func(ctx context.Context, name string, paused func(n int)) (time.Duration, bool) {
		t.Helper()
		start, n := clock.time, 0
		clock.paused = func() {
			n++
			paused(n)
		}
		gone, err := s.Delete(ctx, timeline.Local, name, nil)
		if err != nil || gone.Messages != 1 {
			t.Errorf("%s: %+v, %v", name, gone, err)
		}
		return clock.time.Sub(start), gone.Pending
	}
	nothing := func(int) {}
	// One that ends soon is waited for.
	end := hold(t, dir, "a")
	d, pending := took(ctx, "a", func(n int) {
		if n == 3 {
			end()
		}
	})
	if pending || d != (2+4+8)*time.Millisecond {
		t.Errorf("after %v, pending %t", d, pending)
	}
	end = hold(t, dir, "b")
	// Who has no time gets what is known by then.
	short, cancel := context.WithCancel(ctx)
	d, pending = took(short, "b", func(n int) {
		if n == 2 {
			cancel()
		}
	})
	if !pending || d != (2+4)*time.Millisecond {
		t.Errorf("after %v, pending %t", d, pending)
	}
	if d, pending := took(ctx, "c", nothing); !pending || d < 2*time.Second || d > 2050*time.Millisecond {
		t.Errorf("after %v, pending %t", d, pending)
	}
	// Another deletion beside the same reader does not wait once more.
	if d, pending := took(ctx, "d", nothing); !pending || d != 0 {
		t.Errorf("after %v, pending %t", d, pending)
	}
	end()
	if d, pending := took(ctx, "e", nothing); pending || d != 0 {
		t.Errorf("after %v, pending %t with nobody reading", d, pending)
	}
	verify(t, s)
}

// testClock is a clock that goes on only by pauses, and by hand.
type testClock struct {
	time   time.Time
	paused func()
}

// setClock gives a store a clock of its own, for one goroutine.
func setClock(s *sqlite.Store) *testClock {
	c := &testClock{time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.SetClock(func() time.Time { return c.time }, func(ctx context.Context, d time.Duration) error {
		c.time = c.time.Add(d)
		if c.paused != nil {
			c.paused()
		}
		return ctx.Err()
	})
	return c
}
