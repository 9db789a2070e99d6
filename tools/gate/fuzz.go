package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

const (
	module = "github.com/oriel-context/oriel"
	toml   = "github.com/BurntSushi/toml" // reads settings, and is fuzzed with them
)

// fuzz runs the fuzz targets of packages for a second each, in one process, or those of all
// packages for $FUZZTIME in one process a processor.
func fuzz(ctx context.Context, packages []string, out io.Writer) error {
	time, workers, guide := "1s", 1, ""
	if t := os.Getenv("FUZZTIME"); t != "" {
		time, workers, guide, packages = t, runtime.NumCPU(), module+"/...", []string{"./..."}
	}
	work, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	cache, err := goTool(ctx, "env", "GOCACHE")
	if err != nil {
		return err
	}
	list, err := goTool(ctx, append([]string{"list", "-f={{.Dir}} {{.ImportPath}}"}, packages...)...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(list) {
		dir, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		names := targets(dir)
		if len(names) == 0 {
			continue
		}
		// The targets of a package are linked once. go test -fuzz would instrument all
		// dependencies, which takes a minute to compile. Within a second the package and those
		// below it guide well enough.
		binary := filepath.Join(work, "fuzz.test")
		if _, err := goTool(ctx, "-C", dir, "test", "-c", "-tags=fuzz", "-o="+binary,
			"-gcflags="+cmp.Or(guide, path+"/...")+"=-d=libfuzzer", "-gcflags="+toml+"=-d=libfuzzer"); err != nil {
			return err
		}
		for _, name := range names {
			if err := fuzzOne(out, path+" "+name, func() ([]byte, error) {
				c := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.fuzz=^"+name+"$", "-test.fuzztime="+time,
					"-test.parallel="+strconv.Itoa(workers), "-test.fuzzcachedir="+filepath.Join(cache, "fuzz", path))
				c.Dir = dir
				return c.CombinedOutput()
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// goTool returns what the go command prints.
func goTool(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

var target = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// targets returns the names of the fuzz targets in a folder.
func targets(dir string) []string {
	var names []string
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is not malformed
	for _, file := range files {
		data, _ := os.ReadFile(file) // the compiler reports what cannot be read
		for _, m := range target.FindAllSubmatch(data, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

var (
	count    = regexp.MustCompile(`execs: \d+`)
	deadline = regexp.MustCompile(`(?m)^ *context deadline exceeded$`)
)

// tries is how often a target runs that fails and has found nothing.
const tries = 4

// fuzzOne runs a fuzz target and prints how many inputs it tried. A worker that is busy when
// its time is over makes the target fail, although it found nothing: such a target runs again.
func fuzzOne(to io.Writer, name string, run func() ([]byte, error)) error {
	for try := 1; ; try++ {
		out, err := run()
		if err == nil {
			tried := "" // on a busy machine the time may be over before the first count
			if all := count.FindAll(out, -1); all != nil {
				tried = string(all[len(all)-1])
			}
			fmt.Fprintln(to, name, tried)
			return nil
		}
		if try == tries || !deadline.Match(out) || bytes.Contains(out, []byte("Failing input")) {
			to.Write(out)
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}
