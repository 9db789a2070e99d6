package kit

import (
	"bufio"
	"errors"
	"os/exec"
	"strings"
	"syscall"
)

// Serve starts oriel serve on a free port of loopback and returns its base URL once it
// listens. stop ends it and waits.
func Serve(oriel string, args ...string) (base string, stop func() error, err error) {
	cmd := exec.Command(oriel, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, err
	}
	stop = func() error {
		cmd.Process.Signal(syscall.SIGTERM)
		return cmd.Wait()
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "oriel listens at "); ok {
			return "http://" + address, stop, nil
		}
	}
	return "", nil, errors.Join(errors.New("oriel serve does not listen"), stop())
}
