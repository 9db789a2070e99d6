//go:build unix

package snippets

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// standIns are programs that blocks call and that a machine may not have, or that would
// take too long: this very program under their names.
var standIns = map[string]func(args []string) error{
	"claude": claude, "codex": codex, "aider": litellm, "python": litellm,
	"man": man, "go": golang, "systemctl": systemctl,
}

func TestMain(m *testing.M) {
	if run, ok := standIns[filepath.Base(os.Args[0])]; ok {
		if err := run(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "stand-in for %s: %v\n", filepath.Base(os.Args[0]), err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// claude makes a call as Claude Code does.
func claude([]string) error {
	return call("ANTHROPIC_BASE_URL", os.Getenv("ANTHROPIC_BASE_URL"), "/v1/messages?beta=true", map[string]any{
		"model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": true,
		"metadata": map[string]any{"user_id": "user_1_account__session_1f0c2a4e-5b6d-4c7e-8f90-a1b2c3d4e5f6"},
		"system":   []any{map[string]any{"type": "text", "text": "You are Claude Code."}},
		"messages": []any{map[string]any{"role": "user", "content": "Hello"}},
	})
}

// codex makes a call as Codex does, which takes its base URL from -c alone.
func codex(args []string) error {
	base := ""
	for i, a := range args[:max(0, len(args)-1)] {
		if value, ok := strings.CutPrefix(args[i+1], "openai_base_url="); ok && a == "-c" {
			base = strings.Trim(value, `"`)
		}
	}
	return call("-c openai_base_url=…", base, "/responses", map[string]any{
		"model": "gpt-5-codex", "instructions": "You are Codex.", "stream": true, "store": false,
		"input": []any{map[string]any{"type": "message", "role": "user",
			"content": []any{map[string]any{"type": "input_text", "text": "Hello"}}}},
	})
}

// litellm makes a call as aider and programs with an SDK do.
func litellm([]string) error {
	return call("OPENAI_API_BASE, OPENAI_BASE_URL", cmp.Or(os.Getenv("OPENAI_API_BASE"), os.Getenv("OPENAI_BASE_URL")),
		"/chat/completions", map[string]any{
			"model": "gpt-4o", "messages": []any{map[string]any{"role": "user", "content": "Hello"}},
		})
}

// call makes one call, which has to go through Oriel and be answered. As SDKs do, it tries
// again where nobody listens yet.
func call(source, base, path string, body any) error {
	if base == "" {
		return fmt.Errorf("%s is not set", source)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var resp *http.Response
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequest("POST", base+path, bytes.NewReader(data))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer sk-test")
		if resp, err = http.DefaultClient.Do(req); err == nil {
			break
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(end) {
			return err
		}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("Noted.")) {
		return fmt.Errorf("%s: %s", resp.Status, answer)
	}
	if resp.Header.Get("X-Oriel-Action") == "" {
		return errors.New("the call did not go through Oriel")
	}
	return nil
}

// man looks where it would look for the page.
func man(args []string) error {
	page := args[0]
	if !strings.Contains(page, "/") {
		page = filepath.Join(os.Getenv("HOME"), ".local/share/man/man1", page+".1")
	}
	_, err := os.Stat(page)
	return err
}

// systemctl looks at the unit that it would start: a machine's own must not be used, and
// often has no bus of the user.
func systemctl(args []string) error {
	if len(args) < 2 || args[0] != "--user" {
		return fmt.Errorf("systemctl %v: not of the user", args)
	}
	if args[1] == "daemon-reload" {
		return nil
	}
	unit, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".config/systemd/user", args[len(args)-1]))
	if err != nil {
		return err
	}
	_, command, _ := strings.Cut(string(unit), "ExecStart=\"")
	program, _, _ := strings.Cut(command, `"`)
	_, err = os.Stat(program)
	return err
}

// golang does what go build, go run and go install would do with our program, which is
// built: the command line is looked at by the real one, which then prints what it would
// do.
func golang(args []string) error {
	if len(args) < 2 || !slices.Contains([]string{"build", "run", "install"}, args[0]) {
		return fmt.Errorf("go %v: not known here", args)
	}
	at := slices.Index(args, "./cmd/oriel")
	if at < 0 {
		return fmt.Errorf("go %v: not of ./cmd/oriel", args)
	}
	own := filepath.Dir(os.Args[0])
	if !filepath.IsAbs(own) {
		path, err := exec.LookPath("oriel")
		if err != nil {
			return err
		}
		own = filepath.Dir(path)
	}
	var path []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir != own {
			path = append(path, dir)
		}
	}
	os.Setenv("PATH", strings.Join(path, string(filepath.ListSeparator)))
	check := exec.Command("go", append([]string{args[0], "-n"}, args[1:at+1]...)...)
	check.Dir = os.Getenv("REPOSITORY")
	if out, err := check.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	oriel := filepath.Join(own, "oriel")
	switch args[0] {
	case "run":
		cmd := exec.Command(oriel, args[at+1:]...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	case "build":
		if i := slices.Index(args, "-o"); i >= 0 {
			return os.Symlink(oriel, args[i+1])
		}
	}
	return nil
}
