package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// load returns the packages that match patterns, with their tests.
func load(patterns []string) ([]*packages.Package, error) {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedModule | packages.NeedTypesSizes | packages.NeedForTest,
		Env:   append(os.Environ(), "CGO_ENABLED=0"),
		Tests: true,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(pkgs) > 0 {
		return nil, errors.New("not all packages could be loaded")
	}
	tested := map[string]bool{}
	for _, p := range pkgs {
		if p.ForTest == p.PkgPath {
			tested[p.PkgPath] = true
		}
	}
	return slices.DeleteFunc(pkgs, func(p *packages.Package) bool {
		// A package with its tests has all of the package. The program that runs tests is
		// nobody's.
		return p.ForTest == "" && (tested[p.PkgPath] || strings.HasSuffix(p.ID, ".test"))
	}), nil
}

// check parses and type-checks a package, whose imports are checked. What is inside of the
// functions of dependencies is left out.
func check(fset *token.FileSet, p *packages.Package) {
	p.Fset = fset
	p.TypesInfo = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses:      map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{},
		Scopes:     map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
	if p.PkgPath == "unsafe" {
		p.Types = types.Unsafe
		return
	}
	failed := func(err error) {
		p.Errors = append(p.Errors, packages.Error{Msg: err.Error(), Kind: packages.TypeError})
	}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			failed(err)
			return
		}
		if !whole(p.PkgPath) {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					d.Body = &ast.BlockStmt{}
				}
			}
		}
		p.Syntax = append(p.Syntax, f)
	}
	config := types.Config{Sizes: p.TypesSizes, IgnoreFuncBodies: !whole(p.PkgPath), Error: failed,
		Importer: imports(p.Imports)}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	p.Types, _ = config.Check(p.PkgPath, fset, p.Syntax, p.TypesInfo)
}

// imports are those of a package.
type imports map[string]*packages.Package

func (m imports) Import(path string) (*types.Package, error) {
	if p := m[path]; p != nil && p.Types != nil {
		return p.Types, nil
	} else if path == "unsafe" {
		return types.Unsafe, nil
	}
	return nil, fmt.Errorf("%s was not loaded", path)
}
