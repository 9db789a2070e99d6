package postgres_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/pgtest"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
)

// child is what the test binary does as a child of itself.
func child(job string, args []string) int {
	if err := childAppend(args[0], args[1]); err != nil {
		fmt.Fprintln(os.Stderr, job, err)
		return 1
	}
	return 0
}

const writers = 3 // conversations that a child appends to at once

// crashText is what the message of a depth says. Some are long.
func crashText(conversation string, depth int64) string {
	s := fmt.Sprintf("%s %d ", conversation, depth)
	if depth%5 == 0 {
		s += strings.Repeat(fmt.Sprintf("the long message %d. ", depth), 500)
	}
	return s
}

// appendFrom appends to a conversation until that fails, and reports what was acknowledged.
func appendFrom(s timeline.Store, name string, acknowledged func(depth int64)) error {
	c, err := s.Conversation(ctx, timeline.Local, name)
	if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
		return err
	}
	for at := c.Head; ; {
		a, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: name, At: at, Now: time.Now(),
			Messages: texts(crashText(name, at.Depth+1)),
			Put: []timeline.Record{{Kind: "latest", Key: "1", At: timeline.AtHead(),
				Data: []byte(crashText(name, at.Depth+1))}}})
		if err != nil {
			return err
		}
		at = a.Head
		acknowledged(at.Depth)
	}
}

// childAppend appends until it dies, and prints what has been acknowledged. fail is "", or
// a point and how often it is passed before the process ends itself there.
func childAppend(url, fail string) error {
	s, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return err
	}
	if point, count, found := strings.Cut(fail, ":"); found {
		left, err := strconv.Atoi(count)
		if err != nil {
			return err
		}
		var mu sync.Mutex
		s.SetFail(func(at string) {
			if at != point {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				select {}
			}
		})
	}
	for i := range writers {
		name := fmt.Sprint("c", i)
		go func() { panic(appendFrom(s, name, func(depth int64) { fmt.Printf("%s %d\n", name, depth) })) }()
	}
	for { // something to delete, too
		if _, err := s.Apply(ctx, timeline.Local, timeline.Change{Conversation: "passing", Now: time.Now(),
			Messages: texts(fmt.Sprint("one ", rand.Int()), "two", crashText("passing", 5))}); err != nil {
			return err
		}
		if _, err := s.Delete(ctx, timeline.Local, "passing", nil); err != nil {
			return err
		}
	}
}

// TestNothingAcknowledgedIsLostByKill kills a process that writes, from outside at any
// moment and from inside at the worst ones. SPEC D1
func TestNothingAcknowledgedIsLostByKill(t *testing.T) {
	runs := 8
	if n, err := strconv.Atoi(os.Getenv("ORIEL_CRASHES")); err == nil {
		runs = n
	}
	url := pgtest.URL(t)
	s := open(t, url)
	points := []string{"", "before commit", "after commit", "between batches"}
	acknowledged := map[string]int64{}
	for i := range runs {
		fail := ""
		if p := points[i%len(points)]; p != "" {
			fail = fmt.Sprintf("%s:%d", p, 1+rand.IntN(60))
		}
		crash(t, url, fail, acknowledged)
		whole(t, s, acknowledged)
	}
}

// crash runs a child until it is dead.
func crash(t *testing.T, url, fail string, acknowledged map[string]int64) {
	t.Helper()
	c := exec.Command(os.Args[0], url, fail)
	c.Env = append(os.Environ(), childVar+"=append", "GORACE=atexit_sleep_ms=0") // else each exit takes a second
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	left := 20 + rand.IntN(60) // acknowledgements
	for lines := bufio.NewScanner(out); lines.Scan(); {
		name, depth, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseInt(depth, 10, 64); err == nil {
			acknowledged[name] = n
		}
		if left--; left == 0 && fail == "" {
			_ = c.Process.Kill()
		}
	}
	_ = c.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("the child failed: %s", stderr.String())
	}
}

// whole finds everything that was acknowledged.
func whole(t *testing.T, s timeline.Store, acknowledged map[string]int64) {
	t.Helper()
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
}

// TestNothingAcknowledgedIsLostByAKillOfTheServer kills the database server under writers.
// The store goes on with the server that comes back.
func TestNothingAcknowledgedIsLostByAKillOfTheServer(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, pgtest.Patient(server.URL()))
	acknowledged := map[string]int64{}
	for range 2 {
		var mu sync.Mutex
		var group sync.WaitGroup
		enough := make(chan struct{})
		total := 0
		for i := range writers {
			name := fmt.Sprint("c", i)
			group.Go(func() {
				err := appendFrom(s, name, func(depth int64) {
					mu.Lock()
					defer mu.Unlock()
					acknowledged[name] = depth
					if total++; total == 40 {
						close(enough)
					}
				})
				if err == nil || errors.Is(err, timeline.ErrDamaged) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		<-enough
		server.Kill()
		group.Wait()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		// A connection that has just been used is not asked whether it is alive: what is read
		// over one to the server that was killed fails, and it is closed.
		for range maxOpen {
			if _, err := s.Conversation(ctx, timeline.Local, "c0"); err == nil {
				break
			}
		}
		whole(t, s, acknowledged)
	}
}

// maxOpen is more than a store has connections.
const maxOpen = 100
