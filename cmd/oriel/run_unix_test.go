//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func init() { moreVerbs["listen"] = listen }

// listen tells of signals, and does what lines of standard input say. None of the signals
// ends it.
func listen([]string) error {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGCONT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	lines := make(chan string)
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			lines <- in.Text()
		}
		close(lines)
	}()
	fmt.Println("child: ready")
	for {
		select {
		case s := <-signals:
			fmt.Println("child:", s)
		case line := <-lines:
			verb, number, _ := strings.Cut(line, " ")
			switch n, _ := strconv.Atoi(number); verb {
			case "exit":
				os.Exit(n)
			case "signal":
				if err := syscall.Kill(syscall.Getpid(), syscall.Signal(n)); err != nil {
					return err
				}
			default:
				return fmt.Errorf("child: %q?", line)
			}
		}
	}
}

// startRun starts oriel run on a listening child, in a session of its own: whoever runs the
// tests may have a terminal. say writes lines to the child, await reads until a text.
func startRun(t *testing.T, before ...string) (cmd *exec.Cmd, say func(string), await func(string) []string) {
	t.Helper()
	args := append(before, "oriel", "run", "--data", t.TempDir(), "--", "child", "listen")
	cmd = exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = &syncBuffer{}
	startProgram(t, cmd)
	say = func(line string) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	return cmd, say, awaiter(t, out)
}

// startProgram starts a program in a session of its own. One that does not end is killed,
// and none is left when its folders are removed.
func startProgram(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = tooLong
	mindSignals()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	late := time.AfterFunc(tooLong, kill)
	t.Cleanup(func() {
		late.Stop()
		kill()
		cmd.Wait() // twice is no harm
	})
}

// tooLong is how long a program may leave a test waiting.
const tooLong = 3 * time.Minute

// ignoredAtStart are the signals that whoever started the tests ignores. signal.Ignored
// forgets them once a test has waited for them.
var ignoredAtStart = func() (list []os.Signal) {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGUSR2} {
		if signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}()

// mindSignals makes sure that programs started by the tests react to all signals. A child
// inherits ignored signals, and this process may ignore some: under nohup, or in the background
// of a script.
func mindSignals() {
	if len(ignoredAtStart) > 0 {
		signal.Notify(make(chan os.Signal, 1), ignoredAtStart...) // as good as ignored, but not inherited
	}
}

// awaiter reads lines until one has the text; seen are all so far.
func awaiter(t *testing.T, r io.Reader) func(text string) (seen []string) {
	lines := bufio.NewScanner(r)
	var seen []string
	return func(text string) []string {
		t.Helper()
		for lines.Scan() {
			if seen = append(seen, lines.Text()); strings.Contains(lines.Text(), text) {
				return seen
			}
		}
		t.Fatalf("no %q in %q: %v", text, seen, lines.Err())
		return nil
	}
}

// A child that ignores all signals is not ended, nor is oriel before it; what is for oriel
// alone is passed on, and the exit code is the child's.
func TestRunPassesSignalsOn(t *testing.T) {
	cmd, say, await := startRun(t)
	await("child: ready")
	for range 2 {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT,
			syscall.SIGUSR1, syscall.SIGUSR2} {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			await("child: " + s.String())
		}
	}
	say("exit 7")
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit %d", code)
	}
	if said := cmd.Stderr.(*syncBuffer).String(); !strings.Contains(said, "\noriel: NO CALL CAME THROUGH") {
		t.Error(said)
	}
}

func TestRunTellsOfAKilledChild(t *testing.T) {
	cmd, say, await := startRun(t)
	await("child: ready")
	say("signal 9")
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+9 {
		t.Errorf("exit %d", code)
	}
	if said := cmd.Stderr.(*syncBuffer).String(); !strings.Contains(said, "\noriel: NO CALL CAME THROUGH") {
		t.Error(said)
	}
}

