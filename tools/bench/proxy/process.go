package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a running program with all processes that it started.
type process struct {
	cmd  *exec.Cmd
	done chan error
	log  string // the file with its output
	pids []int
}

func startProcess(log string, env []string, args ...string) (*process, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = f, f
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan error, 1), log: log, pids: []int{cmd.Process.Pid}}
	go func() { p.done <- cmd.Wait() }()
	return p, nil
}

// family finds the processes that the program has started.
func (p *process) family() {
	parent := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) > 1 {
			parent[pid], _ = strconv.Atoi(fields[1])
		}
	}
	own := p.cmd.Process.Pid
	p.pids = []int{own}
	for pid := range parent {
		for up := parent[pid]; up > 1; up = parent[up] {
			if up == own {
				p.pids = append(p.pids, pid)
				break
			}
		}
	}
}

// cpu returns the processor time used so far, user and system. It reads the
// clock of the process, which is exact to the nanosecond; /proc/PID/stat
// counts in hundredths of a second.
func (p *process) cpu() time.Duration {
	var sum time.Duration
	for _, pid := range p.pids {
		var t unix.Timespec
		if unix.ClockGettime(int32(^pid<<3|2), &t) == nil {
			sum += time.Duration(t.Nano())
		}
	}
	return sum
}

// settle waits until the program is idle, at most a second.
func (p *process) settle() {
	last, quiet := p.cpu(), 0
	for end := time.Now().Add(time.Second); quiet < 3 && time.Now().Before(end); {
		time.Sleep(3 * time.Millisecond)
		now := p.cpu()
		if quiet++; now-last > 100*time.Microsecond {
			quiet = 0
		}
		last = now
	}
}

// resident returns its memory in MB.
func (p *process) resident() float64 {
	sum := 0.0
	for _, pid := range p.pids {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if f := strings.Fields(string(data)); len(f) > 1 {
			pages, _ := strconv.Atoi(f[1])
			sum += float64(pages*os.Getpagesize()) / 1e6
		}
	}
	return sum
}

// files counts the open files outside a folder.
func (p *process) files(but string) (n int) {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	for _, name := range open {
		if to, err := os.Readlink(name); err == nil && !strings.HasPrefix(to, but) {
			n++
		}
	}
	return n
}

// end sends a signal and waits.
func (p *process) end(sig syscall.Signal) error {
	syscall.Kill(-p.cmd.Process.Pid, sig)
	select {
	case err := <-p.done:
		return err
	case <-time.After(45 * time.Second):
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
		return errors.New("it did not end within 45 s of the signal")
	}
}

// lastWords returns the end of its log.
func (p *process) lastWords() string {
	data, _ := os.ReadFile(p.log)
	return string(bytes.Join(bytes.Fields(data[max(0, len(data)-400):]), []byte(" ")))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ready waits until a call is answered.
func (p *process) ready(c *client, patience time.Duration) error {
	k := kinds[3]
	body, want := newTalk(k, "ready").body(0, false)
	end := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err := c.call(ctx, k.anthropic, body, want)
		cancel()
		if err == nil {
			p.family()
			return nil
		}
		select {
		case bad := <-p.done:
			p.done <- bad
			return fmt.Errorf("it ended (%v): %s", bad, p.lastWords())
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("no call was answered within %v: %w; %s", patience, err, p.lastWords())
		}
	}
}
