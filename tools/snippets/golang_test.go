//go:build unix

package snippets

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// given are the names that parts of programs use without saying what they are, as the
// parameters of a function.
var given = map[string]string{
	"ctx": "context.Context", "dir": "string", "body": "[]byte",
	"span": "[]chat.Message", "earlier": "string", "count": "func(string) int",
}

// from are the packages that parts of programs use.
var from = map[string]string{
	"context": "context", "fmt": "fmt", "http": "net/http", "log": "log", "os": "os", "time": "time",
	"oriel": "github.com/oriel-context/oriel", "items": "github.com/oriel-context/oriel/items",
	"chat": "github.com/oriel-context/oriel/chat", "condense": "github.com/oriel-context/oriel/condense",
	"minilm": "github.com/oriel-context/oriel/embed/minilm", "remote": "github.com/oriel-context/oriel/embed/remote",
}

// runGo runs a program; a part of one is compiled as the body of a function.
func runGo(t *testing.T, w *world, b block) {
	if err := w.golang(); err != nil {
		t.Fatal(err)
	}
	if !program(b.text) {
		return
	}
	h := newHome(t, w)
	if strings.Contains(b.text, ":8780") {
		h.serve(t)
	}
	h.run(t, filepath.Join(w.programs, folder(b)))
}

func program(text string) bool {
	return regexp.MustCompile(`(?m)^package main$`).MatchString(text)
}

// folder is the name of a block's package.
func folder(b block) string {
	return fmt.Sprintf("%s_%d",
		strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(strings.TrimSuffix(b.page, ".md"), "_"), "_"), b.line)
}

// buildGo builds all blocks of Go at once, as packages of this module that are in none of
// its folders. Their programs are in dir.
func buildGo(dir string, w *world) error {
	replace := map[string]string{}
	var programs, parts []string
	for _, b := range w.blocks {
		if b.info != "go" {
			continue
		}
		text, kind := b.text, &programs
		if !program(text) {
			kind = &parts
			var err error
			if text, err = whole(b); err != nil {
				return fmt.Errorf("%s:%d: %w", b.page, b.line, err)
			}
		}
		file := filepath.Join(dir, folder(b)+".txt")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		replace[filepath.Join(w.repo, "examples", folder(b), "main.go")] = file
		*kind = append(*kind, "./examples/"+folder(b))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		return err
	}
	// With a folder for its output go build leaves out what is no program.
	for _, args := range [][]string{parts, append([]string{"-o", dir + "/"}, programs...)} {
		cmd := exec.Command("go", append([]string{"build", "-overlay", filepath.Join(dir, "overlay.json")}, args...)...)
		cmd.Dir, cmd.Env = w.repo, append(cmd.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return nil
}

// whole is a program around a part of one: a function whose parameters are what the part
// takes as given, with an import for each package.
func whole(b block) (string, error) {
	lines := fmt.Sprintf("//line %s:%d\n", filepath.Base(b.page), b.line+1)
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+lines+b.text+"}\n", 0)
	if err != nil {
		return "", err
	}
	defined, params, imports := map[string]bool{}, map[string]bool{}, map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE && id.Name != "_" {
					defined[id.Name] = true
				}
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && from[id.Name] != "" {
				imports[from[id.Name]] = true
			}
		case *ast.Ident:
			if typ := given[n.Name]; typ != "" {
				params[n.Name+" "+typ] = true
				if name, _, ok := strings.Cut(strings.TrimLeft(typ, "[]"), "."); ok {
					imports[from[name]] = true
				}
			}
		}
		return true
	})
	var s strings.Builder
	s.WriteString("package part\n\n")
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&s, "import %q\n", path)
	}
	fmt.Fprintf(&s, "\nfunc part(%s) {\n%s%s", strings.Join(slices.Sorted(maps.Keys(params)), ", "), lines, b.text)
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		fmt.Fprintf(&s, "_ = %s\n", name)
	}
	s.WriteString("}\n\nvar _ = part\n")
	return s.String(), nil
}
