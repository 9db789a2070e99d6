package shapes

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
)

// Ten times as large a request takes ten times as many steps, in finding its conversation,
// making its view and fitting it by every policy. Every block of code of this module, and
// of the packages of the standard library that loop for it, is counted.
func TestWorkGrowsWithTheRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented tests")
	}
	binary := filepath.Join(t.TempDir(), "view.test")
	// Only what a view uses is instrumented: the rest of the module takes long to build.
	list, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", module+"internal/view").Output()
	if err != nil {
		t.Fatal(err)
	}
	counted := append(strings.Fields(string(list)), "slices", "strings", "bytes", "maps")
	build := exec.Command("go", "test", "-c", "-vet=off", "-covermode=count", "-coverpkg="+strings.Join(counted, ","), "-o", binary, module+"internal/view")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, shape := range Requests {
		t.Run(shape.Name, func(t *testing.T) {
			few, many := steps(t, binary, shape.Name, small), steps(t, binary, shape.Name, large)
			for block, n := range many {
				if n > least*large && n > factor*few[block] {
					t.Errorf("%s: %d steps at size %d, %d at %d", strings.TrimPrefix(block, module), few[block], small, n, large)
				}
			}
		})
	}
}

// steps returns how often each block of code ran.
func steps(t *testing.T, binary, shape string, size int) map[string]int {
	profile := filepath.Join(t.TempDir(), "profile")
	run := exec.Command(binary, "-test.run", "^TestShapes$/^"+regexp.QuoteMeta(strings.ReplaceAll(shape, " ", "_"))+"$", "-test.coverprofile", profile)
	run.Dir = filepath.Join("..", "view")
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
