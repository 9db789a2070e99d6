package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/oriel-context/oriel/internal/test/fakemodel"
	"github.com/oriel-context/oriel/tools/check/kit"
	"github.com/oriel-context/oriel/wire"
)

// seat is where a program sits: a home of its own, oriel serve before it, a model behind that.
type seat struct {
	program                     *program
	oriel, bin, node, dir, base string
	model                       *talk

	mu       sync.Mutex // protects the fields below
	calls    []programCall
	problems []string
	sockets  int // that the program asked for

	output []byte       // what the program printed
	port   string       // of its daemon, if it has one
	end    func() error // ends that
	results
}

// results are what judge found.
type results struct {
	sessions, largest, asked, recalled, shortened int
	came, replies, same                           int // the largest body of the program; its replies, and those that are the model's
	cuts, breaks, own                             int
	usage                                         string
}

// call is a request as the program sent it and as it arrived.
type programCall struct {
	path         string
	kind         kind
	came, sent   []byte
	conversation string
	status       int
	socket       bool
	said, heard  *watched // the reply as the model wrote it, and as the program got it
}

// callHeader numbers a call on its way through the proxy.
const callHeader = "X-Check-Call"

func (s *seat) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// seat installs the program and starts it once, to see that it can be.
func (p *program) seat(oriel, install, dir string) (*seat, error) {
	s := &seat{program: p, oriel: oriel, dir: dir, model: &talk{parts: p.parts, chat: p.chat}}
	var err error
	if s.bin, s.node, err = p.install(install); err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(s.home(), 0o755), writeParts(s.work(), p.parts)); err != nil {
		return nil, err
	}
	if p.script != "" {
		return s, s.writeScripts(install)
	}
	try := "--version"
	if p.bin == "mini" { // has none
		try = "--help"
	}
	if out, err := s.command(try).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", p.bin, try, err, out)
	}
	return s, nil
}

// check lets the program do what it does, and judges that. It returns an error if that could
// not be done.
func (s *seat) check() error {
	p := s.program
	fake := &fakemodel.Server{Answer: s.answer, NoSockets: !p.overSocket}
	provider := httptest.NewServer(s.behind(fake))
	defer provider.Close()
	config := filepath.Join(s.dir, "config.toml")
	// What is found must not depend on how busy the machine is.
	settings := fmt.Sprintf("profile = \"small\"\n[profiles.small]\nbudget = %d\n[recall]\nwait = \"10s\"\n", p.budget)
	if err := os.WriteFile(config, []byte(settings), 0o644); err != nil {
		return err
	}
	var log bytes.Buffer
	server, err := kit.StartServer(s.oriel, "127.0.0.1:0", &log, "--config", config, "--data", s.data(), "--events",
		s.events(),
		"--spool", filepath.Join(s.dir, "spool"), "--upstream-openai", provider.URL+"/v1", "--upstream-anthropic",
		provider.URL, "--upstream-gemini", provider.URL, "--upstream-ollama", provider.URL)
	if err != nil {
		return err
	}
	to, err := url.Parse(server.Base)
	if err != nil {
		return errors.Join(err, server.Stop())
	}
	front := httptest.NewServer(s.before(to))
	defer front.Close()
	s.base = front.URL
	verbs := p.does
	if verbs == nil && !p.apart {
		verbs = []string{ask}
	}
	verbs, drive := slices.Concat([]string{begin}, verbs, []string{anew}), p.drive
	if p.script != "" {
		verbs, drive = []string{begin}, driveScript
	}
	for _, do := range verbs {
		if err := drive(s, do); err != nil {
			s.problem("%s: %v: …%s", do, err, s.output[max(0, len(s.output)-400):])
			break
		}
	}
	if s.end != nil {
		if err := s.end(); err != nil {
			s.problem("end its daemon: %v: …%s", err, s.output[max(0, len(s.output)-400):])
		}
	}
	if err := server.Stop(); err != nil {
		s.problem("oriel serve: %v: …%s", err, log.Bytes()[max(0, log.Len()-400):])
	}
	for _, problem := range fake.Problems() {
		s.problem("refused: %s", problem)
	}
	cuts, bad := readEvents(s.events())
	s.cuts, s.problems = cuts, append(s.problems, bad...)
	s.nameSocketCalls()
	if list, err := s.conversations(); err != nil {
		s.problem("%v", err)
	} else {
		s.judge(list)
	}
	if err := s.judgeUsage(); err != nil {
		s.problem("%v", err)
	}
	return nil
}

func (s *seat) home() string { return filepath.Join(s.dir, "home") }
func (s *seat) work() string { return filepath.Join(s.dir, "work") }
func (s *seat) data() string { return filepath.Join(s.dir, "data") }

func (s *seat) events() string { return filepath.Join(s.dir, "events") }

// command returns the program with arguments; env are further variables.
func (s *seat) command(args ...string) *exec.Cmd {
	return s.execute(filepath.Join(s.bin, s.program.bin), args...)
}

