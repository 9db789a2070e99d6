// Package kit is what the checks of command check share: flags, the walk over recorded
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

// ErrFailed says that something did not hold. Every other error of a check says that it
// could not be made.
var ErrFailed = errors.New("failed")

// Failed returns ErrFailed if anything failed. The check has said what.
func Failed(n int) error {
	if n > 0 {
		return ErrFailed
	}
	return nil
}

// Flags returns the flags of a check. Wrong ones end the program with 2.
func Flags(verb string) *flag.FlagSet { return flag.NewFlagSet("check "+verb, flag.ExitOnError) }

// Parse reads the flags, which may stand between the other arguments, and returns those.
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

// Source is the folder of Oriel's module, which scripts/check names.
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
