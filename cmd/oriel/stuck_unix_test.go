//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/test/freeport"
)

// stuckPipe is the end of a full pipe that nobody reads: a write to it never returns.
func stuckPipe(t *testing.T) *os.File {
	t.Helper()
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	for _, fd := range ends {
		syscall.CloseOnExec(fd)
	}
	w := os.NewFile(uintptr(ends[1]), "a full pipe")
	t.Cleanup(func() {
		w.Close()
		syscall.Close(ends[0])
	})
	fillPipe(t, ends[1])
	return w
}

// fillPipe fills a pipe.
func fillPipe(t *testing.T, fd int) {
	t.Helper()
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{4096, 1} {
		for {
			_, err := syscall.Write(fd, make([]byte, size))
			if errors.Is(err, syscall.EAGAIN) {
				break
			}
			if err != nil && !errors.Is(err, syscall.EINTR) {
				t.Fatal(err)
			}
		}
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}

// brokenPipe is the end of a pipe whose reader has died.
func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// startOriel starts oriel with files of a test's own.
func startOriel(t *testing.T, out, errOut any, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("oriel", args...)
	cmd.Stdout, _ = out.(io.Writer)
	cmd.Stderr, _ = errOut.(io.Writer)
	startProgram(t, cmd)
	return cmd
}

// freeAddress is one that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := freeport.Find()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// awaitHealth asks until the server answers.
func awaitHealth(t *testing.T, address string) string {
	t.Helper()
	client := &http.Client{Timeout: tooLong}
	defer client.CloseIdleConnections()
	for late := time.Now().Add(tooLong); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		res, err := client.Get("http://" + address + "/oriel/healthz")
		if err != nil {
			continue
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	t.Fatal("the server does not answer")
	return ""
}

// Nothing that reads what the server prints can stop it: calls go on, and SIGTERM ends
// it.
func TestNoReaderOfItsOutputStopsTheServer(t *testing.T) {
	t.Setenv(nobodyReads, "1")
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0) // never reads
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	fillPipe(t, int(reader.Fd()))
	model := startModel(t)
	for name, c := range map[string]struct {
		out, errOut func(*testing.T) *os.File
		events      string
		missing     string
	}{
		"stderr stuck":          {errOut: stuckPipe},
		"stderr gone":           {errOut: brokenPipe, missing: `"dropped_log_lines":`},
		"stdout and both stuck": {out: stuckPipe, errOut: stuckPipe},
		"stdout gone":           {out: brokenPipe},
		"events stuck":          {events: fifo},
		"events and log stuck":  {errOut: stuckPipe, events: fifo},
		"events to stderr":      {errOut: stuckPipe, events: "/dev/stderr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t)
			var out, errOut any
			if c.out != nil {
				out = c.out(t)
			}
			if c.errOut != nil {
				errOut = c.errOut(t)
			}
			args := []string{"serve", "--listen", address, "--data", t.TempDir(), "--upstream-openai", model,
				"--upstream-anthropic", model}
			if c.events != "" {
				args = append(args, "--events", c.events)
			}
			cmd := startOriel(t, out, errOut, args...)
			awaitHealth(t, address)
			client := &http.Client{Timeout: tooLong}
			defer client.CloseIdleConnections()
			for range 20 {
				res, err := client.Post("http://"+address+"/v1/chat/completions", "application/json",
					strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
					t.Fatal(res.StatusCode, err)
				}
				res.Body.Close()
			}
			if got := awaitHealth(t, address); !strings.Contains(got, `"status":"ok"`) ||
				!strings.Contains(got, c.missing) {
				t.Error(got)
			}
			client.CloseIdleConnections()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 0 && name != "stdout gone" {
				t.Errorf("%v", cmd.ProcessState)
			} else if code < 0 {
				t.Errorf("it was killed: %v", cmd.ProcessState)
			}
		})
	}
}

// The summary of a run, for a terminal that is stopped or gone, does not keep the run from
// ending with the program's code.
func TestNoReaderOfItsOutputStopsARun(t *testing.T) {
	t.Setenv(nobodyReads, "1")
	model := startModel(t)
	for name, end := range map[string]func(*testing.T) *os.File{"stuck": stuckPipe, "gone": brokenPipe} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := startOriel(t, nil, end(t), "run", "--data", t.TempDir(), "--upstream-openai", model, "--", "sh",
				"-c", "exit 7")
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 7 {
				t.Errorf("%v", cmd.ProcessState)
			}
		})
	}
}

// An error of any command, too.
func TestAnErrorThatNobodyReadsEndsTheProgram(t *testing.T) {
	t.Setenv(nobodyReads, "1")
	cmd := startOriel(t, nil, stuckPipe(t), "count", "--no-such-flag")
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 2 {
		t.Errorf("%v", cmd.ProcessState)
	}
}

// What was missed while nobody read is reported as soon as somebody does.
func TestDroppedLogLinesAreReported(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := logLines(w)
	for range 3000 { // 3 MB
		out.Write([]byte(strings.Repeat("x", 999) + "\n"))
	}
	if out.Dropped() == 0 {
		t.Fatal("nothing was dropped")
	}
	for in := bufio.NewScanner(r); in.Scan(); {
		if line := in.Text(); strings.Contains(line, "level=WARN") &&
			strings.Contains(line, "lines of this log are missing") && strings.Contains(line, "lines=") {
			break
		}
	}
	r.Close()
	out.Close(tooLong)
	w.Close()
}

// What net/http writes to the standard log of the program, such as of an upstream that
// answers unasked, is in the log of the server, which no reader can stop.
func TestTheStandardLogIsTheServers(t *testing.T) {
	s := startServe(t, "--data", t.TempDir())
	log.Print("a line of the standard log")
	s.end(t)
	if !strings.Contains(s.errors.String(), "a line of the standard log") {
		t.Error(s.errors)
	}
}
