package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := parse(strings.NewReader(`
format: test -z "$(gofmt -l .)"

tests, in full: go test
  -timeout=30m ./...
beside:
vet: lint: ./...
`))
	want := steps{
		first:  []step{{"format", `test -z "$(gofmt -l .)"`}, {"tests, in full", "go test -timeout=30m ./..."}},
		beside: []step{{"vet", "lint: ./..."}},
	}
	if err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(steps{}, step{})) {
		t.Errorf("%+v, %v", got, err)
	}
	for in, want := range map[string]string{
		"": "no steps", "beside:\nvet: lint": "no steps", "format": `"format" is not`, "  go on": "is not the name",
	} {
		if _, err := parse(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// lines runs steps and returns what they print, without times.
func lines(t *testing.T, ctx context.Context, s steps) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := s.run(ctx, &out)
	return regexp.MustCompile(`after \d+ s`).ReplaceAllString(out.String(), "after N s"), err
}

func TestLinesOfStepsDoNotMix(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// Each step prints, waits for the other, and prints again.
	out, err := lines(t, t.Context(), steps{
		first:  []step{{"one", "echo a; echo >" + fifo + "; echo b"}, {"two", "echo c >&2"}},
		beside: []step{{"other", "echo x; read <" + fifo + "; echo y"}, {"last", "true"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	one, two := "\n== one (after N s)\na\nb\n", "\n== two (after N s)\nc\n"
	other, last := "\n== other (after N s)\nx\ny\n", "\n== last (after N s)\n"
	passed := "\n== all passed (after N s)\n"
	for _, want := range []string{one + two + other + last, one + other + two + last, one + other + last + two} {
		if out == want+passed {
			return
		}
	}
	t.Error(out)
}

// endless prints, writes its process id to a file, and ends only if it is ended.
func endless(file string) string {
	return "echo endless; (echo $BASHPID >" + file + ".new; mv " + file + ".new " + file + "; exec tail -f /dev/null)"
}

// ended waits until the process in a file has ended.
func ended(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for { // until it is gone, or a zombie: a process that nobody waited for yet
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err := syscall.Kill(pid, 0); err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
	}
}

func TestAFailedStepEndsTheOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	out, err := lines(t, t.Context(), steps{
		first:  []step{{"tests", "until [ -e " + file + " ]; do :; done; echo wrong; exit 3"}, {"never", "echo never"}},
		beside: []step{{"vet", endless(file)}},
	})
	if err == nil || err.Error() != "tests: exit status 3" || out != "\n== tests (after N s)\nwrong\n" {
		t.Errorf("%v, output %q", err, out)
	}
	ended(t, file)
}

func TestAFailedStepBesideEndsTheOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	out, err := lines(t, t.Context(), steps{
		first:  []step{{"tests", endless(file)}, {"never", "echo never"}},
		beside: []step{{"vet", "until [ -e " + file + " ]; do :; done; echo wrong; false | true"}, {"never", "echo never"}},
	})
	want := "\n== tests (after N s)\nendless\n\n== vet (after N s)\nwrong\n"
	if err == nil || err.Error() != "vet: exit status 1" || out != want {
		t.Errorf("%v, output %q", err, out)
	}
	ended(t, file)
}

func TestAnEndedRunSaysWhatWasPrintedUntilThen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	signal := errors.New("interrupted")
	go func() {
		for {
			if _, err := os.Stat(file); err == nil {
				cancel(signal)
				return
			}
		}
	}()
	out, err := lines(t, ctx, steps{
		first:  []step{{"tests", "tail -f /dev/null"}},
		beside: []step{{"vet", endless(file)}},
	})
	want := "\n== tests (after N s)\n\n== vet (after N s)\nendless\n"
	if !errors.Is(err, signal) || out != want {
		t.Errorf("%v, output %q", err, out)
	}
	ended(t, file)
}
