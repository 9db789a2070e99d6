//go:build unix

package snippets

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// world is what all blocks share.
type world struct {
	repo   string
	bin    string // oriel and the stand-ins
	before string // a home in which Oriel has been used
	sdks   string // folder of scripts/check docs; empty: what the machine has
	python func() string
	golang func() error // builds all blocks of Go into programs
	caches []string     // where the go command has what it needs
	blocks []block

	programs string // a folder
}

// lacking skips a block because something is missing that scripts/check docs installs.
func (w *world) lacking(t *testing.T, what string) {
	t.Helper()
	if w.sdks != "" {
		t.Fatal(what)
	}
	t.Skip(what + ": ./scripts/check docs installs it")
}

func newWorld(t *testing.T) *world {
	t.Helper()
	repo, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{repo: repo, bin: t.TempDir(), programs: t.TempDir(), sdks: os.Getenv("ORIEL_DOCS_SDKS")}
	cmd := exec.Command("go", "build", "-o", filepath.Join(w.bin, "oriel"), "./cmd/oriel")
	cmd.Dir, cmd.Env = repo, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		w.caches = append(w.caches, name+"="+strings.TrimSpace(string(out)))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range standIns {
		if err := os.Symlink(self, filepath.Join(w.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.python = sync.OnceValue(func() string {
		if w.sdks != "" {
			return filepath.Join(w.sdks, "venv", "bin", "python")
		}
		// The program itself: managers of versions put scripts that look at $HOME before it.
		out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
		if err != nil {
			return "python3"
		}
		return strings.TrimSpace(string(out))
	})
	// A block calls it. It must not fail this test: that removes what other blocks use.
	w.golang = sync.OnceValue(func() error { return buildGo(w.programs, w) })
	w.before = used(t, w)
	return w
}

// used is a home in which there is a conversation called SESSION, cut twice.
func used(t *testing.T, w *world) string {
	t.Helper()
	h := &home{world: w, dir: t.TempDir(), work: t.TempDir()}
	h.model(t)
	stop := h.start(t)
	t.Cleanup(stop)
	// The second cut is to hide so little that an undo of it has room.
	for _, c := range []struct{ messages, budget int }{{31, 14_000}, {0, 14_500}} {
		body, err := json.Marshal(beginning(t, w, c.messages))
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest("POST", fmt.Sprintf("http://127.0.0.1:%d/v1/messages", h.port),
			bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Oriel-Conversation", "SESSION")
		req.Header.Set("X-Oriel-Budget", strconv.Itoa(c.budget))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Oriel-Plan") == "" {
			t.Fatalf("%s, and no plan: %v", resp.Status, resp.Header)
		}
	}
	stop() // what was recorded is on disk

	// A search keeps the vectors that it makes.
	h.run(t, filepath.Join(h.bin, "oriel"), "recall", "ports", "--conversation", "SESSION")
	write(t, filepath.Join(h.dir, ".local/bin/oriel"), "", 0o755)
	write(t, filepath.Join(h.dir, ".claude/projects/p/s.jsonl"),
		`{"type":"user","uuid":"u1","sessionId":"s","timestamp":"2026-01-01T10:00:00Z","message":{"role":"user","content":"Which port does the proxy use?"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-01T10:00:01Z","message":{"role":"assistant","content":[{"type":"text","text":"The proxy uses port 8780."}]}}
`, 0o600)
	return h.dir
}

// beginning is the example with its first n messages, 0 for all.
func beginning(t *testing.T, w *world, n int) map[string]json.RawMessage {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.repo, "examples", "long-agent-run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var request map[string]json.RawMessage
	var messages []json.RawMessage
	if err := json.Unmarshal(raw, &request); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(request["messages"], &messages); err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		messages = messages[:n]
	}
	if request["messages"], err = json.Marshal(messages); err != nil {
		t.Fatal(err)
	}
	return request
}

// home is where one block runs: a home folder, a folder to work in, a model, and a port
// that stands for 8780.
type home struct {
	*world
	dir, work string
	upstream  string
	asked     atomic.Int32
	port      int
}

func newHome(t *testing.T, w *world) *home {
	t.Helper()
	h := &home{world: w, dir: t.TempDir(), work: t.TempDir()}
	if err := os.CopyFS(h.dir, os.DirFS(w.before)); err != nil {
		t.Fatal(err)
	}
	h.model(t)
	example, err := os.ReadFile(filepath.Join(w.repo, "examples", "long-agent-run.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(h.work, "request.json"), string(example), 0o644)
	write(t, filepath.Join(h.work, "notes.txt"), "Some notes.\n", 0o644)
	write(t, filepath.Join(h.work, "agent.py"), "", 0o644)
	h.scripts(t)
	return h
}

// model starts the model that the home's calls go to.
func (h *home) model(t *testing.T) {
	s := &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		n := int(h.asked.Add(1))
		if text, ok := dspyReply(t, r, n); ok {
			return fakemodel.Answer{Text: text, Input: 100, Output: 20}
		}
		return fakemodel.Answer{Text: "Noted.", Input: 100, CacheRead: 300, Output: 20}
	}}
	up := httptest.NewServer(s)
	t.Cleanup(func() {
		up.Close()
		for _, p := range s.Problems() {
			t.Errorf("the model was sent what a vendor refuses: %s", p)
		}
	})
	h.upstream = up.URL
}

func (h *home) wasAsked(t *testing.T) {
	t.Helper()
	if h.asked.Load() == 0 {
		t.Error("no call came through")
	}
}

// scripts puts stand-ins for our own scripts, which take too long, into the folder: each
// looks whether the script is there and can be read.
func (h *home) scripts(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"scripts/*", "tools/bench/*/run"} {
		own, err := filepath.Glob(filepath.Join(h.repo, pattern))
		if err != nil || len(own) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, path := range own {
			rel, err := filepath.Rel(h.repo, path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(h.work, rel), fmt.Sprintf("#!/bin/sh\ntest -x %[1]q && bash -n %[1]q\n", path),
				0o755)
		}
	}
}

// archive puts an archive as scripts/release makes them into the folder, with a program
// that is not ours: ours takes a second to pack.
func (h *home) archive(t *testing.T) {
	t.Helper()
	const name = "oriel_VERSION_linux_amd64"
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	program := "#!/bin/sh\n"
	if err := w.WriteHeader(&tar.Header{Name: name + "/oriel", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, program)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(h.work, name+".tar.gz"), b.String(), 0o644)
	write(t, filepath.Join(h.work, "SHA256SUMS"), fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(b.Bytes()), name), 0o644)
}

