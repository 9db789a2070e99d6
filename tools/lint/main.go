// Lint runs the checks of go vet and of staticcheck on packages and their tests. For the
// GOOS or the GOARCH of another system it runs those of go vet.
//
//	lint ./...
//	GOOS=windows lint ./...
//
// It compiles nothing, and asks little of the dependencies: go vet compiles them, and
// staticcheck looks into the functions of all of them, also of SQLite, to learn which change
// nothing or never return nil. Lint does so in this repository and in the packages that
// staticcheck itself lists pure functions of; of others it reads the declarations. Uses of
// what any dependency deprecates are found as before. There is no way to have a finding
// ignored.
package main

import (
	"fmt"
	"go/build"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

const module = "github.com/oriel-context/oriel"

// pure are the packages of honnef.co/go/tools/analysis/facts/purity.
var pure = []string{"errors", "fmt", "net/http", "sort", "strings", "time"}

// whole reports whether the functions of a package are looked into.
func whole(path string) bool {
	return strings.TrimSuffix(path, "_test") == module || strings.HasPrefix(path, module+"/") ||
		slices.Contains(pure, path)
}

func main() {
	debug.SetGCPercent(400) // there is memory
	pkgs, err := load(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	checks := vet
	if build.Default.GOOS == runtime.GOOS && build.Default.GOARCH == runtime.GOARCH {
		for _, c := range slices.Concat(simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers,
			[]*lint.Analyzer{unused.Analyzer}) {
			if !c.Doc.NonDefault {
				checks = append(checks, c.Analyzer)
			}
		}
	}
	found := run(checks, pkgs)
	dir, _ := os.Getwd()
	for _, line := range slices.Sorted(maps.Keys(found)) {
		fmt.Println(strings.TrimPrefix(line, dir+string(os.PathSeparator)))
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}
