package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/oriel-context/oriel/tools/check/kit"
)

// packages returns the packages of the program; the first is pinned.
func (p *program) packages() []string { return strings.Fields(p.npm + p.pypi) }

// version returns the pinned version, or "" if the program has none.
func (p *program) version() string {
	if len(p.packages()) == 0 {
		return ""
	}
	_, version := splitPackage(p.mainPackage())
	return version
}

// mainPackage returns the package whose version is that of the program.
func (p *program) mainPackage() string {
	for _, one := range p.packages() {
		if name, _ := splitPackage(one); p.main != "" && name == p.main {
			return one
		}
	}
	return p.packages()[0]
}

// splitPackage splits PACKAGE@VERSION or PACKAGE[EXTRA]==VERSION. The version may be missing.
func splitPackage(one string) (name, version string) {
	if name, version, ok := strings.Cut(one, "=="); ok {
		name, _, _ = strings.Cut(name, "[")
		return name, version
	}
	if at := strings.LastIndexByte(one, '@'); at > 0 {
		return one[:at], one[at+1:]
	}
	name, _, _ = strings.Cut(one, "[")
	return name, ""
}

// placeOf returns where packages are installed.
func placeOf(install string, packages ...string) string {
	return filepath.Join(install, strings.ReplaceAll(strings.Join(packages, "+"), "/", "-"))
}

// install installs the program and returns the folder of its executable, and that of the Node
// that it needs or "".
func (p *program) install(install string) (bin, node string, err error) {
	if p.newNode {
		if err := kit.InstallNode(placeOf(install, newNode), newNode); err != nil {
			return "", "", err
		}
		node = filepath.Join(placeOf(install, newNode), "node_modules", "node", "bin")
	}
	dir := placeOf(install, p.packages()...)
	if p.pypi != "" {
		return filepath.Join(dir, "bin"), node, kit.InstallPyPI(dir, p.packages()...)
	}
	return filepath.Join(dir, "node_modules", ".bin"), node, kit.InstallNode(dir, p.packages()...)
}

// installed returns the version of the program that is installed.
func (p *program) installed(install string) (string, error) {
	name, _ := splitPackage(p.mainPackage())
	dir := placeOf(install, p.packages()...)
	if p.pypi != "" {
		out, err := exec.Command(filepath.Join(dir, "bin", "python"), "-c",
			"import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))", name).Output()
		if err != nil {
			return "", fmt.Errorf("the version of %s: %w", name, err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	raw, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json"))
	if err != nil {
		return "", fmt.Errorf("the version of %s: %w", name, err)
	}
	var about struct{ Version string }
	if err := json.Unmarshal(raw, &about); err != nil {
		return "", fmt.Errorf("the version of %s: %w", name, err)
	}
	return about.Version, nil
}

// origin returns packages as those of npm or those of PyPI, which have their versions behind two
// equals signs.
func origin(packages string) (npm, pypi string) {
	if strings.Contains(packages, "==") {
		return "", packages
	}
	return packages, ""
}

// apart returns the program without a question in a session that is resumed.
func apart(p program) program {
	p.apart, p.asked = true, 0
	return p
}

// within returns the program with another budget.
func (p program) within(budget int) program {
	p.budget = budget
	return p
}

// of returns the program with the version of another one of its packages.
func (p program) of(main string) program {
	p.main = main
	return p
}

// talks returns the program with turns that have no tools.
func (p program) talks() program {
	p.chat = true
	return p
}

// explained returns the program with a reason for problems that have known in them.
func (p program) explained(known, why string) program {
	p.known, p.why = known, why
	return p
}
