// Package kit holds what the checks share: flags, the walk over recorded
// sessions, the judges, and how programs are built and installed.
package kit

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrFailed reports that something did not hold. Any other error of a check
// means that it could not be made.
var ErrFailed = errors.New("failed")

// Failed returns ErrFailed if n is not 0. The check has printed what failed.
func Failed(n int) error {
	if n > 0 {
		return ErrFailed
	}
	return nil
}

// Flags returns the flag set of a check. Invalid flags end the program with
// code 2.
func Flags(verb string) *flag.FlagSet { return flag.NewFlagSet("check "+verb, flag.ExitOnError) }

// Parse parses the flags, which may stand between the other arguments, and
// returns the other arguments.
func Parse(flags *flag.FlagSet, args []string) []string {
	var rest []string
	for {
		_ = flags.Parse(args) // ends the program by itself
		if args = flags.Args(); len(args) == 0 {
			return rest
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// Source returns the folder of Oriel's module, which scripts/check names.
func Source() string {
	if dir := os.Getenv("ORIEL_SOURCE"); dir != "" {
		return dir
	}
	return "."
}

// Go runs the go command in the module's folder.
func Go(args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = Source()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// BuildOriel builds the program into a folder and returns its path.
func BuildOriel(dir string) (string, error) {
	path := filepath.Join(dir, "oriel")
	return path, Go("build", "-o", path, "./cmd/oriel")
}
