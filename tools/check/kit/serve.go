package kit

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// Server is a running oriel serve.
type Server struct {
	// Base is its base URL.
	Base string
	cmd  *exec.Cmd
}

// Serve starts oriel serve on a free port of loopback and returns its base URL once it
// listens. stop ends it and waits.
func Serve(oriel string, args ...string) (base string, stop func() error, err error) {
	s, err := StartServer(oriel, "127.0.0.1:0", nil, args...)
	if err != nil {
		return "", nil, err
	}
	return s.Base, s.Stop, nil
}

// StartServer starts oriel serve and returns once it listens. Its log goes to log, which
// may be nil.
func StartServer(oriel, listen string, log io.Writer, args ...string) (*Server, error) {
	cmd := exec.Command(oriel, append([]string{"serve", "--listen", listen}, args...)...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "oriel listens at "); ok {
			s.Base = "http://" + address
			return s, nil
		}
	}
	return nil, errors.Join(errors.New("oriel serve does not listen"), s.Stop())
}

// Stop ends the server and waits.
func (s *Server) Stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	return s.cmd.Wait()
}

// Kill kills the server with a signal that it cannot catch, and waits.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
}
