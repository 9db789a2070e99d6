// Command conform runs cases of what relatives of our policies do through our own
// engine and compares.
//
//	go run ./internal/conform < cases.jsonl
//
// A case is a line {"suite","name","input":{"op":…},"expected":{…}}. For each one
// it prints {"name","ok","got"}, then "N passed, N failed". A case that our
// requirements overrule is in overruled.go with its reason; it is run and printed
// like any other, with "overruled", and counts as passed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// testCase is one line of input.
type testCase struct {
	Suite    string          `json:"suite"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Expected json.RawMessage `json:"expected"`
}

// verdict is one line of output.
type verdict struct {
	Name      string         `json:"name"`
	OK        bool           `json:"ok"`
	Got       map[string]any `json:"got"`
	Overruled string         `json:"overruled,omitempty"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	passed, failed := 0, 0
	for line := 1; in.Scan(); line++ {
		var c testCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			fmt.Fprintf(os.Stderr, "conform: line %d: %v\n", line, err)
			os.Exit(2)
		}
		v := judge(c)
		if v.OK || v.Overruled != "" {
			passed++
		} else {
			failed++
		}
		if err := out.Encode(v); err != nil {
			fmt.Fprintf(os.Stderr, "conform: %v\n", err)
			os.Exit(1)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintf(os.Stderr, "conform: %v\n", err)
		os.Exit(2)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// judge runs a case and compares every field that is expected.
func judge(c testCase) verdict {
	v := verdict{Name: c.Name}
	var want map[string]any
	var op struct{ Op string }
	if err := json.Unmarshal(c.Expected, &want); err != nil {
		v.Got = map[string]any{"error": err.Error()}
		return v
	}
	if err := json.Unmarshal(c.Input, &op); err != nil {
		v.Got = map[string]any{"error": err.Error()}
		return v
	}
	run, ok := operations[op.Op]
	if !ok {
		v.Got = map[string]any{"error": fmt.Sprintf("unknown operation %q", op.Op)}
		return v
	}
	got, err := run(c.Input)
	if err != nil {
		got = map[string]any{"error": err.Error()}
	}
	v.Got = got
	v.OK = matches(want, got)
	if !v.OK {
		v.Overruled = overruled(c, op.Op, want, got)
	}
	return v
}

// matches reports whether got has every field of want, with the same value.
func matches(want, got map[string]any) bool {
	for k, w := range want {
		a, err1 := json.Marshal(w)
		b, err2 := json.Marshal(got[k])
		if err1 != nil || err2 != nil || string(a) != string(b) {
			return false
		}
	}
	return true
}
