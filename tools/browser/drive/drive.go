// Package drive starts what the tests and pictures of the console need: the program, as it is
// built from this tree, and a browser.
package drive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"
)

// ErrNoBrowser: there is no chromium on this machine.
var ErrNoBrowser = errors.New("no browser: install chromium")

// Program builds oriel into a folder and returns its path.
func Program(dir string) (string, error) {
	// In its own module: this one does not list what the program is made of.
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/oriel-context/oriel").Output()
	if err != nil {
		return "", fmt.Errorf("find the module of oriel: %w", err)
	}
	path := filepath.Join(dir, "oriel")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/oriel")
	cmd.Dir, cmd.Env = strings.TrimSpace(string(root)), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build oriel: %w: %s", err, out)
	}
	return path, nil
}

// Server is oriel serve.
type Server struct {
	// URL is its address, Console that of the page.
	URL, Console string
	cmd          *exec.Cmd
	log          *os.File
}

// Serve starts oriel serve on a free port, on a data folder, with a provider.
func Serve(ctx context.Context, program, data, provider string, env ...string) (*Server, error) {
	cmd := exec.CommandContext(ctx, program, "serve", "--listen", "127.0.0.1:0", "--data", data, "--upstream-anthropic",
		provider, "--upstream-openai", provider)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	log, err := os.Create(filepath.Join(filepath.Dir(program), "serve.log"))
	if err != nil {
		return nil, err
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, log: log}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "console"); ok {
			s.Console, _, _ = strings.Cut(strings.TrimSpace(at), "#") // without what signs in
			s.URL = strings.TrimSuffix(s.Console, "/oriel/")
		}
		if strings.HasPrefix(lines.Text(), "export ANTHROPIC_BASE_URL") {
			go func() {
				for lines.Scan() {
				}
			}()
			return s, nil
		}
	}
	text, _ := os.ReadFile(log.Name())
	return nil, errors.Join(fmt.Errorf("oriel serve did not start: %s", text), cmd.Wait())
}

// PID returns the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop ends the server.
func (s *Server) Stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait()
	s.log.Close()
}

// Browser starts a browser, which end ends. Debian's wrapper script is not used: it asks the
// shell for more than a test has.
func Browser(ctx context.Context, dir string) (_ context.Context, end func(), err error) {
	path := ""
	for _, p := range []string{"/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(p); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, nil, ErrNoBrowser
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(dir, "browser")),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("no-sandbox", os.Geteuid() == 0),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("hide-scrollbars", false), chromedp.WSURLReadTimeout(time.Minute))
	allocated, stop := chromedp.NewExecAllocator(ctx, options...)
	tab, cancel := chromedp.NewContext(allocated)
	end = func() {
		chromedp.Cancel(tab)
		cancel()
		stop()
	}
	if err := chromedp.Do(tab); err != nil {
		end()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return tab, end, nil
}