// environ is the home's, and no way to a real provider.
func (h *home) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "ORIEL_") || strings.HasPrefix(name, "XDG_") ||
			strings.HasPrefix(name, "OPENAI_") ||
			strings.HasPrefix(name, "ANTHROPIC_") || strings.HasSuffix(strings.ToUpper(name), "_PROXY") ||
			name == "CODEX_HOME"
	})
	return append(append(env, h.caches...),
		"HOME="+h.dir, "TMPDIR="+h.work, "PATH="+h.bin+":"+os.Getenv("PATH"), "REPOSITORY="+h.repo,
		"OPENAI_API_KEY=sk-test", "ANTHROPIC_API_KEY=sk-ant-test", "HTTPS_PROXY=http://127.0.0.1:1",
		"GORACE=atexit_sleep_ms=0", // of the stand-ins; else each takes a second
		fmt.Sprintf("ORIEL_LISTEN=127.0.0.1:%d", h.port),
		"ORIEL_UPSTREAM_OPENAI="+h.upstream+"/v1", "ORIEL_UPSTREAM_ANTHROPIC="+h.upstream)
}

// local is a block's text with this home's addresses in the place of those of a user.
func (h *home) local(text string) string {
	return strings.NewReplacer(
		"127.0.0.1:8780", fmt.Sprintf("127.0.0.1:%d", h.port),
		"http://localhost:11434", h.upstream,
	).Replace(text)
}

// serve has a server in this home for as long as the test runs.
func (h *home) serve(t *testing.T) { t.Cleanup(h.start(t)) }

// start starts oriel serve on a free port, which is the home's then.
func (h *home) start(t *testing.T) (stop func()) {
	t.Helper()
	cmd := exec.Command(filepath.Join(h.bin, "oriel"), "serve")
	cmd.Dir, cmd.Env = h.work, h.environ()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if _, scan := fmt.Sscanf(line, "oriel listens at 127.0.0.1:%d", &h.port); scan != nil {
		stop()
		t.Fatalf("oriel serve says %q: %v, %v", line, err, scan)
	}
	go io.Copy(io.Discard, lines) // ends with the program
	return stop
}