// What is ignored stays ignored: nohup, and background jobs of scripts.
func TestRunLeavesIgnoredSignals(t *testing.T) {
	cmd, say, await := startRun(t, "sh", "-c", `trap "" HUP INT; exec "$@"`, "sh")
	await("child: ready")
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		for _, to := range []int{-cmd.Process.Pid, cmd.Process.Pid} { // the group, and oriel alone
			if err := syscall.Kill(to, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	usr1 := "child: " + syscall.SIGUSR1.String()
	if seen := await(usr1); !slices.Equal(seen, []string{"child: ready", usr1}) {
		t.Errorf("%q", seen)
	}
	say("exit 0")
	out := cmd.Stderr.(*syncBuffer)
	if err := cmd.Wait(); err != nil {
		t.Error(err, out)
	}
}

// Two at once share a data folder.
func TestRunsShareAHistory(t *testing.T) {
	model, dir := startModel(t), t.TempDir()
	var wait sync.WaitGroup
	for _, format := range []string{"anthropic", "chat"} {
		wait.Go(func() {
			cmd := exec.Command("oriel", "run", "--profile", "off", "--data", dir, "--", "child", "ask", format, "4")
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "OPENAI_BASE_URL="+model+"/v1",
				"ANTHROPIC_BASE_URL="+model)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "\noriel: 4 calls, ") {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	wait.Wait()
	var out, errs syncBuffer
	if code := run([]string{"conversations", "--data", dir}, strings.NewReader(""), &out, &errs); code != 0 ||
		strings.Count(out.String(), "\n") < 3 {
		t.Error(code, out.String(), errs.String())
	}
	if code := run([]string{"verify", "--data", dir}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Error(code, out.String(), errs.String())
	}
}

// SPEC E5: what was cut is in the summary, with what it has saved.
func TestRunTellsOfCuts(t *testing.T) {
	model, dir := startModel(t), t.TempDir()
	t.Setenv("OPENAI_BASE_URL", model+"/v1")
	file := filepath.Join(dir, "summary.json")
	var out, errs syncBuffer
	words := strings.Repeat("lies east of the pier and ", 80)
	code := run([]string{"run", "--data", dir, "--summary", file, "--profile", "chat", "--", "child", "ask", "chat",
		"25", words}, strings.NewReader(""), &out, &errs)
	for _, want := range []string{
		`(?m)^oriel: 25 calls, `, `(?m)^  sent    [0-9,]+ of [0-9,]+ tokens \([0-9]+%\)$`,
		`(?m)^  cuts    [1-9][0-9]*; recalls [0-9]+$`,
		`(?m)^  cost    about \$[0-9.]+; about \$[0-9.]+ without Oriel$`,
		`(?m)^  look    oriel show [^ ]+ --plan --data `,
	} {
		if !regexp.MustCompile(want).MatchString(errs.String()) {
			t.Errorf("no %s in %s", want, errs.String())
		}
	}
	data, err := os.ReadFile(file)
	var got struct {
		Calls, Cuts int
		Before      int `json:"tokens_before"`
		After       int `json:"tokens_after"`
	}
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil || code != 0 || out.String() != "" || got.Calls != 25 || got.Cuts == 0 || got.After >= got.Before {
		t.Errorf("%d %q %s %v", code, out.String(), data, err)
	}
}

// A summary that is still being written when the run ends has not failed.
func TestRunDoesNotCallAnUnfinishedSummaryFailed(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", startModel(t)+"/v1")
	asked := make(chan struct{}, 100)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else the server does not notice that the client is gone
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer slow.Close()
	var out, errs syncBuffer
	words := strings.Repeat("lies east of the pier and ", 80)
	run([]string{
		"run", "--data", t.TempDir(), "--profile", "chat", "--condense-url", slow.URL + "/v1", "--condense-model", "m",
		"--", "child", "ask", "chat", "25", words,
	}, strings.NewReader(""), &out, &errs)
	if got := errs.String(); len(asked) == 0 || strings.Contains(got, "failed") || !strings.Contains(got, "\n  cuts ") {
		t.Errorf("%d asked: %s", len(asked), got)
	}
}

// Summaries that fail are not counted as made, and the summary of the run says why they
// failed.
func TestRunTellsOfFailedSummaries(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", startModel(t)+"/v1")
	var out, errs syncBuffer
	words := strings.Repeat("lies east of the pier and ", 80)
	run([]string{
		"run", "--data", t.TempDir(), "--profile", "chat", "--condense", "inline", "--condense-url",
		"http://" + freeAddress(t) + "/v1", "--condense-model", "m",
		"--", "child", "ask", "chat", "25", words,
	}, strings.NewReader(""), &out, &errs)
	if got := errs.String(); !regexp.MustCompile(
		`(?m)^  ! (1 summary|[0-9]+ summaries) failed; the last error: condense: ask the summarising model:$`).MatchString(got) || strings.Contains(got, "; summaries") {
		t.Error(got)
	}
}
