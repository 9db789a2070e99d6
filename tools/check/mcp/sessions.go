package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
)

// What the first of two sessions decides, and what the second asks.
const (
	decided = "We decided: the uploader retries five times with exponential backoff and jitter, and never on status 409."
	decides = "Which retry policy should the uploader of the shop use? Decide it, and say why."
	asks    = "What did we decide about the retry policy of the uploader?"
)

// sessions runs Claude Code twice in one folder, with recall.scope as scope says. What the
// first session decided must be in the first request of the second, or must not.
func (a *agent) sessions(scope string, want bool) error {
	var mu sync.Mutex
	var first []byte // the second session's first request that has tools
	asked := false
	fake := &fakemodel.Server{Answer: func(r *fakemodel.Request) fakemodel.Answer {
		mu.Lock()
		defer mu.Unlock()
		if asked && first == nil && len(r.Tools) > 0 {
			first = bytes.Clone(r.Data())
		}
		text := decided
		if asked {
			text = "It is as you say."
		}
		return fakemodel.Answer{ID: fmt.Sprintf("reply_%d", time.Now().UnixNano()), Text: text, Input: 10, Output: 20}
	}}
	up := httptest.NewServer(fake)
	defer up.Close()
	work := filepath.Join(a.dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	config := filepath.Join(a.dir, "oriel.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[recall]\nscope = %q\nwait = \"10s\"\n", scope),
		0o600); err != nil {
		return err
	}
	for _, prompt := range []string{decides, asks} {
		limit, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		cmd := exec.CommandContext(limit, a.oriel, "run", "--data", filepath.Join(a.dir, "data"), "--config", config,
			"--", "claude", "-p", prompt, "--model", "claude-sonnet-4-5")
		cmd.Dir = work
		cmd.Env = []string{"PATH=" + a.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + a.dir,
			"ANTHROPIC_BASE_URL=" + up.URL, "ANTHROPIC_API_KEY=sk-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1"}
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out[max(0, len(out)-800):])
		}
		mu.Lock()
		asked = true
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	has := bytes.Contains(first, []byte("exponential backoff"))
	fmt.Printf("claude  two sessions, recall.scope %s: the first request of the second has %d bytes, with the decision of the first: %v\n", scope, len(first), has)
	switch {
	case first == nil:
		return errors.New("the second session made no call with tools")
	case has != want:
		return fmt.Errorf("recall.scope %s: the decision is in the first request: %v, want %v", scope, has, want)
	}
	return nil
}
