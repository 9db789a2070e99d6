package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAnOverdueFuzzTargetRunsAgain(t *testing.T) {
	const (
		overdue = "fuzz: elapsed: 1s, execs: 12 (11/sec)\n--- FAIL: FuzzX (1.1s)\n    context deadline exceeded\nFAIL\n"
		found   = "--- FAIL: FuzzX (1.1s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzX/1\n"
		broken  = "--- FAIL: FuzzX (0s)\n    panic\n"
	)
	failed := errors.New("exit status 1")
	for name, c := range map[string]struct {
		outputs []string // of the runs that fail
		runs    int
		want    error
	}{
		"a run that passes":            {nil, 1, nil},
		"a busy machine":               {[]string{overdue, overdue, overdue}, 4, nil},
		"a machine that stays busy":    {[]string{overdue, overdue, overdue, overdue}, 4, failed},
		"a finding":                    {[]string{broken}, 1, failed},
		"a finding at the last moment": {[]string{overdue, found}, 2, failed},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			err := fuzzOne(t.Output(), "FuzzX", func() ([]byte, error) {
				runs++
				if runs <= len(c.outputs) {
					return []byte(c.outputs[runs-1]), failed
				}
				return nil, nil
			})
			if runs != c.runs || !errors.Is(err, c.want) {
				t.Errorf("%d runs, want %d; %v, want %v", runs, c.runs, err, c.want)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a_test.go": "package a\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc TestX(t *testing.T) {}\n",
		"b_test.go": "package a_test\n\nfunc FuzzTwo(f *testing.F) {\n}\n\n// func FuzzThree(f *testing.F) {}\n",
		"c.go":      "package a\n\nfunc FuzzFour(f *testing.F) {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := targets(dir); !slices.Equal(got, []string{"FuzzOne", "FuzzTwo"}) {
		t.Error(got)
	}
}
