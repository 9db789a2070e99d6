package attack

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// upstream starts a provider that answers with h, and returns its URL.
func (t *trial) upstream(h http.Handler) string {
	s := httptest.NewServer(h)
	t.atEnd(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// serveOptions configures a server. The zero value is a server with the
// default settings whose standard error goes to a file.
type serveOptions struct {
	upstream string   // URL of the provider
	args     []string // further arguments of oriel serve
	env      []string // NAME=value, over a minimal environment
	stderr   *os.File // default: the file of (*server).log
	most     int64    // memory at which it is killed; default: killedAt
	files    int      // how many it may open; default: as many as this check
}

// server is an oriel serve process.
type server struct {
	url  string // http://127.0.0.1:PORT
	data string // its data folder
	log  string // the file of its standard error
	cmd  *exec.Cmd
	most int64         // memory at which it is killed
	done chan struct{} // closed when the process has ended

	// greedy is set when the process was killed because it had more than killedAt
	// bytes resident.
	greedy atomic.Bool
}

// killedAt is the memory at which a server is killed, to protect the machine.
const killedAt = 3 << 30

// watch kills the process if it uses too much memory.
func (s *server) watch() {
	for {
		select {
		case <-s.done:
			return
		case <-time.After(50 * time.Millisecond):
			if s.memory("VmRSS") > s.most {
				s.greedy.Store(true)
				s.cmd.Process.Kill()
			}
		}
	}
}

// data returns the data folder of servers.
func (t *trial) data() string { return filepath.Join(t.dir, "data") }

// env returns the environment of programs.
func (t *trial) env() []string { return []string{"HOME=" + t.dir, "PATH=" + os.Getenv("PATH")} }

// serve starts a server and waits until it listens. The trial kills it at its end.
func (t *trial) serve(o serveOptions) (*server, error) {
	s := &server{data: t.data(), log: filepath.Join(t.dir, "stderr"), done: make(chan struct{}),
		most: cmp.Or(o.most, killedAt)}
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--data", s.data,
		"--upstream-openai", o.upstream + "/v1", "--upstream-anthropic", o.upstream}, o.args...)
	s.cmd = exec.Command(t.oriel, args...)
	if o.files > 0 {
		s.cmd = exec.Command("sh",
			append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, o.files), "sh", t.oriel}, args...)...)
	}
	s.cmd.Env = append(t.env(), o.env...)
	if s.cmd.Stderr = o.stderr; o.stderr == nil {
		f, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, setup("open the log", err)
		}
		defer f.Close()
		s.cmd.Stderr = f
	}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, setup("start the server", err)
	}
	go s.watch()
	listens := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if address, ok := strings.CutPrefix(lines.Text(), "oriel listens at "); ok {
				listens <- address
			}
		}
		s.cmd.Wait()
		close(s.done)
	}()
	t.atEnd(func() { s.cmd.Process.Kill(); <-s.done })
	select {
	case address := <-listens:
		s.url = "http://" + address
		return s, nil
	case <-s.done:
		said, _ := os.ReadFile(s.log)
		return nil, setup("the server ended", errors.New(strings.TrimSpace(string(said))))
	case <-time.After(time.Minute):
		return nil, setup("the server does not listen", errors.New("after a minute"))
	}
}

// stop sends SIGTERM and reports whether the server ended within the time.
func (s *server) stop(within time.Duration) bool {
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
		return true
	case <-time.After(within):
		return false
	}
}

// alive returns an error if the process has ended.
func (s *server) alive() error {
	select {
	case <-s.done:
		if s.greedy.Load() {
			return fmt.Errorf("the server had more than %d MB resident and was killed by this check", s.most>>20)
		}
		return fmt.Errorf("the server died: %v", s.cmd.ProcessState)
	default:
		return nil
	}
}

// memory returns a line of /proc/PID/status in bytes: VmRSS, the resident
// memory, or VmHWM, its peak. It returns 0 if there is no such file.
func (s *server) memory(line string) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for l := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(l, line+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// health is the part of the answer of /oriel/healthz that checks use.
type health struct {
	Status, Store, Error string
}

func (s *server) health() (h health, err error) {
	res, err := http.Get(s.url + "/oriel/healthz")
	if err != nil {
		return h, err
	}
	defer res.Body.Close()
	return h, json.NewDecoder(res.Body).Decode(&h)
}

// answer is the response that a client got.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// clients has no limit on connections, and keeps none from one trial to the
// next.
var clients = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	Timeout: 2 * time.Minute}

// post sends a call and reads all of its answer.
func (s *server) post(path, body string, header ...string) (*answer, error) {
	r, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := clients.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return &answer{res.StatusCode, res.Header, data}, err
}

// chatCall is a call of OpenAI's chat format with one message, whose answer is not
// streamed.
func (s *server) chatCall(text string, header ...string) (*answer, error) {
	body, err := json.Marshal(map[string]any{"model": "gpt-4o",
		"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		return nil, err
	}
	return s.post("/v1/chat/completions", string(body), header...)
}

// dial opens a connection to the server, to send what no HTTP client sends.
func (s *server) dial() (net.Conn, error) {
	return net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), 10*time.Second)
}

// settle waits until the server has used no more than a hundredth of a second of
// processor time in half a second.
func (s *server) settle() error {
	last := int64(-1)
	for range 240 {
		now, err := s.ticks()
		if err != nil {
			return err
		}
		if last >= 0 && now-last <= 1 {
			return nil
		}
		last = now
		time.Sleep(500 * time.Millisecond)
	}
	return errBusy
}

var errBusy = errors.New("the server is still at work after two minutes")

// ticks returns the processor time that the server has used, in hundredths of
// a second, or 0 without /proc.
func (s *server) ticks() (int64, error) {
	if err := s.alive(); err != nil {
		return 0, err
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, nil
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return user + system, nil
}

// event is the part of a line of the file of events that checks use.
type event struct {
	Kind, Call, Conversation, Error string
}

// readEvents reads a file of events.
func readEvents(path string) ([]event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []event
	for d := json.NewDecoder(f); ; {
		var e event
		if err := d.Decode(&e); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
}
