package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"oriel": main})
}

// TestScripts runs the command line as people do: testdata/script/*.txt.
func TestScripts(t *testing.T) {
	example, err := os.ReadFile("../../examples/long-agent-run.json")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			return os.WriteFile(env.WorkDir+"/long-agent-run.json", example, 0o644)
		},
	})
}
