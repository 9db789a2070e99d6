package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// The page has every command and every flag, and groff has nothing to say of it.
func TestManPage(t *testing.T) {
	root := rootCommand()
	raw := manPage(root, buildInfo{Version: "v1.2.3", Date: "2026-11-15T10:00:00Z"})
	if bytes.IndexFunc(raw, func(r rune) bool { return r > 126 }) >= 0 {
		t.Error("characters that a plain terminal's man does not know")
	}
	for _, cmd := range root.Commands() {
		if !cmd.Hidden && !strings.Contains(string(raw), `.SS "oriel `+roff(cmd.Use)+`"`) && cmd.Name() != "help" {
			t.Errorf("no %s", cmd.Name())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(raw), roff("--"+f.Name)) && f.Name != "help" {
				t.Errorf("no --%s of %s", f.Name, cmd.Name())
			}
		})
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	cmd := exec.Command(groff, "-man", "-Tutf8", "-ww", "-b")
	cmd.Stdin = bytes.NewReader(raw)
	var out, warnings bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &warnings
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	// Long lines of examples are not broken, which is meant.
	for _, w := range strings.Split(warnings.String(), "\n") {
		if strings.Contains(w, "warning") || strings.Contains(w, "error") {
			t.Error(w)
		}
	}
	if plain := regexp.MustCompile("\x1b\\[[0-9;]*m|.\x08").ReplaceAllString(out.String(), ""); !strings.Contains(plain,
		"oriel recall QUERY") ||
		!strings.Contains(plain, "oriel v1.2.3") || !strings.Contains(plain, "2026-11-15") {
		t.Error("the page is not what was meant")
	}
}

func TestRoffIsPlainText(t *testing.T) {
	for in, want := range map[string]string{
		".x":         `\&.x`,
		"'x":         `\&'x`,
		`a\b - "c"…`: `a\eb \- \(dqc\(dq\[u2026]`,
		"~^`'":       `\(ti\(ha\(ga\(aq`,
	} {
		if got := roff(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Every variable that the sources name is in the manual.
func TestManKnowsTheEnvironment(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	page := string(manPage(rootCommand(), buildInfo{}))
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`Getenv\("(\w+)"\)`).FindAllSubmatch(raw, -1) {
			if name := string(m[1]); strings.HasPrefix(name, "ORIEL_") && !strings.Contains(page, name) {
				t.Errorf("%s: %s", f, name)
			}
		}
	}
}
