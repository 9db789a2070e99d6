package kit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// AgentsFolder returns the default folder of the agents from npm.
func AgentsFolder() string {
	cache, _ := os.UserCacheDir()
	return filepath.Join(cache, "oriel-agents")
}

// Agents returns the named agents, or all.
func Agents(names []string) []string {
	if len(names) == 0 {
		return []string{"claude", "codex"}
	}
	return names
}

// InstallAgents installs the agents from npm into a folder, if they are
// missing.
func InstallAgents(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "claude")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := command("npm", "install", "--silent", "--prefix", dir, "@anthropic-ai/claude-code",
		"@openai/codex"); err != nil {
		return fmt.Errorf("install the agents with npm: %w", err)
	}
	return nil
}

// InstallNode installs packages from npm into a folder of their own, if they are missing: the
// name of the folder must change with their versions.
func InstallNode(dir string, packages ...string) error {
	return installOnce(dir, func() error {
		return command("npm", append([]string{"install", "--silent", "--no-audit", "--no-fund", "--prefix", dir},
			packages...)...)
	})
}

// InstallPyPI installs packages of PyPI into an environment of its own, if they are missing: the
// name of the folder must change with their versions. $PYTHON names another Python than python3,
// which some packages need.
func InstallPyPI(dir string, requirements ...string) error {
	return installOnce(dir, func() error {
		if err := command(cmp.Or(os.Getenv("PYTHON"), "python3"), "-m", "venv", dir); err != nil {
			return err
		}
		return command(filepath.Join(dir, "bin", "python"), append([]string{"-m", "pip", "install", "--quiet",
			"--disable-pip-version-check"}, requirements...)...)
	})
}

// installOnce runs install unless it succeeded for this folder before.
func installOnce(dir string, install func() error) error {
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := install(); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

// SDKs is a folder with the vendors' packages for Python and Node.
type SDKs struct{ Dir string }

// Python returns the interpreter that has the packages.
func (s SDKs) Python() string { return filepath.Join(s.Dir, "venv", "bin", "python") }

// Node returns the folder of the packages for Node.
func (s SDKs) Node() string { return filepath.Join(s.Dir, "node") }

// InstallSDKs installs packages of Python, and those of the vendors for Node,
// into the folder $SDKS_DIR or one under the temporary folder, if they are
// missing, and prints their versions.
func InstallSDKs(name string, packages ...string) (SDKs, error) {
	dir := os.Getenv("SDKS_DIR")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), name)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return SDKs{}, err
	}
	s := SDKs{dir}
	if err := os.MkdirAll(s.Node(), 0o755); err != nil {
		return s, err
	}
	if err := InstallPython(filepath.Join(dir, "venv"), packages...); err != nil {
		return s, err
	}
	node := []string{"openai", "@anthropic-ai/sdk", "@google/genai", "ollama", "@aws-sdk/client-bedrock-runtime"}
	var missing error
	for _, p := range node {
		_, err := os.Stat(filepath.Join(s.Node(), "node_modules", filepath.FromSlash(p)))
		missing = errors.Join(missing, err)
	}
	if missing != nil {
		install := []string{"install", "--prefix", s.Node(), "--silent", "--no-audit", "--no-fund"}
		if err := command("npm", append(install, node...)...); err != nil {
			return s, err
		}
	}
	versions, _ := exec.Command(s.Python(), "-m", "pip", "list", "--disable-pip-version-check").Output()
	for line := range strings.Lines(string(versions)) {
		for _, p := range packages {
			if p, _, _ = strings.Cut(p, "["); strings.HasPrefix(line, p+" ") {
				fmt.Print(line)
			}
		}
	}
	list := exec.Command("npm", "ls", "--depth=0")
	list.Dir = s.Node()
	versions, _ = list.Output()
	for line := range strings.Lines(string(versions)) {
		if strings.Contains(line, "@") {
			fmt.Print(line)
		}
	}
	return s, nil
}

// InstallPython installs packages of Python into an environment of their own, if they are
// missing.
func InstallPython(venv string, packages ...string) error {
	python := filepath.Join(venv, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		if err := command("python3", "-m", "venv", venv); err != nil {
			return err
		}
	}
	// The name of a package is not always that of its module: google-genai has google.genai.
	names := []string{"-c", "import importlib.metadata as m, sys; [m.version(p.split('[')[0]) for p in sys.argv[1:]]"}
	if exec.Command(python, append(names, packages...)...).Run() == nil {
		return nil
	}
	return command(python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"},
		packages...)...)
}

// command runs a program; its error includes the output.
func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
