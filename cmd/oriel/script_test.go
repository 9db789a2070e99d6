package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/oriel-context/oriel/internal/forward"
)

func TestMain(m *testing.M) {
	// A busy machine is no failure.
	waits := []*time.Duration{&replyTimeout, &portTimeout, &reachTimeout, &lockPatience, &healthWait, &leftWait,
		&forward.HeadWait}
	if os.Getenv(nobodyReads) == "" {
		waits = append(waits, &outputWait, &tellWait)
	} else {
		outputWait, tellWait = time.Millisecond, time.Millisecond
	}
	for _, wait := range waits {
		*wait = time.Minute
	}
	briefWait = 5 * time.Second
	testscript.Main(withoutSettings{m}, map[string]func(){"oriel": main, "child": childMain})
}

// nobodyReads is a variable in the environment of programs whose output nobody reads: they
// need not wait for it.
const nobodyReads = "ORIEL_TEST_NOBODY_READS"

// withoutSettings runs tests without the settings of whoever runs them.
type withoutSettings struct{ *testing.M }

func (t withoutSettings) Run() int {
	os.Setenv("ORIEL_CONFIG", os.DevNull)
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each command takes a second
	state, err := os.MkdirTemp("", "oriel-state")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	os.Setenv("XDG_STATE_HOME", state)
	return t.M.Run()
}

// longTalk is more than a window shows.
func longTalk() []byte {
	var b bytes.Buffer
	for i := range 300 {
		fmt.Fprintf(&b, "{\"conversation\":\"long\",\"ref\":\"r%d\",\"time\":\"2024-05-01T10:%02d:%02dZ\",\"text\":\"number %d\"}\n", i+1, i/60, i%60, i+1)
	}
	return b.Bytes()
}

// TestScripts runs the command line as people do: testdata/script/*.txt.
func TestScripts(t *testing.T) {
	example, err := os.ReadFile("../../examples/long-agent-run.json")
	if err != nil {
		t.Fatal(err)
	}
	model := startModel(t)
	params := testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("MODEL", model)
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			if err := os.WriteFile(env.WorkDir+"/long-talk.jsonl", longTalk(), 0o644); err != nil {
				return err
			}
			return os.WriteFile(env.WorkDir+"/long-agent-run.json", example, 0o644)
		},
	}
	if testing.Short() { // those whose commands do several things at once
		params.Dir = ""
		for _, name := range []string{"demo", "doctor", "eval_answer", "import", "recall", "run", "run_calls", "serve",
			"surprises", "usage"} {
			params.Files = append(params.Files, "testdata/script/"+name+".txt")
		}
	}
	testscript.Run(t, params)
}
