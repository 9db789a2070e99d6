package term

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Screen is what a command draws for.
type Screen struct {
	Style Style
	// Width is the columns of the terminal; 0 where there is none, and lines are as long
	// as they are.
	Width int
}

// ScreenOf returns the screen behind out.
func ScreenOf(out io.Writer) Screen {
	if !IsTerminal(out) {
		return Screen{}
	}
	return Screen{StyleOf(out), Width(out)}
}

// Paged draws on out. On a terminal, what has more lines than the terminal goes through
// $PAGER, or through less where that is not set.
func Paged(out io.Writer, draw func(io.Writer, Screen) error) error {
	if !IsTerminal(out) {
		return draw(out, Screen{})
	}
	var b bytes.Buffer
	if err := draw(&b, ScreenOf(out)); err != nil {
		return err
	}
	if pager := pagerFor(out, bytes.Count(b.Bytes(), []byte("\n"))); pager != nil {
		pager.Stdin, pager.Stdout, pager.Stderr = &b, File(out), os.Stderr
		if pager.Run() == nil || b.Len() == 0 {
			return nil // also where somebody left it before the end
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

// pagerFor returns the program that shows so many lines; nil if they fit on the terminal, or
// if there is none.
func pagerFor(out io.Writer, lines int) *exec.Cmd {
	if _, height, err := Size(File(out)); err != nil || lines < height {
		return nil
	}
	words := strings.Fields(os.Getenv("PAGER"))
	if _, set := os.LookupEnv("PAGER"); !set {
		words = []string{"less", "-FRX"}
	}
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil
	}
	cmd := exec.Command(path, words[1:]...)
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	return cmd
}
