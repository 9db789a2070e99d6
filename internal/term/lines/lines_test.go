package lines

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a reader of lines that reads only while it is open.
type gate struct {
	mu   sync.Mutex // held while nobody reads
	text bytes.Buffer
	err  error
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return 0, g.err
	}
	return g.text.Write(p)
}

func note(n int64) []byte { return fmt.Appendf(nil, "missing %d\n", n) }

func TestAWriteNeverWaitsForTheReader(t *testing.T) {
	g := &gate{}
	g.mu.Lock()
	w := New(g, Options{Limit: 40, Note: note})
	for i := range 1000 { // would block for ever
		fmt.Fprintf(w, "line %03d\n", i)
	}
	g.mu.Unlock()
	if err := w.Close(time.Minute); err == nil || !strings.Contains(err.Error(), "lines were dropped") {
		t.Errorf("Close: %v", err)
	}
	all := strings.Split(strings.TrimSpace(g.text.String()), "\n")
	written, missing := 0, 0 // there may be several gaps
	for _, line := range all {
		var n int
		if _, err := fmt.Sscanf(line, "missing %d", &n); err == nil {
			missing += n
		} else {
			written++
		}
	}
	if int64(missing) != w.Dropped() || written+missing != 1000 {
		t.Errorf("%d written and %d reported as missing of 1000, %d dropped", written, missing, w.Dropped())
	}
}

// The note stands where lines are missing: behind those that came before them.
func TestTheCountIsWrittenInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		stuck := make(chan struct{})
		first := true
		w := New(writerFunc(func(p []byte) (int, error) {
			if first {
				first = false
				<-stuck
			}
			return g.Write(p)
		}), Options{Limit: 4, Note: note})
		for _, line := range []string{"a\n", "b\n", "c\n", "d\n", "e\n"} {
			w.Write([]byte(line))
			synctest.Wait() // a is in the goroutine, b and c wait, d and e are dropped
		}
		if w.Dropped() != 2 {
			t.Errorf("%d dropped, not 2", w.Dropped())
		}
		close(stuck)
		synctest.Wait()
		w.Write([]byte("f\n"))
		w.Close(time.Minute)
		if got, want := g.text.String(), "a\nb\nc\nmissing 2\nf\n"; got != want {
			t.Errorf("%q, not %q", got, want)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{err: errors.New("broken pipe")}
		w := New(g, Options{Note: note})
		for range 3 {
			fmt.Fprintln(w, "lost")
			time.Sleep(pause)
			synctest.Wait()
		}
		g.err = nil
		fmt.Fprintln(w, "kept")
		synctest.Wait()
		err := w.Close(time.Minute)
		if got := g.text.String(); got != "kept\nmissing 3\n" {
			t.Errorf("%q", got)
		}
		if w.Dropped() != 3 || err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Error(w.Dropped(), err)
		}
	})
}

func TestCloseWaitsNoLongerThanItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		w := New(writerFunc(func(p []byte) (int, error) { <-stuck; return len(p), nil }), Options{})
		fmt.Fprintln(w, "one")
		synctest.Wait()
		fmt.Fprintln(w, "two")
		began := time.Now()
		err := w.Close(3 * time.Second)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("Close took %v", took)
		}
		if err == nil || !strings.Contains(err.Error(), "2 lines were dropped") {
			t.Error(err)
		}
		fmt.Fprintln(w, "after the end")
		close(stuck)
	})
}

func TestNothingIsHeldBeyondTheLimit(t *testing.T) {
	g := &gate{}
	g.mu.Lock()
	w := New(g, Options{Limit: 100})
	w.Write(make([]byte, 101))
	if w.Dropped() != 1 {
		t.Error("a line that is larger than the queue was taken")
	}
	g.mu.Unlock()
	w.Close(time.Minute)
}

// writes records what is written, and fails after some bytes, once.
type writes struct {
	texts []string
	after int // -1: it does not fail
}

func (w *writes) Write(p []byte) (int, error) {
	if n := w.after; n >= 0 && n < len(p) {
		w.after = -1
		w.texts = append(w.texts, string(p[:n]))
		return n, errors.New("no room")
	}
	w.texts = append(w.texts, string(p))
	return len(p), nil
}

func TestLinesThatComeQuicklyAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{after: -1}
		w := New(out, Options{})
		for i := range 4 {
			fmt.Fprintf(w, "line %d\n", i)
			synctest.Wait()
		}
		time.Sleep(pause)
		synctest.Wait()
		long := strings.Repeat("x", together)
		for range 2 {
			fmt.Fprintln(w, long)
		}
		if err := w.Close(time.Minute); err != nil {
			t.Error(err)
		}
		if want := []string{"line 0\n", "line 1\nline 2\nline 3\n", long + "\n", long + "\n"}; !slices.Equal(out.texts,
			want) {
			t.Errorf("%q", out.texts)
		}
	})
}

func TestOneLineOfSeveralThatFailsIsCountedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{after: 9}
		w := New(out, Options{})
		w.writeAll([][]byte{[]byte("first\n"), []byte("second\n"), []byte("third\n"), []byte("last\n")})
		if w.Dropped() != 1 || w.Close(time.Minute) == nil {
			t.Errorf("%d lines are dropped", w.Dropped())
		}
		if want := []string{"first\nsec", "third\nlast\n"}; !slices.Equal(out.texts, want) {
			t.Errorf("%q", out.texts)
		}
	})
}
