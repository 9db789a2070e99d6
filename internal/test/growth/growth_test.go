package growth

import (
	"bufio"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/oriel-context/oriel/"
	// small and large are the sizes that are compared; factor is what large may take
	// of the steps of small, which leaves room for a logarithm. Fewer than least steps
	// for each unit of size are not looked at: a table that is filled, a cache.
	small, large = 300, 3000
	factor       = 25
	least        = 100
	// mostSteps is how many steps each further byte of a request may take, of its view and of
	// all policies together. stepsASecond is about what a core makes, so that a number of
	// steps can be read as seconds for a megabyte.
	mostSteps    = 5_000
	stepsASecond = 500e6
)

func sum(blocks map[string]int) (n int) {
	for _, k := range blocks {
		n += k
	}
	return n
}

// length returns the size in bytes of the requests of a shape.
func length(shape *Request, size int) (n int) {
	for _, body := range shape.Bodies(size) {
		n += len(body)
	}
	return n
}

// Ten times as large a request takes ten times as many steps, in finding its conversation,
// making its view and fitting it by every policy. Every block of code of this module, and
// of the packages of the standard library that loop for it, is counted (see counted).
func TestWorkGrowsWithTheRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented tests")
	}
	binary := build(t)
	for _, shape := range Requests {
		t.Run(shape.Name, func(t *testing.T) {
			few, many := steps(t, binary, shape.Name, small), steps(t, binary, shape.Name, large)
			perByte := float64(sum(many)-sum(few)) / float64(length(&shape, large)-length(&shape, small))
			t.Logf("| %s | %.0f | %.2f |", shape.Name, perByte, perByte*1e6/stepsASecond)
			if perByte > mostSteps {
				t.Errorf("%.0f steps for each byte, %.0f s for a megabyte: more than %d", perByte,
					perByte*1e6/stepsASecond, mostSteps)
			}
			for block, n := range many {
				// Expressions are run by another machine from some size on, so their blocks cannot be
				// compared; all of their steps together are, above.
				if n > least*large && n > factor*few[block] && !strings.HasPrefix(block, copies+"regexp/") {
					t.Errorf("%s: %d steps at size %d, %d at %d", strings.TrimPrefix(block, module), few[block], small,
						n, large)
				}
			}
		})
	}
}

// counted are the packages of the standard library that are counted. To count them where
// they are, all that imports them would have to be compiled anew, which is nearly all of the
// standard library. So a copy of this module is compiled with copies of them.
var counted = []string{"bytes", "maps", "regexp", "slices", "sort", "strings"}

const copies = module + "internal/test/growth/testdata/counted/"

// instead is what the copies import where the originals import a package that is internal.
var instead = map[string]string{
	"internal/abi":         `abi "` + copies + `bytealg"`,
	"internal/bytealg":     `"` + copies + `bytealg"`,
	"internal/reflectlite": `reflectlite "reflect"`,
	"internal/stringslite": `stringslite "strings"`,
}

// build builds the tests of a view with counters, and returns the path.
func build(t *testing.T) string {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own := `{{range $.GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range $.SFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range $.HFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range $.EmbedFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`
	files := lines(t, "go", "list", "-deps", "-test", "-f", `{{with .Module}}{{if and .Main (ne $.Name "main")}}`+own+
		`{{end}}{{end}}`, module+"internal/view")
	within := filepath.Join("internal", "test", "growth", "testdata", "counted")
	for _, name := range []string{"go.mod", "go.sum", filepath.Join(within, "bytealg", "bytealg.go")} {
		write(t, filepath.Join(dir, name), read(t, filepath.Join(root, name)))
	}
	for _, path := range files {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, rel), redirected(t, path))
	}
	// Only what a view uses is counted: the rest of the module takes long to build.
	packages := lines(t, "go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}",
		module+"internal/view")
	for _, name := range counted {
		packages = append(packages, copies+name)
		for _, path := range lines(t, "go", "list", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`, name) {
			write(t, filepath.Join(dir, within, name, filepath.Base(path)), redirected(t, path))
		}
	}
	binary := filepath.Join(dir, "view.test")
	lines(t, "go", "-C", dir, "test", "-c", "-vet=off", "-covermode=count", "-coverpkg="+strings.Join(packages, ","),
		"-o", binary, module+"internal/view")
	return binary
}

// redirected returns a file; one of Go imports the copies.
func redirected(t *testing.T, path string) []byte {
	source := read(t, path)
	if filepath.Ext(path) != ".go" {
		return source
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range slices.Backward(f.Imports) {
		name, _ := strconv.Unquote(spec.Path.Value)
		with := instead[name]
		if slices.Contains(counted, name) {
			with = strconv.Quote(copies + name)
		}
		if with != "" {
			at := files.Position(spec.Path.Pos()).Offset
			source = slices.Replace(source, at, at+len(spec.Path.Value), []byte(with)...)
		}
	}
	return source
}

func read(t *testing.T, path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lines runs a program and returns what it prints.
func lines(t *testing.T, name string, args ...string) []string {
	cmd := exec.Command(name, args...)
	var why strings.Builder
	cmd.Stderr = &why
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, why.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// steps returns how often each block of code ran.
func steps(t *testing.T, binary, shape string, size int) map[string]int {
	profile := filepath.Join(t.TempDir(), "profile")
	run := exec.Command(binary, "-test.run", "^TestShapes$/^"+regexp.QuoteMeta(strings.ReplaceAll(shape, " ", "_"))+"$",
		"-test.coverprofile", profile)
	run.Dir = filepath.Join("..", "..", "view")
	run.Env = append(os.Environ(), fmt.Sprint("ORIEL_SHAPE_SIZE=", size))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	blocks := map[string]int{}
	for in := bufio.NewScanner(f); in.Scan(); {
		fields := strings.Fields(in.Text())
		if len(fields) != 3 {
			continue // the mode
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		blocks[fields[0]] += n
	}
	if len(blocks) == 0 {
		t.Fatal("nothing was counted")
	}
	return blocks
}
