package agents

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// folder is a working folder with sources, and the commands that a model has run there.
type folder struct {
	dir      string
	commands []string
	outputs  []string
}

// newFolder copies sources of Go's standard library and invents n commands: to
// read a piece of a file, to search, to list, and to read again what was read
// before. Most print 700 to 1,500 tokens.
func newFolder(dir string, n int) (*folder, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("ask go for its sources: %w", err)
	}
	f := &folder{dir: dir}
	type source struct {
		name  string
		lines int
	}
	var sources []source
	for _, pkg := range []string{"net/http", "go/parser", "database/sql"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", pkg, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			name := filepath.Join(pkg, filepath.Base(path))
			if lines := strings.Count(string(text), "\n"); lines > 250 {
				sources = append(sources, source{name, lines})
			}
			if err := os.MkdirAll(filepath.Join(dir, pkg), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				return nil, err
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for k := range n {
		s := sources[r.IntN(len(sources))]
		from := 1 + r.IntN(s.lines-200)
		var command string
		switch {
		case k%7 == 6: // again
			command = f.commands[r.IntN(k)]
		case k%11 == 5:
			command = fmt.Sprintf("grep -n '^func' %s | head -70", s.name)
		case k%13 == 4:
			command = fmt.Sprintf("wc -l %s/*.go | head -90", filepath.Dir(s.name))
		default:
			command = fmt.Sprintf("sed -n '%d,%dp' %s", from, from+120+r.IntN(80), s.name)
		}
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", command, err)
		}
		f.commands, f.outputs = append(f.commands, command), append(f.outputs, string(out))
	}
	return f, nil
}

// mean returns how many tokens a command prints on average.
func (f *folder) mean() int {
	n := 0
	for _, out := range f.outputs {
		n += len(out) / 4
	}
	return n / max(len(f.outputs), 1)
}
