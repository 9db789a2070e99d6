package oriel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

const module = "github.com/oriel-context/oriel"

// layers lists the folders from the lowest to the highest. A layer imports only
// layers that stand before it. Test material stands last: it may import anything,
// and no layer imports it. The programs of the module tools import all of them.
var layers = []string{
	"internal/rawjson/passes",
	"internal/limit",
	"internal/call/spool",
	"internal/rawjson",
	"internal/importer/claudecode",
	"internal/term/lines",
	"internal/number",
	"internal/settings/suggest",
	"internal/term",
	"internal/directive",
	"internal/quote",
	"internal/secret",
	"internal/llm",
	"chat",
	"internal/prompt",
	"internal/bpe",
	"internal/clip",
	"wire",
	"token",
	"internal/prices",
	"condense",
	"items",
	"internal/dryrun",
	"window",
	"cmd/oriel/internal/trajectory",
	"internal/vector/mat",
	"embed",
	"embed/internal/wordpiece",
	"embed/minilm",
	"embed/remote",
	"timeline",
	"internal/engine/fault",
	"internal/event",
	"timeline/memory",
	"timeline/internal/cache",
	"timeline/internal/codec",
	"timeline/internal/migrate",
	"timeline/internal/seal",
	"timeline/sqlite",
	"timeline/postgres",
	"internal/importer",
	"internal/importer/copier",
	"internal/proxy/access",
	"internal/proxy/socket",
	"internal/keyword",
	"internal/vector",
	"recall",
	"internal/eval",
	"internal/plan",
	"internal/thread",
	"internal/view",
	"internal/call",
	"internal/proxy/windows",
	"internal/forward",
	"internal/engine",
	"",
	"internal/report",
	"internal/api/console",
	"internal/proxy",
	"internal/metrics",
	"internal/mcp",
	"internal/metrics/tracing",
	"internal/settings",
	"internal/setup",
	"internal/api",
	"internal/serve",
	"internal/test/strict",
	"internal/test/eventstream",
	"internal/test/fakemodel",
	"internal/test/freeport",
	"internal/test/pgtest",
	"internal/demo",
	"cmd/oriel",
	"internal/test/histories",
	"internal/test/protocols",
	"internal/test/growth",
	"internal/test/script",
	"internal/test/mixtext",
	"internal/test/jsonsample",
	"internal/test/storetest",
}

// packages calls visit for the files of every package of this module.
func packages(t *testing.T, visit func(dir string, files []string)) {
	t.Helper()
	packagesBelow(t, ".", visit)
}

// packagesBelow calls visit for the files of every package of the module in a folder.
func packagesBelow(t *testing.T, root string, visit func(dir string, files []string)) {
	t.Helper()
	byDir := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != root && err == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			dir := filepath.ToSlash(filepath.Dir(path))
			if dir == "." {
				dir = ""
			}
			byDir[dir] = append(byDir[dir], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(byDir) < 5 {
		t.Fatalf("only %d packages found", len(byDir))
	}
	for dir, files := range byDir {
		visit(dir, files)
	}
}

func TestLowerLayersNeverImportHigherOnes(t *testing.T) {
	packages(t, func(dir string, files []string) {
		own := layer(dir)
		if own < 0 {
			t.Errorf("%s: no place among the layers: give it one in rules_test.go and docs/architecture.md", dir)
			return
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, spec := range f.Imports {
				path, _ := strconv.Unquote(spec.Path.Value)
				rest, inside := strings.CutPrefix(path+"/", module+"/")
				if other := layer(strings.TrimSuffix(rest, "/")); inside && other > own {
					t.Errorf("%s: imports %s, which is a higher layer", file, path)
				}
			}
		}
	})
}

// layer is the place of a folder: its own, or that of the layer it lies in.
func layer(dir string) int {
	for d := dir; ; d = filepath.ToSlash(filepath.Dir(d)) {
		if i := slices.Index(layers, d); i >= 0 && (d != "" || dir == "") {
			return i
		}
		if !strings.Contains(d, "/") {
			return -1
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	visit := func(dir string, files []string) {
		comments := 0
		code := 0
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			code++
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Error(err)
				continue
			}
			if f.Doc != nil && len(strings.Fields(f.Doc.Text())) > 3 {
				comments++
			}
		}
		if code > 0 && comments != 1 {
			t.Errorf("%s: %d package comments, want one", dir, comments)
		}
	}
	packages(t, visit)
	packagesBelow(t, "tools", visit)
}

// docs/spec.md names tests and files: they exist. Tests name lines of it: they are there.
func TestSpecIsTrue(t *testing.T) {
	raw, err := os.ReadFile("docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	spec := string(raw)
	var code strings.Builder
	take := func(_ string, files []string) {
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				continue
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(raw)
		}
	}
	packages(t, take)
	packagesBelow(t, "tools", take)
	tests := code.String()
	names := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(spec, -1)
	if len(names) < 10 {
		t.Errorf("docs/spec.md names only %d tests", len(names))
	}
	for _, name := range names {
		if !strings.Contains(tests, "func "+name+"(") {
			t.Errorf("docs/spec.md names %s, which does not exist", name)
		}
	}
	for _, m := range regexp.MustCompile(`// .*\bSPEC ([A-E]\d+(?:, [A-E]\d+)*)`).FindAllStringSubmatch(tests, -1) {
		for _, line := range strings.Split(m[1], ", ") {
			if !strings.Contains(spec, "| "+line+" |") {
				t.Errorf("a test names SPEC %s, which docs/spec.md does not have", line)
			}
		}
	}
	// `layer` (file.go, …), where the root is called oriel.
	for _, m := range regexp.MustCompile("`([a-z/]+)` \\(([^)|]*)\\)").FindAllStringSubmatch(spec, -1) {
		dir := m[1]
		if dir == "oriel" {
			dir = "."
		}
		for _, file := range regexp.MustCompile(`\w+\.go`).FindAllString(m[2], -1) {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("docs/spec.md names %s of %s: %v", file, m[1], err)
			}
		}
	}
}

