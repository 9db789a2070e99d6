// Command conform runs cases of what relatives of our policies do through our own
// engine and compares.
//
//	go -C tools run ./conform < cases.jsonl
//
// A case is a line {"suite","name","input":{"op":…},"expected":{…}}. For each one
// conform prints {"name","ok","got"}, and beside a case that is not ok what was
// expected. The last line is "N passed, N failed".
//
// A parameter that its operation does not know fails a case.
// A case passes if got has every field of expected with the same value, and only
// then. A case that our requirements overrule is listed in overruled.go; its line has
// "ok":false and the reason under "overruled", and it counts neither as passed nor as
// failed. A line before the last says how many there are. The exit code is 1 where a
// case failed and 2 where the input cannot be read.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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
	Name string         `json:"name"`
	OK   bool           `json:"ok"`
	Got  map[string]any `json:"got"`
	// Expected is set where the case is not ok.
	Expected  json.RawMessage `json:"expected,omitempty"`
	Overruled string          `json:"overruled,omitempty"`
}

func main() { os.Exit(conform(os.Stdin, os.Stdout, os.Stderr)) }

// conform judges all cases and returns the exit code.
func conform(r io.Reader, w, errs io.Writer) int {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	passed, failed, overruled := 0, 0, 0
	for line := 1; in.Scan(); line++ {
		var c testCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			fmt.Fprintf(errs, "conform: line %d: %v\n", line, err)
			return 2
		}
		v := judge(c)
		switch {
		case v.OK:
			passed++
		case v.Overruled != "":
			overruled++
		default:
			failed++
		}
		if err := out.Encode(v); err != nil {
			fmt.Fprintf(errs, "conform: %v\n", err)
			return 1
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintf(errs, "conform: %v\n", err)
		return 2
	}
	if overruled > 0 {
		fmt.Fprintf(w, "%d overruled, neither passed nor failed\n", overruled)
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return 1
	}
	return 0
}

// judge runs a case and compares every field that is expected.
func judge(c testCase) verdict {
	v := verdict{Name: c.Name, Expected: c.Expected}
	var want map[string]any
	var op struct{ Op string }
	if err := json.Unmarshal(c.Expected, &want); err != nil || len(want) == 0 {
		v.Got = map[string]any{"error": "expected is not an object with fields to compare"}
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
	if v.OK = matches(want, got); v.OK {
		v.Expected = nil
	} else {
		v.Overruled = overruled(c, op.Op, want, got)
	}
	return v
}

// read reads the parameters of an operation. A parameter that the operation does not know is
// an error: a case that asks for something else must not pass or fail by chance.
func read(input json.RawMessage, v any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return err
	}
	delete(fields, "op")
	known, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(known))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// matches reports whether got has every field of want, with the same value. A field
// that the operation does not answer never matches, not even null.
func matches(want, got map[string]any) bool {
	for k, w := range want {
		g, ok := got[k]
		if !ok || !equal(w, g) && !(k == "error" && refusal(w) && g == refused) {
			return false
		}
	}
	return true
}

// refused is the answer under "error" of an operation whose argument the
// engine does not accept; the engine's own message is under "detail".
const refused = "invalid"

// refusal reports whether a relative's error means that an argument was not accepted.
func refusal(want any) bool {
	switch want {
	case true, refused, "value", "value_error", "ValueError", "invalid_argument":
		return true
	}
	return false
}

// equal compares two values as JSON.
func equal(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
