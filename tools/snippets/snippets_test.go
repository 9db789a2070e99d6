//go:build unix

// Package snippets runs every fenced block of README.md and docs: commands in a home of
// their own against a model that is made up, with stand-ins for the agents; Go as a part
// of this module; Python and JavaScript with the vendors' packages, where they are
// installed (scripts/check docs installs them). What cannot be run says so by its info
// string, text or console, and any other that is not known fails: no block is left out in
// silence.
package snippets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/test/freeport"
)

// patience is how long a block may take: one that hangs is ended.
const patience = 3 * time.Minute

var runners = map[string]func(*testing.T, *world, block){
	"sh": runShell, "go": runGo, "toml": loadSettings, "json": parseJSON,
	"python": runPython, "javascript": runJavaScript, "powershell": runPowerShell,
	"text": nil, "console": nil, // output, pictures, what takes a network
}

func TestSnippets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs what the documents show")
	}
	w := newWorld(t)
	ran := 0
	for _, page := range pages(t) {
		w.blocks = append(w.blocks, blocks(t, page)...)
	}
	for _, b := range w.blocks {
		run, known := runners[b.info]
		if run != nil {
			ran++
		} else if known {
			continue
		}
		t.Run(fmt.Sprintf("%s:%d", b.page, b.line), func(t *testing.T) {
			if !known {
				t.Fatalf("info string %q: write one of sh, go, toml, json, python, javascript, powershell; text or console where the block cannot be run", b.info)
			}
			t.Parallel()
			run(t, w, b)
		})
	}
	if ran < 20 {
		t.Errorf("only %d blocks were found", ran)
	}
}

// runShell runs commands in one shell, each of which must succeed. What they leave in the
// background is ended with it.
func runShell(t *testing.T, w *world, b block) {
	if _, err := exec.LookPath("curl"); err != nil && strings.Contains(b.text, "curl ") {
		t.Skip("!! SKIPPED: there is no curl")
	}
	service := strings.Contains(b.text, "oriel service")
	if service && runtime.GOOS != "linux" {
		t.Skip("there is a stand-in for systemd alone")
	}
	h := newHome(t, w)
	text := b.text
	serves := strings.Contains(text, "oriel serve") && !service
	if serves || strings.Contains(text, "oriel setup") {
		var err error
		if h.port, err = freeport.Find(); err != nil {
			t.Fatal(err)
		}
	} else if service || strings.Contains(text, ":8780") {
		h.serve(t)
	}
	if service {
		// A service has no variables of the shell, so its address is in the file.
		config := filepath.Join(h.dir, ".config", "oriel", "config.toml")
		write(t, config, fmt.Sprintf("listen = \"127.0.0.1:%d\"\n", h.port), 0o600)
	}
	if strings.Contains(text, "SHA256SUMS") {
		if runtime.GOOS != "linux" {
			t.Skip("for Linux")
		}
		h.archive(t)
	}
	if serves {
		text += "\nunset OPENAI_API_BASE; OPENAI_BASE_URL=http://127.0.0.1:8780/v1 python # what was started answers\n"
	}
	script := filepath.Join(t.TempDir(), "block.sh")
	write(t, script, h.local(text), 0o644)
	h.run(t, "sh", "-e", script)
}

// runPython runs a program with the vendors' packages; it must have asked the model.
func runPython(t *testing.T, w *world, b block) {
	var modules []string
	for _, m := range regexp.MustCompile(`(?m)^(?:from|import) (\w+)`).FindAllStringSubmatch(b.text, -1) {
		modules = append(modules, m[1])
	}
	python := w.python()
	if out, err := exec.Command(python, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput(); err != nil {
		w.lacking(t, fmt.Sprintf("%s has not all of %v: %s", python, modules, lastLine(out)))
	}
	h := newHome(t, w)
	h.serve(t)
	script := filepath.Join(t.TempDir(), "block.py")
	write(t, script, h.local(b.text), 0o644)
	h.run(t, python, "-B", script)
	h.wasAsked(t)
}

// runJavaScript is the same for Node.
func runJavaScript(t *testing.T, w *world, b block) {
	node, err := exec.LookPath("node")
	if err != nil {
		w.lacking(t, "there is no node")
	}
	if w.sdks == "" {
		w.lacking(t, "npm's packages are not installed")
	}
	h := newHome(t, w)
	h.serve(t)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(w.sdks, "node", "node_modules"),
		filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "block.mjs"), h.local(b.text), 0o644)
	h.run(t, node, filepath.Join(dir, "block.mjs"))
	h.wasAsked(t)
}

// runPowerShell has its text parsed: what it does is for Windows.
func runPowerShell(t *testing.T, w *world, b block) {
	pwsh, err := exec.LookPath("pwsh")
	if err != nil {
		t.Skip("there is no pwsh")
	}
	script := filepath.Join(t.TempDir(), "block.ps1")
	write(t, script, b.text, 0o644)
	newHome(t, w).run(t, pwsh, "-NoProfile", "-Command",
		"$e = $null; [void][System.Management.Automation.Language.Parser]::ParseFile('"+script+
			"', [ref]$null, [ref]$e); if ($e) { $e; exit 1 }")
}

// loadSettings loads a file of settings.
func loadSettings(t *testing.T, _ *world, b block) {
	file := filepath.Join(t.TempDir(), "config.toml")
	write(t, file, b.text, 0o644)
	if _, err := settings.Load(settings.Sources{File: file}); err != nil {
		t.Error(err)
	}
}

func parseJSON(t *testing.T, _ *world, b block) {
	var v any
	if err := json.Unmarshal([]byte(b.text), &v); err != nil {
		t.Error(err)
	}
}

// run runs a program in the home and ends what it leaves behind.
func (h *home) run(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = h.work, h.environ(), w, w
	cmd.ExtraFiles = []*os.File{w} // of a process whose output is redirected too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		w.Close()
		t.Fatal(err)
	}
	w.Close()
	// The pipe is at its end when the last of them is gone. Their folders are removed then.
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		out.ReadFrom(r)
	}()
	failed := cmd.Wait()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // an error where none is left
	select {
	case <-read:
	case <-ctx.Done():
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-read
		failed = ctx.Err()
	}
	t.Logf("%s", out.String())
	if failed != nil {
		t.Error(failed)
	}
}

// A process in the background is gone before its folders are removed, even if its output
// goes elsewhere.
func TestABlockEndsWithTheLastOfItsProcesses(t *testing.T) {
	h := &home{world: &world{}, dir: t.TempDir(), work: t.TempDir()}
	h.run(t, "sh", "-c",
		`(trap 'sleep 0.1; echo > ended; exit' TERM; echo > ready; while :; do sleep 0.01; done) >/dev/null 2>&1 &
		while [ ! -e ready ]; do sleep 0.01; done`)
	if _, err := os.Stat(filepath.Join(h.work, "ended")); err != nil {
		t.Error(err)
	}
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
