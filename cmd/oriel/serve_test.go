//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// served is a running oriel serve.
type served struct {
	openAI, anthropic string // base URLs that it printed
	errors            *syncBuffer
	exit              chan int
	ended             chan struct{} // closed when it has ended
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// startServe starts the command and reads what a user would copy.
func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	out, w := io.Pipe()
	s := &served{errors: &syncBuffer{}, exit: make(chan int, 1), ended: make(chan struct{})}
	go func() {
		code := run(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), strings.NewReader(""), w, s.errors)
		w.Close()
		s.exit <- code
		close(s.ended)
	}()
	t.Cleanup(func() { // of a test that failed: nobody writes to a folder that is being removed
		if s.anthropic != "" && len(s.exit) == 0 && t.Failed() {
			select {
			case <-s.ended:
			default:
				syscall.Kill(os.Getpid(), syscall.SIGTERM)
				<-s.ended
			}
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && s.anthropic == "" {
		if rest, ok := strings.CutPrefix(lines.Text(), "export OPENAI_BASE_URL="); ok {
			s.openAI = rest
		}
		if rest, ok := strings.CutPrefix(lines.Text(), "export ANTHROPIC_BASE_URL="); ok {
			s.anthropic = rest
			break
		}
	}
	if s.anthropic == "" {
		t.Fatalf("no address was printed; %s", s.errors)
	}
	return s
}

// end sends the signal that ends it.
func (s *served) end(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := <-s.exit; code != 0 {
		t.Errorf("exit %d: %s", code, s.errors)
	}
}

// A stream that runs when the end is asked for comes to its own; no key is in the log
// or in the data folder.
func TestServe(t *testing.T) {
	const key = "sk-canary-81d3"
	next, begun := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer "+key || r.URL.RawQuery != "key="+key {
			t.Error(r.Header, r.URL)
		}
		fmt.Fprintf(w, "%s %s ", r.URL.Path, body)
		w.(http.Flusher).Flush()
		if r.URL.Path == "/v1/responses" {
			close(begun)
			<-next
		}
		io.WriteString(w, "end")
	}))
	defer up.Close()
	dir := t.TempDir()
	t.Setenv("ORIEL_UPSTREAM_ANTHROPIC", up.URL)
	s := startServe(t, "--upstream-openai", up.URL+"/v1", "--data", dir)
	post := func(url string) (string, error) {
		r, err := http.NewRequest("POST", url+"?key="+key,
			strings.NewReader(`{"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return string(body), err
	}
	for url, want := range map[string]string{s.openAI + "/chat/completions": "/v1/chat/completions",
		s.anthropic + "/v1/messages": "/v1/messages"} {
		if got, err := post(url); err != nil || !strings.HasPrefix(got, want+" {") || !strings.HasSuffix(got, " end") {
			t.Errorf("%s: %q %v", url, got, err)
		}
	}
	if got := health(t, s); !strings.Contains(got, `"status":"ok"`) || !strings.Contains(got, `"store":"ok"`) {
		t.Error(got)
	}
	streamed := make(chan error, 1)
	go func() {
		got, err := post(s.openAI + "/responses")
		if err == nil && !strings.HasSuffix(got, " end") {
			err = fmt.Errorf("cut off: %q", got)
		}
		streamed <- err
	}()
	<-begun
	ended := make(chan struct{})
	go func() {
		s.end(t)
		close(ended)
	}()
	close(next)
	if err := <-streamed; err != nil {
		t.Error(err)
	}
	<-ended
	http.DefaultClient.CloseIdleConnections()

	if log := s.errors.String(); strings.Contains(log, "canary") || strings.Count(log, "msg=call") != 3 ||
		!strings.Contains(log, "msg=recorded") || !strings.Contains(log, " action=none ") {
		t.Errorf("the log: %s", log)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("canary")) {
			t.Errorf("%s has the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func health(t *testing.T, s *served) string {
	t.Helper()
	res, err := http.Get(s.anthropic + "/oriel/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res.StatusCode, err)
	}
	return string(body)
}

// Without its history it still serves, and says so.
func TestServeGoesOnWithoutAHistory(t *testing.T) {
	var sent atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		sent.Store(n)
		io.WriteString(w, "answer")
	}))
	defer up.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, "--upstream-openai", up.URL, "--upstream-anthropic", up.URL, "--data", file)
	res, err := http.Post(s.openAI+"/chat/completions", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	// What is too large is cut all the same.
	long := fmt.Sprintf(`{"model":"gpt-4o","messages":[{"role":"user","content":"a"}%s,{"role":"user","content":"z"}]}`,
		strings.Repeat(fmt.Sprintf(`,{"role":"assistant","content":"b"},{"role":"user","content":%q}`,
			strings.Repeat("word ", 200)), 30))
	r, err := http.NewRequest("POST", s.openAI+"/chat/completions", strings.NewReader(long))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Oriel-Budget", "3000")
	if res, err = http.DefaultClient.Do(r); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if n := sent.Load(); n == 0 || n > int64(len(long))/2 || res.Header.Get("X-Oriel-Plan") == "" {
		t.Errorf("%d bytes of %d were sent, %v", n, len(long), res.Header)
	}
	if got := health(t, s); res.StatusCode != 200 || !strings.Contains(got, `"status":"degraded"`) ||
		!strings.Contains(got, `"store":"failed"`) {
		t.Error(res.StatusCode, got)
	}
	http.DefaultClient.CloseIdleConnections()
	s.end(t)
	if !strings.Contains(s.errors.String(), "oriel: THE HISTORY CANNOT BE OPENED, calls wait on disk until it can: ") {
		t.Error(s.errors)
	}
}

func TestServeEndsAtOnceAtTheSecondSignal(t *testing.T) {
	begun, left := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
		close(left)
	}))
	defer up.Close()
	s := startServe(t, "--upstream-openai", up.URL, "--upstream-anthropic", up.URL, "--data", t.TempDir())
	answer := make(chan error, 1)
	go func() {
		res, err := http.Post(s.openAI+"/chat/completions", "application/json", strings.NewReader("{}"))
		if err == nil {
			_, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		answer <- err
	}()
	<-begun
	for range 2 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.awaitEnd(t) // two equal signals at once may arrive as one
	}
	<-s.exit
	<-left
	if err := <-answer; err == nil {
		t.Error("an answer that was cut off seems whole")
	}
	http.DefaultClient.CloseIdleConnections()
}

// awaitEnd waits until the listener is closed: a signal was taken.
func (s *served) awaitEnd(t *testing.T) {
	t.Helper()
	for {
		r, err := http.NewRequest("GET", s.anthropic+"/oriel/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return
		}
		res.Body.Close()
	}
}