// The documents name tests by go test -run: each name that they give is one of a test.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	tests := map[string]string{} // the source of a folder's tests
	visit := func(dir string, files []string) {
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				tests[filepath.Clean(dir)] += string(raw)
			}
		}
	}
	packages(t, visit)
	packagesBelow(t, "tools", visit)
	pages := []string{"README.md", "CONTRIBUTING.md"}
	for _, shelf := range []string{"docs/*.md", "docs/reference/*.md"} {
		found, err := filepath.Glob(shelf)
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages at %s: %v", shelf, err)
		}
		pages = append(pages, found...)
	}
	found := 0
	for _, page := range pages {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range regexp.MustCompile("go (-C tools )?test [^`;\n]*").FindAllString(string(raw), -1) {
			m := regexp.MustCompile(`-run '?([^' ]+)`).FindStringSubmatch(command)
			if m == nil || m[1] == "xxx" || m[1] == "^$" {
				continue
			}
			module, source := "", ""
			if strings.HasPrefix(command, "go -C tools") {
				module = "tools"
			}
			for _, arg := range strings.Fields(command) {
				if arg == "." || strings.HasPrefix(arg, "./") {
					source += tests[filepath.Join(module, arg)]
				}
			}
			for _, name := range strings.Split(strings.ReplaceAll(m[1], `\|`, "|"), "|") {
				name, _, _ = strings.Cut(name, "/")
				found++
				if !regexp.MustCompile(`(?m)^func (Test|Fuzz)\w*` +
					strings.TrimPrefix(name, "Test")).MatchString(source) {
					t.Errorf("%s: %s: no test has %s in its name", page, command, name)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d names of tests were found", found)
	}
}

// Comments and texts of the code name pages of docs: they exist.
func TestEveryPageThatCodeNamesExists(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/[\w./-]+\.(?:md|toml|svg)\b`)
	found := 0
	visit := func(_ string, files []string) {
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, page := range named.FindAllString(string(raw), -1) {
				found++
				if _, err := os.Stat(page); err != nil {
					t.Errorf("%s names a page that does not exist: %v", file, err)
				}
			}
		}
	}
	packages(t, visit)
	packagesBelow(t, "tools", visit)
	if found < 20 {
		t.Errorf("only %d names of pages were found", found)
	}
}

// The most lines of the way of one request in docs/architecture.md, the most changes of package
// on it, returns included, and the most calls of another package: it must fit on a screen and in
// a head.
const (
	maxWayLines   = 50
	maxWayChanges = 38
	maxWayCalls   = 25
)

// The way of one request in docs/architecture.md names functions: each exists in the package
// that begins its line, or the last line that has one.
func TestTheWayOfARequestNamesFunctionsThatExist(t *testing.T) {
	raw, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "## The way of one request")
	_, text, _ = strings.Cut(text, "```text\n")
	text, _, _ = strings.Cut(text, "```")
	functions := map[string]bool{} // package.name and package.receiver.name
	declared := regexp.MustCompile(`(?m)^func (?:\((?:\w+ )?\*?(\w+)\) )?(\w+)[\[(]`)
	packages(t, func(dir string, files []string) {
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllStringSubmatch(string(raw), -1) {
				in := filepath.Base(dir) + "."
				functions[in+m[2]], functions[in+m[1]+"."+m[2]] = true, true
			}
		}
	})
	const names = 15 // the column at which the names of functions begin
	found, lines, changes, calls, depth, at := 0, 0, 0, 0, -1, ""
	for line := range strings.Lines(text) {
		if lines++; len(line) < names {
			t.Fatalf("docs/architecture.md: the way of a request has the line %q", line)
		}
		if in := strings.TrimSpace(line[:names]); in != "" {
			now := strings.Index(line, in)
			if in != at && at != "" {
				changes++
			}
			if now > depth && at != "" || now == depth && in != at {
				calls++
			}
			depth, at = now, in
		}
		way, _, _ := strings.Cut(line[names:], "  ")
		for _, name := range regexp.MustCompile(`\(\w+\)|[A-Za-z.]+`).FindAllString(way, -1) {
			if found++; !strings.HasPrefix(name, "(") && !functions[at+"."+name] {
				t.Errorf("docs/architecture.md: the way of a request names %s of %s, which does not exist", name, at)
			}
		}
	}
	t.Logf("%d names on %d lines, %d changes of package, %d calls of another package", found, lines, changes, calls)
	if found < 60 {
		t.Errorf("only %d names were found", found)
	}
	if lines > maxWayLines || changes > maxWayChanges || calls > maxWayCalls {
		t.Errorf("the way has %d lines, %d changes of package and %d calls of another one, more than %d, %d or %d",
			lines, changes, calls, maxWayLines, maxWayChanges, maxWayCalls)
	}
}

// docs/architecture.md names every layer.
func TestArchitectureNamesEveryLayer(t *testing.T) {
	raw, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(raw), "## Layers")
	if !ok {
		t.Fatal("docs/architecture.md has no section Layers")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for _, layer := range layers {
		if layer == "" {
			layer = "oriel"
		}
		if !strings.Contains(text, "`"+layer+"`") {
			t.Errorf("docs/architecture.md has no row for %s", layer)
		}
	}
}

// What depends on the protocol is a part of wire.Protocol: outside package wire nothing
// compares a format with a protocol's, and no table has protocols as its keys. Checks and
// material for tests may.
func TestPackagesAskTheProtocol(t *testing.T) {
	formats := map[string]bool{"timeline.FormatAnthropic": true, "timeline.FormatOpenAI": true,
		"timeline.FormatResponses": true}
	for _, f := range wire.Protocols() {
		formats["wire."+constants[f]] = true
	}
	if len(formats) != 3+len(wire.Protocols()) {
		t.Fatalf("formats are %v: name the constant of each protocol in constants", formats)
	}
	is := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && formats[x.Name+"."+s.Sel.Name]
	}
	packages(t, func(dir string, files []string) {
		for _, skip := range []string{"wire", "internal/test"} {
			if dir == skip || strings.HasPrefix(dir, skip+"/") {
				return
			}
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Error(err)
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				var asked []ast.Expr
				switch n := n.(type) {
				case *ast.CaseClause:
					asked = n.List
				case *ast.BinaryExpr:
					if n.Op == token.EQL || n.Op == token.NEQ {
						asked = []ast.Expr{n.X, n.Y}
					}
				case *ast.KeyValueExpr:
					asked = []ast.Expr{n.Key}
				}
				if slices.ContainsFunc(asked, is) {
					t.Errorf("%s: decides by the protocol: make it a part of wire.Protocol", set.Position(n.Pos()))
				}
				return true
			})
		}
	})
}