// execute returns a file with arguments, in the program's home.
func (s *seat) execute(file string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, file, args...)
	path := s.bin + string(os.PathListSeparator) + os.Getenv("PATH")
	if s.node != "" {
		path = s.node + string(os.PathListSeparator) + path
	}
	cmd.Dir = s.work()
	cmd.Env = []string{"PATH=" + path, "HOME=" + s.home(), "TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1"}
	return cmd
}

// run runs a command to its end, for five minutes at most.
func (s *seat) run(cmd *exec.Cmd) error {
	out := &watched{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second // what it left behind may hold its output open
	if err := cmd.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	s.output = append(s.output, out.text()...)
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// before is the handler between the program and the proxy: it records what the program sent.
func (s *seat) before(to *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			if p.In.Header.Get("Upgrade") != "" {
				s.mu.Lock()
				s.sockets++
				s.mu.Unlock()
			}
			if p.In.Method != http.MethodPost {
				return
			}
			body, err := io.ReadAll(p.In.Body)
			if err != nil {
				return
			}
			p.Out.Body = io.NopCloser(bytes.NewReader(body))
			s.mu.Lock()
			defer s.mu.Unlock()
			c := programCall{path: p.In.URL.Path, came: body, kind: aside, said: &watched{}, heard: &watched{}}
			if fakemodel.Speaks(wire.CallFormat(c.path)) {
				c.kind = s.model.kind(body)
			}
			s.calls = append(s.calls, c)
			p.Out.Header.Set(callHeader, strconv.Itoa(len(s.calls)))
		},
		ModifyResponse: func(r *http.Response) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if n, _ := strconv.Atoi(r.Request.Header.Get(callHeader)); n > 0 {
				c := &s.calls[n-1]
				c.conversation, c.status = r.Header.Get("X-Oriel-Conversation"), r.StatusCode
				r.Body = heard{io.TeeReader(r.Body, c.heard), r.Body}
			}
			return nil
		},
	}
}

// answer answers as the model does. It records calls over WebSocket, as the provider understood
// them: what the program sent is only what is new.
func (s *seat) answer(r *fakemodel.Request) fakemodel.Answer {
	if s.program.overSocket && r.Header.Get(callHeader) == "" {
		s.mu.Lock()
		s.calls = append(s.calls, programCall{path: r.Path, came: r.Data(), sent: r.Data(),
			kind:   s.model.kind(r.Data()),
			status: http.StatusOK, socket: true})
		s.mu.Unlock()
	}
	return s.model.answer(r)
}

// nameSocketCalls gives calls over WebSocket the conversations of the events, because no header
// does.
func (s *seat) nameSocketCalls() {
	raw, err := os.ReadFile(s.events())
	if err != nil {
		s.problem("%v", err)
	}
	var names []string
	for line := range bytes.Lines(raw) {
		var e struct{ Kind, Conversation string }
		if json.Unmarshal(line, &e) == nil && e.Kind == "call" {
			names = append(names, e.Conversation)
		}
	}
	n := 0
	for i := range s.calls {
		if c := &s.calls[i]; c.socket {
			if n < len(names) {
				c.conversation = names[n]
			}
			n++
		}
	}
	if s.program.overSocket && n == 0 {
		s.problem("no call came over a WebSocket")
	} else if n > 0 && n != len(names) {
		s.problem("%d calls came over a WebSocket, and %d are recorded", n, len(names))
	}
}

// behind is the handler between the proxy and the model: it records what arrives.
func (s *seat) behind(model http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			model.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		if n, _ := strconv.Atoi(r.Header.Get(callHeader)); n > 0 {
			c := &s.calls[n-1]
			c.sent = body
			c.said.reset() // a call that is sent again is answered again
			w = &said{w, c.said}
		}
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	})
}

// heard is a body that is copied while it is read.
type heard struct {
	io.Reader
	io.Closer
}

// said is a response that is copied while it is written.
type said struct {
	http.ResponseWriter
	to *watched
}

func (w *said) Write(p []byte) (int, error) {
	_, _ = w.to.Write(p)
	return w.ResponseWriter.Write(p)
}

// Unwrap lets a ResponseController flush.
func (w *said) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// keep writes all bodies into a folder, for a look at what went wrong.
func (s *seat) keep(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "[0-9][0-9][0-9]-*.json"))
	for _, name := range old {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		return err
	}
	kinds := []string{"turn", "asks", "other", "summary", "aside"}
	for i, c := range s.calls {
		name := filepath.Join(dir, fmt.Sprintf("%03d-%s", i+1, kinds[c.kind]))
		if err := errors.Join(os.WriteFile(name+".came.json", c.came, 0o644),
			os.WriteFile(name+".sent.json", c.sent, 0o644)); err != nil {
			return err
		}
	}
	events, err := os.ReadFile(s.events())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "events"), events, 0o644),
		os.WriteFile(filepath.Join(dir, "output"), s.output, 0o644))
}
