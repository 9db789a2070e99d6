package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/term"
)

func TestHelpFitsTheTerminal(t *testing.T) {
	const text = `Import files of other programs, or folders with everything
that is below them. Forms:

  generic       lines such as {"a":1}, which have
                a text each
  chatgpt, x    an export

--mine   looks where agents keep
         their files

Flags:
      --data folder   folder of the history, which is private
  -h, --help          help for import`
	want := strings.Split(`Import files of other programs, or
folders with everything that is below
them. Forms:

  generic       lines such as {"a":1},
                which have a text each
  chatgpt, x    an export

--mine   looks where agents keep
         their files

Flags:
      --data folder   folder of the
        history, which is private
  -h, --help          help for import`, "\n")
	if diff := cmp.Diff(want, fitHelp(text, 40)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(strings.Split(text, "\n"), fitHelp(text, 90)); diff != "" {
		t.Errorf("a wide terminal changes it (-want +got):\n%s", diff)
	}
}

// Every line of the help of every command fits a terminal of 80 columns, and none is lost.
func TestHelpOfEveryCommandFits80Columns(t *testing.T) {
	for _, cmd := range rootCommand().Commands() {
		text := cmd.Long + "\n\n" + cmd.UsageString()
		lines := fitHelp(text, 80)
		for _, line := range lines {
			if term.Cells(line) > 80 && !strings.HasPrefix(line, "  oriel ") { // an example to copy
				t.Errorf("oriel %s: %q has %d columns", cmd.Name(), line, term.Cells(line))
			}
		}
		if got, want := strings.Fields(strings.Join(lines, " ")), strings.Fields(text); len(got) < len(want) {
			t.Errorf("oriel %s: %d of %d words", cmd.Name(), len(got), len(want))
		}
	}
}
