package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The first Ctrl-C ends a command that waits for its input.
func TestCtrlCEndsACommandThatWaits(t *testing.T) {
	talk := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(talk, []byte(`{"conversation":"c1","text":"hello"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	var out, errs syncBuffer
	if code := run([]string{"import", "--data", data, talk}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	for _, test := range []struct {
		args  []string
		waits string // what is shown before it waits
		code  int
	}{
		{[]string{"oriel", "count"}, "Ctrl-C stops", exitInterrupted},
		{[]string{"oriel", "fit"}, "Ctrl-C stops", exitInterrupted},
		{[]string{"oriel", "embed"}, "Ctrl-C stops", exitInterrupted},
		{[]string{"oriel", "delete", "c1", "--data", data}, "[y/N]", 2},
		{[]string{"oriel", "prune", "--max-size", "1B", "--data", data}, "[y/N]", 2},
	} {
		t.Run(test.args[1], func(t *testing.T) {
			keys, cmd, _ := onTerminal(t, test.args...)
			shown := bufio.NewReader(keys)
			var seen strings.Builder
			for !strings.HasSuffix(strings.TrimSpace(seen.String()), test.waits) {
				b, err := shown.ReadByte()
				if err != nil {
					t.Fatalf("%v after %q", err, seen.String())
				}
				seen.WriteByte(b)
			}
			if _, err := keys.Write([]byte{3}); err != nil {
				t.Fatal(err)
			}
			go shown.WriteTo(io.Discard) // so that it can write
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit %d, want %d", code, test.code)
			}
		})
	}
}
