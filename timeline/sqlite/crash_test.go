package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// child is what the test binary does as a child of itself.
func child(job string, args []string) int {
	var err error
	switch job {
	case "append":
		err = childAppend(args[0], args[1])
	case "open":
		var s *sqlite.Store
		if s, err = sqlite.Open(ctx, args[0], sqlite.Options{}); err == nil {
			err = s.Close()
		}
	case "share":
		err = childShare(args[0], args[1])
	case "delete":
		var s *sqlite.Store
		if s, err = sqlite.Open(ctx, args[0], sqlite.Options{}); err == nil {
			var gone timeline.Deleted
			setClock(s) // those who read are waited for, in no time
			gone, err = s.Delete(ctx, timeline.Local, args[1], nil)
			err = errors.Join(err, s.Close())
			fmt.Println("pending:", gone.Pending)
		}
	case "hold":
		err = childHold(args[0], args[1])
	case "read":
		err = childRead(args[0])
	case "copy": // a process that closes one of SQLite's files loses its locks
		var data []byte
		if data, err = os.ReadFile(args[0]); err == nil {
			err = os.WriteFile(args[1], data, 0o600)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// command is the test binary as its child.
func command(job string, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), childVar+"="+job, "GORACE=atexit_sleep_ms=0") // else each exit takes a second
	return c
}

const writers = 3 // conversations that a child appends to at once

// crashText is what the message of a depth says. Some are long, so that
// transactions take several pages.
func crashText(conversation string, depth int64) string {
	s := fmt.Sprintf("%s %d ", conversation, depth)
	if depth%5 == 0 {
		s += prose(int(depth), 6000)
	}
	return s
}

// childAppend appends until it dies, and prints what has been acknowledged. fail is
// "", or a point and how often it is passed before the process ends itself there.
func childAppend(dir, fail string) error {
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	point, count, found := strings.Cut(fail, ":")
	if found {
		left, err := strconv.Atoi(count)
		if err != nil {
			return err
		}
		s.SetFail(func(at string) {
			if at != point {
				return
			}
			if left--; left == 0 {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				select {}
			}
		})
	}
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			name := fmt.Sprint("c", i)
			c, err := s.Conversation(ctx, timeline.Local, name)
			if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
				panic(err)
			}
			for at := c.Head; ; {
				a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, At: at, Now: time.Now(),
					Messages: texts(crashText(name, at.Depth+1))})
				if err != nil {
					panic(err)
				}
				at = a.Head
				fmt.Printf("%s %d\n", name, at.Depth)
			}
		})
	}
	for { // something to delete, too
		said := texts(fmt.Sprint("one ", rand.Int()), "two", crashText("passing", 5))
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "passing", Now: time.Now(),
			Messages: said})
		if err != nil {
			return err
		}
		x := timeline.Extract{Span: timeline.Span{Trunk: a.Head.Trunk, First: 1, Last: 3}, Data: []byte(prose(3, 3000))}
		for i := range said {
			x.Contents = append(x.Contents, timeline.HashOf(said[i].Raw))
		}
		if err := s.KeepExtracts(ctx, timeline.Local, "words/1", []timeline.Extract{x}); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
		if _, err := s.Delete(ctx, timeline.Local, "passing", nil); err != nil {
			return err
		}
	}
}

// TestNothingAcknowledgedIsLostByKill kills a process that writes, from outside at
// any moment and from inside at the worst ones. All 200:
//
//	ORIEL_CRASHES=200 go test ./timeline/sqlite -run Kill
func TestNothingAcknowledgedIsLostByKill(t *testing.T) {
	runs := 40
	if n, err := strconv.Atoi(os.Getenv("ORIEL_CRASHES")); err == nil {
		runs = n
	}
	if testing.Short() {
		runs = 8
	}
	points := []string{"", "before commit", "after commit", "between statements"}
	dir := t.TempDir()
	acknowledged := map[string]int64{}
	for i := range runs {
		if i%20 == 19 {
			dir, acknowledged = t.TempDir(), map[string]int64{} // killed while it is made, too
		}
		fail := ""
		if p := points[i%len(points)]; p != "" {
			fail = fmt.Sprintf("%s:%d", p, 1+rand.IntN(60))
		}
		crash(t, dir, fail, acknowledged)
		if i%8 == 7 {
			garble(t, filepath.Join(dir, "oriel.db-wal"))
		}
		whole(t, dir, acknowledged)
	}
	t.Logf("%d kills", runs)
}

// crash runs a child until it is dead.
func crash(t *testing.T, dir, fail string, acknowledged map[string]int64) {
	t.Helper()
	c := command("append", dir, fail)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// From outside it comes while the store is opened, or some time after the first
	// change.
	soon, limit := time.Duration(rand.IntN(40))*time.Millisecond, time.Duration(rand.IntN(60))*time.Millisecond
	early := fail == "" && rand.IntN(4) == 0
	if !early {
		limit = time.Minute
	}
	timer := time.AfterFunc(limit, func() { _ = c.Process.Kill() })
	first := true
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if first && fail == "" && !early {
			timer.Reset(soon)
		}
		first = false
		name, depth, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseInt(depth, 10, 64); err == nil {
			acknowledged[name] = n
		}
	}
	_ = c.Wait()
	timer.Stop()
	if stderr.Len() > 0 {
		t.Fatalf("the child failed: %s", stderr.String())
	}
}

// garble appends to a log what a disk may leave there.
func garble(t *testing.T, path string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // it was killed before there was one
	}
	defer f.Close()
	garbage := make([]byte, 1+rand.IntN(10_000))
	for i := range garbage {
		garbage[i] = byte(rand.Uint32())
	}
	if _, err := f.Write(garbage); err != nil {
		t.Fatal(err)
	}
}

// whole opens the store and finds everything that was acknowledged.
func whole(t *testing.T, dir string, acknowledged map[string]int64) {
	t.Helper()
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	verify(t, s)
	for name, depth := range acknowledged {
		c, err := s.Conversation(ctx, timeline.Local, name)
		if err != nil {
			t.Fatal(err)
		}
		if c.Head.Depth < depth || c.Head.Depth > depth+1 {
			t.Fatalf("%s is at %d, %d were acknowledged", name, c.Head.Depth, depth)
		}
		n := int64(0)
		err = s.Messages(ctx, timeline.Local, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
			if n++; string(e.Raw) != crashText(name, n) {
				return fmt.Errorf("message %d is %q", n, e.Raw)
			}
			return nil
		})
		if err != nil || n != c.Head.Depth {
			t.Fatalf("%s: %d messages of %d: %v", name, n, c.Head.Depth, err)
		}
		acknowledged[name] = c.Head.Depth
	}
	t.Logf("whole after %v", acknowledged)
}

// A log that lost its end, as the loss of power may leave it, costs what it held and
// nothing else.
func TestATruncatedLogCostsItsEndOnly(t *testing.T) {
	dir := t.TempDir()
	for range 5 {
		crash(t, dir, fmt.Sprintf("after commit:%d", 20+rand.IntN(40)), map[string]int64{})
		log := filepath.Join(dir, "oriel.db-wal")
		if info, err := os.Stat(log); err == nil && info.Size() > 0 {
			if err := os.Truncate(log, rand.Int64N(info.Size())); err != nil {
				t.Fatal(err)
			}
		}
		whole(t, dir, nil)
	}
}
