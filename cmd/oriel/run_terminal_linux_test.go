package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

func init() { moreVerbs["shell"], moreVerbs["raw"] = jobControl, raw }

// jobControl is what a shell does for a job in the foreground of its terminal, with the
// user's fg after each stop.
func jobControl(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: 0} // and a group of its own
	if err := cmd.Start(); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err == syscall.EINTR {
			continue
		} else if err != nil {
			return err
		}
		if !status.Stopped() {
			fmt.Printf("shell: exit %d\n", status.ExitStatus())
			return nil
		}
		fmt.Println("shell: stopped")
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT); err != nil {
			return err
		}
	}
}

// raw takes the terminal's keys one by one, and is killed so.
func raw([]string) error {
	if _, err := term.MakeRaw(0); err != nil {
		return err
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		return err
	}
	_, err := os.Stdin.Read(make([]byte, 1)) // until the signal is here
	return err
}

// onTerminal starts a program on a terminal of its own: keys go to the first file, and what
// is shown comes from there. unchanged tells whether the terminal is as it was.
func onTerminal(t *testing.T, args ...string) (keys *os.File, cmd *exec.Cmd, unchanged func() bool) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("!! SKIPPED: no pseudo-terminal: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	state := func() unix.Termios {
		t.Helper()
		s, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return *s
	}
	before := state()
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	mindSignals()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hangUp := func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		tty.Close()
		keys.Close() // a job that was left behind may still have the terminal
	}
	late := time.AfterFunc(tooLong, hangUp)
	t.Cleanup(func() {
		late.Stop()
		hangUp()
		cmd.Wait() // twice is no harm
	})
	return keys, cmd, func() bool { return state() == before }
}

// Keys of a terminal reach the child once, Ctrl-Z stops both and fg continues both, also
// where the child stops itself alone.
func TestRunLeavesTheTerminalToTheChild(t *testing.T) {
	keys, cmd, _ := onTerminal(t, "child", "shell", "oriel", "run", "--data", t.TempDir(), "--", "child", "listen")
	await := awaiter(t, keys)
	press := func(text string) {
		t.Helper()
		if _, err := io.WriteString(keys, text); err != nil {
			t.Fatal(err)
		}
	}
	await("child: ready")
	for range 2 {
		press("\x03")
		await("child: interrupt")
	}
	press("\x1c")
	await("child: quit")
	press("\x1a")
	await("shell: stopped")
	await("child: continued")
	press("signal 19\n") // SIGSTOP
	await("shell: stopped")
	await("child: continued")
	press("exit 5\n")
	await("NO CALL CAME THROUGH")
	shown := strings.Join(await("shell: exit 5"), "\n")
	if stopped, continued := strings.Count(shown, "shell: stopped"),
		strings.Count(shown, "child: continued"); continued > stopped {
		t.Errorf("the shell continued the child %d times, and the child was continued %d times", stopped, continued)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A child that is killed leaves the terminal as a shell would want it.
func TestRunRestoresTheTerminalOfAKilledChild(t *testing.T) {
	keys, cmd, unchanged := onTerminal(t, "oriel", "run", "--data", t.TempDir(), "--", "child", "raw")
	awaiter(t, keys)("NO CALL CAME THROUGH")
	cmd.Wait()
	if !unchanged() || cmd.ProcessState.ExitCode() != 128+15 {
		t.Error(unchanged(), cmd.ProcessState)
	}
}
