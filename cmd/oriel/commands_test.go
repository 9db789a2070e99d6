package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command has help with an example, and refuses a flag that it does not have with
// one line on standard error, nothing on standard output, and exit code 2.
func TestEveryCommandHelpsAndRefuses(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.Name() == "help" || c.Hidden {
			return
		}
		path := strings.Fields(c.CommandPath())[1:]
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run(append(path, "--help"), strings.NewReader(""), &out, &errOut); code != 0 ||
				errOut.Len() > 0 {
				t.Fatalf("--help: exit %d, %s", code, &errOut)
			}
			if _, examples, _ := strings.Cut(out.String(), "Examples:\n"); !strings.Contains(examples,
				"oriel "+strings.Join(path, " ")) {
				t.Errorf("no example:\n%s", &out)
			}
			// A command with others below it refuses a name that none of them has.
			bad := [][]string{{"--no-such-flag"}}
			if c.HasSubCommands() {
				bad = append(bad, []string{"nonsense"}, []string{"nonsense", "--help"})
			}
			for _, args := range bad {
				out.Reset()
				errOut.Reset()
				if code := run(append(path, args...), strings.NewReader(""), &out, &errOut); code != 2 ||
					out.Len() > 0 || strings.Count(errOut.String(), "\n") != 1 {
					t.Errorf("%v: exit %d\n%s\n%s", args, code, &out, &errOut)
				}
			}
		})
	}
	walk(rootCommand())
}

// Commands on the history take the name of a tenant, except those that are about the whole
// store or the program.
func TestCommandsOnTheHistoryTakeATenant(t *testing.T) {
	whole := []string{"backup", "config", "console", "count", "doctor", "fit", "models", "run", "serve", "setup",
		"token add", "token list", "token revoke", "verify"}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		name := strings.TrimPrefix(c.CommandPath(), "oriel ")
		if c.Flags().Lookup("store") != nil && c.Flags().Lookup("tenant") == nil && !slices.Contains(whole, name) {
			t.Errorf("oriel %s has --store and no --tenant", name)
		}
	}
	walk(rootCommand())
}
