package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/tools/bench/harness"
)

// load runs the proxy under many streams at once: for a while, under the race
// detector, through a restart, and through a kill. It fails if anything is
// lost, broken or leaked.
func load(folder string, seconds, streams int) error {
	work, err := os.MkdirTemp(folder, "load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	oriel, span := filepath.Join(folder, "oriel"), time.Duration(seconds)*time.Second
	fmt.Printf("| | streams | seconds | calls read to their end | failed | result |\n|---|--:|--:|--:|--:|---|\n")
	var bad error
	try := func(name string, s *site, run func(*site) (string, error)) {
		s.data = filepath.Join(work, s.name)
		result, err := s.within(run)
		if err != nil {
			result = "FAILED: " + err.Error()
			bad = errors.Join(bad, fmt.Errorf("%s: %w", name, err))
		}
		ended, failed := s.crowd.counts()
		fmt.Printf("| %s | %d | %.0f | %d | %d | %s |\n", name, s.streams, s.span.Seconds(), ended, failed, result)
	}
	try("steady", &site{name: "steady", oriel: oriel, streams: streams, span: span}, (*site).steady)
	if race := filepath.Join(folder, "oriel-race"); installed(race) == nil {
		try("steady, race detector", &site{name: "race", oriel: race, streams: streams, span: span / 4}, (*site).steady)
	} else {
		fmt.Println("| steady, race detector | | | | | not run: oriel could not be built with it |")
	}
	try("SIGTERM and a new start", &site{name: "term", oriel: oriel, streams: streams, span: span / 4}, (*site).restart)
	try("kill -9 and a new start", &site{name: "kill", oriel: oriel, streams: streams, span: span / 4}, (*site).kill)
	return bad
}

// site is one proxy with its clients.
type site struct {
	name, oriel, data string
	streams           int
	span              time.Duration

	upstream string
	port     int
	crowd    *crowd
	process  *process
}

func (s *site) within(run func(*site) (string, error)) (string, error) {
	if err := os.Mkdir(s.data, 0o755); err != nil {
		return "", err
	}
	// 20 pieces: a stream takes about a second. Idle connections close soon,
	// so that leaks are visible.
	upstream, stop, err := startUpstream(50*time.Millisecond, 2*time.Second)
	if err != nil {
		return "", err
	}
	defer stop()
	if s.port, err = freePort(); err != nil {
		return "", err
	}
	s.upstream = upstream
	s.crowd = &crowd{client: newClient(fmt.Sprintf("http://127.0.0.1:%d", s.port)), name: s.name}
	defer func() {
		s.crowd.stop()
		if s.process != nil {
			s.process.end(syscall.SIGKILL)
		}
	}()
	if err := s.start(); err != nil {
		return "", err
	}
	return run(s)
}

func (s *site) start() (err error) {
	s.process, err = startProcess(filepath.Join(s.data, "log"), []string{"GOTRACEBACK=all", "GORACE=halt_on_error=0"},
		serve(s.oriel, s.port, s.upstream, s.data)...)
	if err != nil {
		return err
	}
	return s.process.ready(s.crowd.client, 20*time.Second)
}

func (s *site) end(sig syscall.Signal) error {
	err := s.process.end(sig)
	s.process = nil
	return err
}

var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ .*\[`)

// rest counts the goroutines, and the open files other than those of the
// history, while nobody calls. It ends the process, which lists them.
func (s *site) rest() (files, goroutines int, err error) {
	time.Sleep(4 * time.Second) // wait until connections to the model are closed
	s.process.settle()
	files = s.process.files(s.data)
	before, err := os.ReadFile(s.process.log)
	if err != nil {
		return 0, 0, err
	}
	s.end(syscall.SIGQUIT)
	after, err := os.ReadFile(filepath.Join(s.data, "log"))
	return files, len(goroutine.FindAll(after[len(before):], -1)), err
}

// steady runs all streams for a while, and compares what is left with what a
// few seconds of them leave.
func (s *site) steady() (string, error) {
	s.crowd.begin(s.streams)
	time.Sleep(5 * time.Second)
	s.crowd.stop()
	files, least, err := s.rest()
	if err == nil {
		err = s.start()
	}
	if err != nil {
		return "", err
	}
	s.crowd.begin(s.streams)
	var memory []float64
	for end := time.Now().Add(s.span); time.Now().Before(end); time.Sleep(s.span / 60) {
		memory = append(memory, s.process.resident())
	}
	s.crowd.stop()
	open, left, err := s.rest()
	if err != nil {
		return "", err
	}
	n := len(memory)
	third, last := harness.Quantile(memory[n/2:n*3/4], 1), harness.Quantile(memory[n*3/4:], 1)
	result := fmt.Sprintf(
		"goroutines %d → %d, files and connections %d → %d, highest MB in the third quarter %.0f, in the last %.0f",
		least, left, files, open, third, last)
	_, failed := s.crowd.counts()
	switch {
	case failed > 0:
		err = fmt.Errorf("%s: %w", result, s.crowd.first)
	case left > least || open > files:
		err = fmt.Errorf("a leak: %s", result)
	case last > third*1.2 && s.name != "race": // the race detector's own memory grows
		err = fmt.Errorf("memory grows: %s", result)
	}
	return result, errors.Join(err, s.judge(time.Now()))
}

// restart ends the proxy gracefully while streams run, and starts it again.
func (s *site) restart() (string, error) {
	s.crowd.begin(s.streams)
	time.Sleep(s.span)
	s.crowd.goesDown()
	began := time.Now()
	if err := s.end(syscall.SIGTERM); err != nil {
		return "", fmt.Errorf("it did not end well: %w", err)
	}
	took := time.Since(began)
	if err := s.start(); err != nil {
		return "", err
	}
	s.crowd.upAgain()
	time.Sleep(s.span / 2)
	s.crowd.stop()
	if err := s.end(syscall.SIGTERM); err != nil {
		return "", fmt.Errorf("it did not end well the second time: %w", err)
	}
	if _, failed := s.crowd.counts(); failed > 0 {
		return "", s.crowd.first
	}
	return fmt.Sprintf("%d streams ran at the signal and %d of them were cut; ended after %.1f s; every answer that was read to its end is in the history",
		s.streams, s.crowd.cut, took.Seconds()), s.judge(began)
}

// kill kills the proxy while streams run.
func (s *site) kill() (string, error) {
	s.crowd.begin(s.streams)
	time.Sleep(s.span)
	killed := time.Now()
	s.crowd.goesDown()
	s.end(syscall.SIGKILL)
	if err := s.verify(); err != nil {
		return "", err
	}
	if err := s.start(); err != nil {
		return "", err
	}
	s.crowd.upAgain()
	time.Sleep(s.span / 4)
	s.crowd.stop()
	if err := s.end(syscall.SIGTERM); err != nil {
		return "", fmt.Errorf("it did not end well after the kill: %w", err)
	}
	if _, failed := s.crowd.counts(); failed > 0 {
		return "", s.crowd.first
	}
	lost := 0
	for mark, at := range s.crowd.ended {
		// What ended in the last second before the kill may be lost.
		if at.Before(killed) && killed.Sub(at) < time.Second {
			delete(s.crowd.ended, mark)
			lost++
		}
	}
	return fmt.Sprintf("verified before and after the new start; all answers are in the history, the %d of the last second before the kill not looked at", lost), s.judge(killed)
}

// verify runs oriel verify.
func (s *site) verify() error {
	if out, err := exec.Command(s.oriel, "verify", "--data", s.data).CombinedOutput(); err != nil {
		return fmt.Errorf("oriel verify: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

var turn = regexp.MustCompile(`(turn|reply)-\d+-[\w.]+-\d+:`)

// judge checks that every call that was read to its end is in the history: the
// call with its whole request, and the reply. signal is when the first process
// was ended.
func (s *site) judge(signal time.Time) error {
	log, err := os.ReadFile(filepath.Join(s.data, "log"))
	if err != nil {
		return err
	}
	var bad error
	for _, word := range []string{"DATA RACE", "level=ERROR", "panic:"} {
		if n := bytes.Count(log, []byte(word)); n > 0 {
			bad = errors.Join(bad, fmt.Errorf("the log has %q %d times, first %.200q", word, n,
				log[bytes.Index(log, []byte(word)):]))
		}
	}
	if err := s.verify(); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := sqlite.Open(ctx, s.data, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	all, err := store.Conversations(ctx, timeline.Local)
	if err != nil {
		return err
	}
	asked, said := map[string]bool{}, map[string]bool{}
	for _, c := range all {
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		if err != nil {
			return err
		}
		for i := range records {
			call, err := call.Read(ctx, store, timeline.Local, &records[i])
			if err != nil {
				return err
			}
			if marks := turn.FindAll(call.Body, -1); len(marks) > 0 && call.Error == "" && call.Stop != "" {
				asked[replyMark(string(marks[len(marks)-1]))] = true
			}
		}
		heads, err := store.Heads(ctx, timeline.Local, c.Name)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if err := store.Messages(ctx, timeline.Local, h, 1, h.Depth, false, func(e *timeline.Entry) error {
				said[string(turn.Find(e.Raw))] = true
				return nil
			}); err != nil {
				return err
			}
		}
	}
	before, after, example := 0, 0, ""
	for mark, at := range s.crowd.ended {
		if !asked[mark] || !said[mark] {
			if at.Before(signal) {
				before++
			} else {
				after++
			}
			example = fmt.Sprintf("%s, call %t, reply %t", mark, asked[mark], said[mark])
		}
	}
	if before+after > 0 {
		bad = errors.Join(bad,
			fmt.Errorf("of %d calls %d that ended before the signal and %d after it are not in the history, such as %s",
				len(s.crowd.ended), before, after, example))
	}
	return bad
}

// crowd is many clients that never stop.
type crowd struct {
	client  *client
	name    string
	cancel  context.CancelFunc
	runs    int
	streams int
	wg      sync.WaitGroup

	mu     sync.Mutex           // protects the fields below
	ended  map[string]time.Time // when answers were read to their end, by mark
	failed int
	first  error // the first failure
	down   bool  // failures are expected
	cut    int   // streams that broke off meanwhile
}

func (c *crowd) begin(streams int) {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel, c.runs, c.streams = cancel, c.runs+1, streams
	if c.ended == nil {
		c.ended = map[string]time.Time{}
	}
	for i := range streams {
		c.wg.Go(func() { c.one(ctx, i) })
	}
}

// one runs conversation after conversation until it is stopped; it finishes
// the current call.
func (c *crowd) one(ctx context.Context, client int) {
	time.Sleep(time.Duration(client) * time.Second / time.Duration(
		c.streams)) // clients do not call in step with each other
	for n := 0; ; n++ {
		t := newTalk(kind{anthropic: n%2 == 0, messages: 3, size: 400, calls: 19},
			fmt.Sprintf("%s.%d.%d.%d", c.name, c.runs, client, n))
		for call := 0; call <= t.calls; call++ {
			body, want := t.body(call, true)
			for {
				if ctx.Err() != nil {
					return
				}
				took, err := c.client.call(context.Background(), t.anthropic, body, want)
				if c.note(want, took, err) {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
}

// note records a call and reports whether it succeeded.
func (c *crowd) note(mark string, took times, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.ended[mark] = time.Now()
		return true
	case c.down:
		if took.first > 0 {
			c.cut++
		}
	default:
		if c.failed++; c.first == nil {
			c.first = err
		}
	}
	return false
}

func (c *crowd) goesDown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = true
}

// upAgain marks the proxy as up. Earlier calls may still fail for a moment.
func (c *crowd) upAgain() {
	time.Sleep(2 * time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = false
}

func (c *crowd) stop() {
	if c.cancel != nil {
		c.cancel()
		c.wg.Wait()
	}
	c.client.http.CloseIdleConnections()
}

func (c *crowd) counts() (ended, failed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ended), c.failed
}
