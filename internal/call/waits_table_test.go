package call

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The comment of Waits lists every wait that a package on the way of a call has as a constant,
// with its value.
func TestTheTableOfWaitsIsComplete(t *testing.T) {
	has := map[string]time.Duration{}
	for _, dir := range []string{
		".", "../plan", "../forward", "spool", "../thread", "../view", "../../recall", "../../timeline",
		"../../timeline/postgres", "../../timeline/sqlite",
	} {
		constantWaits(t, dir, has)
	}
	if len(has) < 15 {
		t.Fatalf("only %d waits found: %v", len(has), has)
	}
	source, err := os.ReadFile("waits.go")
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]time.Duration{}
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w+\.\w+Wait) +(\d+) (ms|s|min) `).FindAllStringSubmatch(
		string(source), -1) {
		d, err := time.ParseDuration(row[2] + strings.TrimSuffix(row[3], "in"))
		if err != nil {
			t.Fatal(err)
		}
		lists[row[1]] = d
	}
	if diff := cmp.Diff(has, lists); diff != "" {
		t.Errorf("the constants, and the table in waits.go (-constants +table):\n%s", diff)
	}
}

// constantWaits adds to waits the constants and variables of a package whose names end in Wait.
func constantWaits(t *testing.T, dir string, waits map[string]time.Duration) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files: %v", dir, len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for i, name := range v.Names {
					if strings.HasSuffix(name.Name, "Wait") && i < len(v.Values) {
						wait, err := duration(v.Values[i])
						if err != nil {
							t.Errorf("%s: %s: %v", file, name.Name, err)
						}
						waits[f.Name.Name+"."+name.Name] = wait
					}
				}
			}
		}
	}
}

var units = map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute}

// duration returns the value of a unit of package time, or of a number of them.
func duration(e ast.Expr) (time.Duration, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		return time.Duration(n), err
	case *ast.SelectorExpr:
		if unit, ok := units[e.Sel.Name]; ok {
			return unit, nil
		}
	case *ast.BinaryExpr:
		x, err := duration(e.X)
		if err != nil || e.Op != token.MUL {
			break
		}
		y, err := duration(e.Y)
		return x * y, err
	}
	return 0, fmt.Errorf("write the wait as a number of milliseconds, seconds or minutes")
}
