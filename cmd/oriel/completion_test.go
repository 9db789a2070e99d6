package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// What is offered for a flag is what its help names, and there is such a flag.
func TestCompletedValuesAreThoseOfTheHelp(t *testing.T) {
	root := rootCommand()
	for at, values := range flagValues() {
		name, flag, _ := strings.Cut(at, " ")
		found := false
		for _, cmd := range root.Commands() {
			f := cmd.Flag(flag)
			if f == nil || name != "any" && name != cmd.Name() {
				continue
			}
			found = true
			for _, v := range values {
				if !strings.Contains(f.Usage+f.DefValue, v) && flag != "encoding" { // whose error lists them
					t.Errorf("%s --%s: the help has no %s", cmd.Name(), flag, v)
				}
			}
		}
		if !found {
			t.Errorf("there is no %s --%s", name, flag)
		}
	}
	for _, name := range takeConversation {
		if cmd, _, err := root.Find([]string{name}); err != nil || !strings.Contains(cmd.Use, "CONVERSATION") {
			t.Errorf("%s takes no conversation", name)
		}
	}
}

// What the help of a flag lists is offered.
func TestListedValuesAreCompleted(t *testing.T) {
	listed := 0
	for at, values := range flagValues() {
		name, flag, _ := strings.Cut(at, " ")
		for _, cmd := range rootCommand().Commands() {
			f := cmd.Flag(flag)
			if f == nil || name != "any" && name != cmd.Name() {
				continue
			}
			_, list, _ := strings.Cut(f.Usage, ": ") // a, b or c
			for _, v := range strings.Split(strings.ReplaceAll(list, " or ", ", "), ", ") {
				if v = strings.Trim(v, ", "); v == "" || strings.ContainsAny(v, " ()") {
					continue // an explanation
				}
				if listed++; !slices.Contains(values, v) {
					t.Errorf("%s --%s: %s is not offered", cmd.Name(), flag, v)
				}
			}
		}
	}
	if listed < 30 {
		t.Errorf("only %d values were found in the help", listed)
	}
}

// A command whose argument is a conversation completes it.
func TestEveryConversationIsCompleted(t *testing.T) {
	for _, cmd := range rootCommand().Commands() {
		if strings.Contains(cmd.Use, "CONVERSATION") != slices.Contains(takeConversation, cmd.Name()) {
			t.Errorf("%s: takeConversation has it not, or wrongly", cmd.Use)
		}
	}
}

// complete is what a shell would offer.
func complete(t *testing.T, words ...string) []string {
	t.Helper()
	code, out, errOut := command(t, append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...)
	if code != 0 {
		t.Fatalf("%q: exit %d: %s", words, code, errOut)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[:len(lines)-1] // without the directive
}

// talks is a data folder with two conversations.
func talks(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	lines := `{"conversation":"older talk","time":"2024-05-01T10:00:00Z","text":"one"}
{"conversation":"newer","time":"2024-05-02T10:00:00Z","text":"two"}
`
	file := filepath.Join(t.TempDir(), "talks.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "import", "--data", dir, file); code != 0 {
		t.Fatal(errOut)
	}
	return dir
}

func TestCompletion(t *testing.T) {
	dir := talks(t)
	for _, tc := range []struct {
		words []string
		want  []string
	}{
		{[]string{"show", "--data", dir, "n"}, []string{"newer"}},
		{[]string{"pin", "--data", dir, "older"}, []string{"older talk"}},
		{[]string{"pin", "--data", dir, "newer", ""}, []string{}},
		{[]string{"recall", "query", "--data", dir, "--conversation", "new"}, []string{"newer"}},
		{[]string{"undo", "--data", filepath.Join(dir, "none"), ""}, []string{}},
		{[]string{"serve", "--profile", "b"}, []string{"balanced"}},
		{[]string{"fit", "--policy", "l"}, []string{"ladder"}},
		{[]string{"eval", "--policy", "bm25,h"}, []string{"bm25,hybrid"}},
		{[]string{"count", "--encoding", "o200k_b"}, []string{"o200k_base"}},
		{[]string{"fit", "--budget", ""}, []string{}},
		{[]string{"completion", "po"}, []string{"powershell"}},
		{[]string{"vers"}, []string{"version"}},
	} {
		if diff := cmp.Diff(tc.want, complete(t, tc.words...)); diff != "" {
			t.Errorf("%q: %s", tc.words, diff)
		}
	}
	all := complete(t, "delete", "--data", dir, "")
	slices.Sort(all)
	if diff := cmp.Diff([]string{"newer", "older talk"}, all); diff != "" {
		t.Error(diff)
	}
}

// Shells put what names have in common on the line as it is: names that a client has
// chosen must not run there.
func TestOnlyHarmlessNamesAreCompleted(t *testing.T) {
	for name, want := range map[string]bool{
		"a talk": true, "20261115-160058-8d6c53": true, "gespräch": true, "a:b/c@d": true,
		"x$(id)": false, "x`id`": false, "x;id": false, "a&b": false, "it's": false, "\x1b[31m": false, "a\tb": false,
		"a\u202eb": false,
	} {
		if harmless(name) != want {
			t.Errorf("harmless(%q) is %v", name, !want)
		}
	}
}

// The script works in bash itself, with nothing else installed.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "oriel")); err != nil {
		t.Skip(err)
	}
	// testscript runs a command where the test's binary has its name. What
	// bash-completion and readline would do is done by the three functions.
	script := `
source <(oriel completion bash)
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
__ltrim_colon_completions() { :; }
compopt() { :; }
complete -p oriel
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
__start_oriel
printf '<%s>\n' "${COMPREPLY[@]}"
`
	dir := talks(t)
	for _, tc := range []struct{ words, want string }{
		{"oriel show --data " + dir + " n", "<newer>"},
		{"oriel recall q --data " + dir + " --conversation ne", "<newer>"},
		{"oriel comp", "<completion>"},
		{"oriel serve --profile thr", "<thrifty>"},
	} {
		cmd := exec.Command(bash, append([]string{"--norc", "-c", script, "bash"}, strings.Fields(tc.words)...)...)
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
			"GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tc.want) ||
			!strings.Contains(string(out), "__start_oriel oriel") {
			t.Errorf("%s: %v\n%s", tc.words, err, out)
		}
	}
}
