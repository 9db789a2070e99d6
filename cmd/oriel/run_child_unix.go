//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// interruptIgnored is set before this program asks for interrupts. Shells
// start background jobs of scripts with interrupts ignored, and a child
// inherits that.
var interruptIgnored = signal.Ignored(os.Interrupt)

// runChild runs a program on this one's terminal, in its process group and on
// its files, until it ends. code is a shell's exit code: 128+n if signal n
// killed it.
//
// A terminal sends signals to the whole group: Ctrl-C reaches the child
// directly, and Ctrl-Z stops both. A shell's fg continues the whole group.
// runChild passes on signals that are sent to this process alone. err is why
// the program could not be started.
func runChild(path string, args, env []string) (code int, err error) {
	tty := openTerminal()
	defer tty.release()
	ended := make(chan os.Signal, 1) // one suffices: it only says that there may be news
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	signals := make(chan os.Signal, 32)
	defer signal.Stop(signals)
	if interruptIgnored {
		signal.Ignore(os.Interrupt)
	}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGCONT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, err
	}
	// One goroutine passes signals on and waits for the end, so that no signal
	// reaches a process that has reused the child's id.
	for {
		select {
		case s := <-signals:
			if toGroup(s) && tty.foreground() {
				continue // the child got it too
			}
			syscall.Kill(pid, s.(syscall.Signal)) // a child that has just ended needs none
		case <-ended:
			status, news, err := look(pid)
			switch {
			case err != nil:
				return 0, err
			case !news:
			case status.Exited():
				return status.ExitStatus(), nil
			case status.Signaled():
				tty.restore()
				return 128 + int(status.Signal()), nil
			case tty.foreground():
				// A program that stops only itself leaves the terminal to
				// nobody. Stop too, so that the shell gets it back; its fg
				// continues both.
				syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
			}
		}
	}
}

// toGroup reports whether the signal comes to a whole group in the foreground:
// by the keys of its terminal, or by a shell's fg. A second SIGCONT, passed on
// late, would continue a child that has stopped itself again before its stop is
// noticed.
func toGroup(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGCONT
}

// look reports whether a child has ended or stopped.
func look(pid int) (status syscall.WaitStatus, news bool, err error) {
	for {
		got, err := syscall.Wait4(pid, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return status, false, os.NewSyscallError("wait4", err)
		default:
			return status, got == pid, nil
		}
	}
}

// terminal is the terminal of this process, if it has one.
type terminal struct {
	file  *os.File
	state *term.State
}

func openTerminal() terminal {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return terminal{}
	}
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		state = nil
	}
	return terminal{f, state}
}

// foreground reports whether the keys of the terminal go to this process's
// group.
func (t terminal) foreground() bool {
	if t.file == nil {
		return false
	}
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// restore resets the terminal after a program was killed. Shells do so for
// their own children, but they do not see this one.
func (t terminal) restore() {
	if t.state != nil && t.foreground() {
		term.Restore(int(t.file.Fd()), t.state)
	}
}

func (t terminal) release() {
	if t.file != nil {
		t.file.Close()
	}
}
