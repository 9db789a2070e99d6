// Lint runs the checks of go vet and of staticcheck on packages and their tests. For the
// GOOS or the GOARCH of another system it runs those of go vet.
//
//	lint ./...
//	GOOS=windows lint ./...
//
// From an empty cache it takes a quarter of the time of go vet and staticcheck, because it
// asks less of the dependencies. Staticcheck looks into the functions of all of them, also
// of SQLite, to learn which change nothing or never return nil. Lint does so in this module
// and in the packages that staticcheck itself lists pure functions of. Uses of what any
// dependency deprecates are found as before. go vet compiles the dependencies for another
// system; lint reads their source.
package main

import (
	"go/build"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
	"honnef.co/go/tools/analysis/facts/deprecated"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

const module = "github.com/oriel-context/oriel"

// pure are the packages of honnef.co/go/tools/analysis/facts/purity.
var pure = []string{"errors", "fmt", "net/http", "sort", "strings", "time"}

func main() {
	done := map[*analysis.Analyzer]bool{deprecated.Analyzer: true}
	for _, a := range vet {
		skipDependencies(a, done)
	}
	if build.Default.GOOS != runtime.GOOS || build.Default.GOARCH != runtime.GOARCH {
		multichecker.Main(vet...)
	}
	cmd := lintcmd.NewCommand("lint")
	cmd.ParseFlags(os.Args[1:])
	checks := slices.Concat(simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers, []*lint.Analyzer{unused.Analyzer})
	for _, a := range checks {
		skipDependencies(a.Analyzer, done)
	}
	for _, a := range vet {
		checks = append(checks, &lint.Analyzer{Doc: &lint.RawDocumentation{Title: a.Name, Severity: lint.SeverityError}, Analyzer: a})
	}
	cmd.AddAnalyzers(checks...)
	cmd.Run()
}

// skipDependencies makes a and the analyzers that it requires return nothing for
// dependencies that are not in pure. It leaves the analyzers in done as they are.
func skipDependencies(a *analysis.Analyzer, done map[*analysis.Analyzer]bool) {
	if done[a] {
		return
	}
	done[a] = true
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		if path := pass.Pkg.Path(); path == module || strings.HasPrefix(path, module+"/") || slices.Contains(pure, path) {
			return run(pass)
		}
		if a.ResultType == nil {
			return nil, nil
		}
		return reflect.Zero(a.ResultType).Interface(), nil
	}
	for _, required := range a.Requires {
		skipDependencies(required, done)
	}
}
