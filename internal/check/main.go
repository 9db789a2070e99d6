// Command check runs checks that need Oriel as a process: attacks on a server.
//
//	go run ./internal/check attack [--oriel PATH] [--size N] NAME…|all|list
//
// It must run in a folder of Oriel's module, from which it builds the program unless
// --oriel names one. Everything happens on loopback and in temporary folders, and is
// bounded in count and time. The exit code is 1 if a check failed, 2 if it could not be
// made.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// verbs are the kinds of checks. A verb returns how many checks failed.
var verbs = map[string]func(args []string) (failed int, err error){
	"attack": attackVerb,
}

func main() {
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "check: name a verb: attack")
		os.Exit(2)
	}
	failed, err := verbs[os.Args[1]](os.Args[2:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "check: %v\n", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// buildOriel builds the program into a folder and returns its path.
func buildOriel(dir string) (string, error) {
	path := filepath.Join(dir, "oriel")
	out, err := exec.Command("go", "build", "-o", path, "github.com/oriel-context/oriel/cmd/oriel").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build oriel: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return path, nil
}
