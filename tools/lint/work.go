package main

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"reflect"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
	"honnef.co/go/tools/analysis/facts/deprecated"
	"honnef.co/go/tools/unused"
)

// run runs checks on packages, and returns what they found as lines.
func run(checks []*analysis.Analyzer, pkgs []*packages.Package) map[string]bool {
	roots, found, known := map[*packages.Package]bool{}, map[string]bool{}, facts{}
	for _, p := range pkgs {
		roots[p] = true
	}
	producers := map[*analysis.Analyzer]bool{}
	addProducers(producers, checks)
	fset := token.NewFileSet()
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		check(fset, p)
		defer func() { p.Syntax, p.TypesInfo = nil, nil }() // others need the types alone
		for _, err := range p.Errors {
			found[err.Msg] = true
		}
		if p.Errors != nil {
			return
		}
		w := &work{Package: p, facts: known, results: map[*analysis.Analyzer]any{}}
		for a := range producers {
			w.do(a)
		}
		if !roots[p] {
			return
		}
		for _, a := range checks {
			w.do(a)
		}
		for _, line := range w.findings(checks) {
			found[line] = true
		}
	})
	return found
}

// addProducers adds those of checks and of what they require that export facts.
func addProducers(to map[*analysis.Analyzer]bool, checks []*analysis.Analyzer) {
	for _, a := range checks {
		if len(a.FactTypes) > 0 {
			to[a] = true
		}
		addProducers(to, a.Requires)
	}
}

// facts are what analyzers know of what others import, by the type of the fact and its
// subject, a types.Object or a *types.Package.
type facts map[reflect.Type]map[any]analysis.Fact

func (f facts) put(subject any, fact analysis.Fact) {
	t := reflect.TypeOf(fact)
	if f[t] == nil {
		f[t] = map[any]analysis.Fact{}
	}
	f[t][subject] = fact
}

func (f facts) get(subject any, into analysis.Fact) bool {
	fact, ok := f[reflect.TypeOf(into)][subject]
	if ok {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(fact).Elem())
	}
	return ok
}

// all returns the facts of an analyzer on subjects of a kind.
func all[S, F any](f facts, a *analysis.Analyzer, make func(S, analysis.Fact) F) (out []F) {
	for _, t := range a.FactTypes {
		for subject, fact := range f[reflect.TypeOf(t)] {
			if s, ok := subject.(S); ok {
				out = append(out, make(s, fact))
			}
		}
	}
	return out
}

// work is the analysis of one package.
type work struct {
	*packages.Package
	facts
	results map[*analysis.Analyzer]any
	reports map[*analysis.Analyzer][]string
}

// do runs an analyzer, if it did not run, after what it requires.
func (w *work) do(a *analysis.Analyzer) any {
	result, done := w.results[a]
	if done {
		return result
	}
	if a.ResultType != nil {
		result = reflect.Zero(a.ResultType).Interface()
	}
	if whole(w.PkgPath) || a == deprecated.Analyzer {
		result = w.analyze(a)
	}
	w.results[a] = result
	return result
}

func (w *work) analyze(a *analysis.Analyzer) any {
	report := func(at, what string) {
		if w.reports == nil {
			w.reports = map[*analysis.Analyzer][]string{}
		}
		w.reports[a] = append(w.reports[a], fmt.Sprintf("%s: %s (%s)", at, what, a.Name))
	}
	pass := &analysis.Pass{
		Analyzer: a, Fset: w.Fset, Files: w.Syntax, OtherFiles: w.OtherFiles, IgnoredFiles: w.IgnoredFiles,
		Pkg: w.Types, TypesInfo: w.TypesInfo, TypesSizes: w.TypesSizes, Module: &analysis.Module{},
		ResultOf: map[*analysis.Analyzer]any{}, ReadFile: os.ReadFile,
		Report:            func(d analysis.Diagnostic) { report(w.Fset.Position(d.Pos).String(), d.Message) },
		ImportObjectFact:  func(o types.Object, f analysis.Fact) bool { return w.get(o, f) },
		ExportObjectFact:  func(o types.Object, f analysis.Fact) { w.put(o, f) },
		ImportPackageFact: func(p *types.Package, f analysis.Fact) bool { return w.get(p, f) },
		ExportPackageFact: func(f analysis.Fact) { w.put(w.Types, f) },
		AllObjectFacts: func() []analysis.ObjectFact {
			return all(w.facts, a, func(o types.Object, f analysis.Fact) analysis.ObjectFact {
				return analysis.ObjectFact{Object: o, Fact: f}
			})
		},
		AllPackageFacts: func() []analysis.PackageFact {
			return all(w.facts, a, func(p *types.Package, f analysis.Fact) analysis.PackageFact {
				return analysis.PackageFact{Package: p, Fact: f}
			})
		},
	}
	if m := w.Module; m != nil {
		pass.Module = &analysis.Module{Path: m.Path, Version: m.Version, GoVersion: m.GoVersion}
	}
	for _, required := range a.Requires {
		pass.ResultOf[required] = w.do(required)
	}
	result, err := a.Run(pass)
	if err != nil {
		report(w.ID, err.Error())
	}
	if u, ok := result.(unused.Result); ok {
		for _, o := range u.Unused {
			report(o.DisplayPosition.String(), o.Kind+" "+o.Name+" is unused")
		}
	}
	return result
}

// findings are what checks reported.
func (w *work) findings(checks []*analysis.Analyzer) (lines []string) {
	for _, a := range checks {
		lines = append(lines, w.reports[a]...)
	}
	return lines
}