// Every door searches by Engine.Recall: only an engine has a recall library, and a replay,
// whose views recall from the recording alone.
func TestOnlyTheEngineHasALibrary(t *testing.T) {
	used := false
	packages(t, func(dir string, files []string) {
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || dir == "recall" {
				continue
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Error(err)
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok || s.Sel.Name != "NewLibrary" {
					return true
				}
				if x, ok := s.X.(*ast.Ident); !ok || x.Name != "recall" {
					return true
				}
				if dir != "internal/engine" && dir != "internal/report/replay" {
					t.Errorf("%s: makes a library: open an engine and search by Engine.Recall", set.Position(n.Pos()))
				}
				used = true
				return true
			})
		}
	})
	if !used {
		t.Error("no engine makes a library: name here what it does instead")
	}
}

// constants are the names of the protocols' formats in package wire.
var constants = map[wire.Format]string{wire.Anthropic: "Anthropic", wire.Chat: "Chat", wire.Responses: "Responses",
	wire.Gemini: "Gemini", wire.Interactions: "Interactions", wire.Converse: "Converse"}

// The root names types of internal packages, whose fields go doc does not show: the comment
// of each name lists them.
func TestPublicNamesListTheirFields(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		folders := map[string]string{} // of imported internal packages
		for _, spec := range f.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if folder, ok := strings.CutPrefix(path, module+"/internal/"); ok {
				folders[folder] = filepath.Join("internal", folder)
			}
		}
		for _, d := range f.Decls {
			types, ok := d.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			spec := types.Specs[0].(*ast.TypeSpec)
			of, ok := spec.Type.(*ast.SelectorExpr)
			if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() || folders[of.X.(*ast.Ident).Name] == "" {
				continue
			}
			found++
			comment := types.Doc.Text()
			for _, field := range fieldsOf(t, folders[of.X.(*ast.Ident).Name], of.Sel.Name) {
				if !regexp.MustCompile(`(?m)^\t([\w, .]*\b)?` + field + `\b`).MatchString(comment) {
					t.Errorf("%s: the comment of %s does not list its field %s", file, spec.Name, field)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d names were found", found)
	}
}

// fieldsOf returns the exported fields of a struct.
func fieldsOf(t *testing.T, folder, name string) (fields []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, id := range field.Names {
						if id.IsExported() {
							fields = append(fields, id.Name)
						}
					}
				}
			}
			return false
		})
	}
	if len(fields) == 0 {
		t.Errorf("%s has no struct %s", folder, name)
	}
	return fields
}
