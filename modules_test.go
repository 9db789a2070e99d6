package oriel_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linked are the modules that the program is made of, on one system or another. A user of
// the library gets these and no others: docs/dependencies.md.
var linked = []string{
	"github.com/BurntSushi/toml",
	"github.com/andybalholm/brotli",
	"github.com/beorn7/perks",
	"github.com/cespare/xxhash/v2",
	"github.com/coder/websocket",
	"github.com/dustin/go-humanize",
	"github.com/go-logr/logr",
	"github.com/go-logr/stdr",
	"github.com/google/jsonschema-go",
	"github.com/google/uuid",
	"github.com/inconshreveable/mousetrap",
	"github.com/jackc/pgpassfile",
	"github.com/jackc/pgservicefile",
	"github.com/jackc/pgx/v5",
	"github.com/jackc/puddle/v2",
	"github.com/klauspost/compress",
	"github.com/mattn/go-isatty",
	"github.com/modelcontextprotocol/go-sdk",
	"github.com/munnerz/goautoneg",
	"github.com/ncruces/go-strftime",
	"github.com/prometheus/client_golang",
	"github.com/prometheus/client_model",
	"github.com/prometheus/common",
	"github.com/prometheus/procfs",
	"github.com/remyoudompheng/bigfft",
	"github.com/segmentio/asm",
	"github.com/segmentio/encoding",
	"github.com/spf13/cobra",
	"github.com/spf13/pflag",
	"github.com/yosida95/uritemplate/v3",
	"go.opentelemetry.io/auto/sdk",
	"go.opentelemetry.io/otel",
	"go.opentelemetry.io/otel/log",
	"go.opentelemetry.io/otel/metric",
	"go.opentelemetry.io/otel/sdk",
	"go.opentelemetry.io/otel/trace",
	"golang.org/x/oauth2",
	"golang.org/x/sync",
	"golang.org/x/sys",
	"golang.org/x/term",
	"golang.org/x/text",
	"golang.org/x/time",
	"google.golang.org/protobuf",
	"modernc.org/libc",
	"modernc.org/mathutil",
	"modernc.org/memory",
	"modernc.org/sqlite",
}

// testOnly are the modules of tests, and what tests of modules need.
var testOnly = []string{
	"github.com/google/go-cmp",
	"github.com/rogpeppe/go-internal",
	"go.uber.org/goleak",
	"golang.org/x/tools",
	"pgregory.net/rapid",
}

// The program links the modules that are listed, and go.mod, which every user inherits,
// has these and those of tests, and no tools.
func TestModulesAreThoseThatAreListed(t *testing.T) {
	found := map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".",
			"./cmd/oriel")
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		for _, name := range strings.Fields(string(output(t, cmd))) {
			found[name] = true
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, linked) {
		t.Errorf("the program links\n%q\nlisted are\n%q", got, linked)
	}
	var mod struct {
		Require []struct{ Path string }
		Tool    []struct{ Path string }
	}
	if err := json.Unmarshal(output(t, exec.Command("go", "mod", "edit", "-json")), &mod); err != nil {
		t.Fatal(err)
	}
	var required []string
	for _, r := range mod.Require {
		required = append(required, r.Path)
	}
	slices.Sort(required)
	want := slices.Sorted(slices.Values(slices.Concat(linked, testOnly)))
	if !slices.Equal(required, want) || len(mod.Tool) > 0 {
		t.Errorf("go.mod requires\n%q and the tools %v\nlisted are\n%q", required, mod.Tool, want)
	}
	text, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		if short := name[strings.LastIndexByte(name, '/')+1:]; !bytes.Contains(text, []byte(short)) {
			t.Errorf("docs/dependencies.md does not name %s", name)
		}
	}
}

// The repository has two modules: the library's, and tools with the programs of developers.
func TestModulesAreTwo(t *testing.T) {
	var found []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.Name() == "go.mod":
			found = append(found, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"go.mod", "tools/go.mod"}; !slices.Equal(found, want) {
		t.Errorf("there are modules at %q, want %q", found, want)
	}
}

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return out
}

// A clone holds everything that was ever committed: a program that go build left behind would
// stay in it for good.
func TestNoLargeFilesAreTracked(t *testing.T) {
	if _, err := os.Stat(".git"); err != nil {
		t.Skip("no clone: ", err)
	}
	for name := range strings.SplitSeq(string(output(t, exec.Command("git", "ls-files", "-z"))), "\x00") {
		if name == "" || name == "embed/minilm/all-MiniLM-L6-v2.oriel" {
			continue
		}
		if info, err := os.Lstat(name); err == nil && info.Size() > 2<<20 {
			t.Errorf("%s has %d bytes: if a clone needs it, name it here, else git rm it", name, info.Size())
		}
	}
}
