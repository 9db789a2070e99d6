package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A step is a command for bash with a name for people.
type step struct{ name, command string }

// Steps are those that run one after the other, and those that run so beside them.
type steps struct{ first, beside []step }

func parse(r io.Reader) (steps, error) {
	var all steps
	list := &all.first
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if line == "beside:" {
			list = &all.beside
			continue
		}
		name, command, ok := strings.Cut(line, ": ")
		switch {
		case strings.TrimSpace(line) == "":
		case strings.TrimLeft(line, " \t") != line && len(*list) > 0:
			(*list)[len(*list)-1].command += " " + strings.TrimSpace(line)
		case !ok:
			return all, fmt.Errorf("%q is not the name of a step, a colon and a command", line)
		default:
			*list = append(*list, step{name, strings.TrimSpace(command)})
		}
	}
	if len(all.first) == 0 {
		return all, errors.New("the list has no steps")
	}
	return all, lines.Err()
}

// A report is where the steps print.
type report struct {
	out     io.Writer
	started time.Time

	mu   sync.Mutex   // protects held
	held bytes.Buffer // what steps beside printed that have ended
}

func (r *report) head(to io.Writer, name string) {
	fmt.Fprintf(to, "\n== %s (after %d s)\n", name, int(time.Since(r.started).Seconds()))
}

// flush prints what was held back.
func (r *report) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held.WriteTo(r.out)
}

func (s steps) run(parent context.Context, out io.Writer) error {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	r := &report{out: out, started: time.Now()}
	beside := make(chan struct{})
	go func() {
		defer close(beside)
		if err := r.runBeside(ctx, s.beside); err != nil {
			end(err)
		}
	}()
	err := r.runFirst(ctx, s.first)
	first := err != nil && ctx.Err() == nil
	if first {
		end(err)
	}
	<-beside
	cause := context.Cause(ctx)
	if !first {
		r.flush() // else the output of the step that failed is the last
	}
	if cause == nil {
		r.head(out, "all passed")
	}
	return cause
}

func (r *report) runFirst(ctx context.Context, list []step) error {
	for _, s := range list {
		r.flush()
		r.head(r.out, s.name)
		if err := s.run(ctx, r.out); err != nil {
			return err
		}
	}
	return nil
}

func (r *report) runBeside(ctx context.Context, list []step) error {
	for _, s := range list {
		var b bytes.Buffer
		r.head(&b, s.name)
		err := s.run(ctx, &b)
		r.mu.Lock()
		b.WriteTo(&r.held)
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// patience is how long what was asked to end may take.
const patience = 10 * time.Second

// run runs the command in a process group of its own. When the command fails or the context
// ends, what it started ends as well.
func (s step) run(ctx context.Context, out io.Writer) error {
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", s.command)
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = patience
	err := c.Run()
	if err != nil && c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it fails if nothing is left
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
