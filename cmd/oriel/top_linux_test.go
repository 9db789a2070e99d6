package main

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/oriel-context/oriel/internal/term"
)

// screenOn reads what a program shows on a terminal.
type screenOn struct {
	t    *testing.T
	keys *os.File
	mu   sync.Mutex
	text strings.Builder
}

func newScreenOn(t *testing.T, keys *os.File) *screenOn {
	s := &screenOn{t: t, keys: keys}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := keys.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *screenOn) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until something is shown after what was shown before.
func (s *screenOn) await(after int, text string) {
	s.t.Helper()
	for end := time.Now().Add(tooLong); ; {
		if all := s.shown(); strings.Contains(all[min(after, len(all)):], text) {
			return
		} else if time.Now().After(end) {
			s.t.Fatalf("no %q in %q", text, all)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// press sends keys and waits for what they show.
func (s *screenOn) press(keys, shows string) {
	s.t.Helper()
	before := len(s.shown())
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
	s.await(before, shows)
}

func resize(t *testing.T, f *os.File, columns, rows int) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
}

// The screen on a terminal: it follows new calls and the terminal's size, pins, tells that
// the server is gone, and leaves the terminal as it was.
func TestTopOnATerminal(t *testing.T) {
	s, client := serveCut(t)
	ended := false
	defer func() {
		if !ended {
			s.end(t)
		}
	}()
	keys, cmd, unchanged := onTerminal(t, "oriel", "top", "--url", client.base)
	screen := newScreenOn(t, keys)
	resize(t, keys, 80, 24)
	screen.await(0, "11 calls today")
	screen.await(0, "sent as it came")
	screen.press("[", "fold: ")
	screen.press("p", "is pinned")
	screen.press("?", "Any key returns.")
	before := len(screen.shown())
	io.WriteString(keys, "x")
	resize(t, keys, 120, 40)
	screen.await(before, "took") // a column that needs room
	before = len(screen.shown())
	s.talk(t, client.base, topCalls)
	screen.await(before, "12 calls today")
	before = len(screen.shown())
	ended = true
	s.end(t)
	screen.await(before, "asking again")
	screen.press("\x03", leaveScreen)
	if err := cmd.Wait(); err != nil || !unchanged() {
		t.Errorf("%v; the terminal is unchanged: %v", err, unchanged())
	}
}

// A signal ends the screen and restores the terminal.
func TestTopRestoresTheTerminalAfterASignal(t *testing.T) {
	s, client := serveCut(t)
	defer s.end(t)
	keys, cmd, unchanged := onTerminal(t, "oriel", "top", "--url", client.base)
	resize(t, keys, 80, 24)
	screen := newScreenOn(t, keys)
	screen.await(0, "q quit")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	screen.await(0, leaveScreen)
	if err := cmd.Wait(); err != nil || !unchanged() {
		t.Errorf("%v; the terminal is unchanged: %v", err, unchanged())
	}
}

func init() { moreVerbs["panicking-top"] = panickingTop }

// panickingTop is a screen that panics when it is drawn.
func panickingTop([]string) error {
	client, err := newTopClient("http://127.0.0.1:1", "")
	if err != nil {
		return err
	}
	s := &topScreen{model: newTopModel(client.base, 80, 24, term.Style{}), client: client, in: os.Stdin, out: os.Stdout,
		news: make(chan func(*topModel) topJob, 1)}
	s.news <- func(*topModel) topJob { panic("a fault") }
	return s.run(context.Background())
}

// A panic ends the screen and restores the terminal.
func TestTopRestoresTheTerminalAfterAPanic(t *testing.T) {
	keys, cmd, unchanged := onTerminal(t, "child", "panicking-top")
	screen := newScreenOn(t, keys)
	screen.await(0, leaveScreen)
	screen.await(0, "a fault")
	if err := cmd.Wait(); err == nil || !unchanged() {
		t.Errorf("%v; the terminal is unchanged: %v", err, unchanged())
	}
}
