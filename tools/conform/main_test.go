package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// run judges lines of cases and returns the verdicts, the lines after them and the exit
// code.
func run(t *testing.T, cases string) (verdicts []verdict, rest []string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = conform(strings.NewReader(cases), &out, &errs)
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "{") {
			rest = append(rest, strings.TrimSpace(line))
			continue
		}
		var v verdict
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, append(rest, strings.TrimSpace(errs.String())), code
}

func TestACasePassesOnlyIfEveryExpectedFieldIsThere(t *testing.T) {
	const input = `"input":{"op":"truncate","fraction":0.5,"messages":[{"id":"m0","role":"user","text":"a"}]}`
	for _, c := range []struct {
		line string
		want string
		code int
	}{
		{`{"name":"n",` + input + `,"expected":{"removed":0,"hidden_ids":[]}}`, "1 passed, 0 failed", 0},
		{`{"name":"n",` + input + `,"expected":{"removed":1}}`, "0 passed, 1 failed", 1},
		{`{"name":"n",` + input + `,"expected":{"removed":0,"other":1}}`, "0 passed, 1 failed", 1},
		{`{"name":"n",` + input + `,"expected":{"removed":0,"other":null}}`, "0 passed, 1 failed", 1},
		{`{"name":"n",` + input + `,"expected":{}}`, "0 passed, 1 failed", 1},
		{`{"name":"n",` + input + `}`, "0 passed, 1 failed", 1},
		{`{"name":"n","input":{"op":"other"},"expected":{"error":"x"}}`, "0 passed, 1 failed", 1},
		{`{"name":"n"`, "conform: line 1: unexpected end of JSON input", 2},
	} {
		verdicts, rest, code := run(t, c.line)
		if strings.TrimSpace(strings.Join(rest, " ")) != c.want || code != c.code {
			t.Errorf("%s: %q, exit %d; want %q, exit %d", c.line, rest, code, c.want, c.code)
		}
		for _, v := range verdicts {
			if v.OK != (v.Expected == nil) && strings.Contains(c.line, "expected") {
				t.Errorf("%s: ok %t, expected %s", c.line, v.OK, v.Expected)
			}
		}
	}
}

// A parameter that nobody reads fails its case and is named, wherever it stands.
func TestUnknownParametersAreRefused(t *testing.T) {
	for field, line := range map[string]string{
		"exclude":   `{"name":"n","input":{"op":"clear_tool_results","messages":[],"params":{"exclude":["t1"]}},"expected":{"cleared":[]}}`,
		"fractions": `{"name":"n","input":{"op":"truncate","fractions":0.5,"messages":[]},"expected":{"error":true}}`,
		"weight":    `{"name":"n","input":{"op":"truncate","fraction":0.5,"messages":[{"id":"m0","role":"user","weight":1}]},"expected":{"removed":0}}`,
		"size":      `{"name":"n","input":{"op":"sliding_new","size":3},"expected":{"error":null}}`,
	} {
		verdicts, _, code := run(t, line)
		if code != 1 || len(verdicts) != 1 || verdicts[0].OK ||
			!strings.Contains(fmt.Sprint(verdicts[0].Got["error"]), field) {
			t.Errorf("%s: exit %d, %+v", line, code, verdicts)
		}
	}
}

func TestOverruledCasesAreCountedApart(t *testing.T) {
	const overruledCase = `{"name":"over","input":{"op":"sliding_new","per_turn":0},"expected":{"error":"value_error"}}`
	const passing = `{"name":"pass","input":{"op":"sliding_new"},"expected":{"window_size":40}}`
	verdicts, rest, code := run(t, overruledCase+"\n"+passing)
	if len(verdicts) != 2 || verdicts[0].OK || verdicts[0].Overruled == "" || verdicts[0].Expected == nil ||
		!verdicts[1].OK {
		t.Errorf("%+v", verdicts)
	}
	if got := strings.Join(rest, "|"); got != "1 overruled, neither passed nor failed|1 passed, 0 failed|" ||
		code != 0 {
		t.Errorf("%q, exit %d", got, code)
	}
}

// The cases are our own; each expects what another project's policy does. Where a requirement
// says otherwise, the case names it and is overruled.
func TestRelatives(t *testing.T) {
	data, err := os.ReadFile("testdata/relatives.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	verdicts, _, _ := run(t, string(data))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(verdicts) != len(lines) {
		t.Fatalf("%d verdicts for %d cases", len(verdicts), len(lines))
	}
	for i, v := range verdicts {
		var c struct{ Suite, Overruled string }
		if err := json.Unmarshal([]byte(lines[i]), &c); err != nil {
			t.Fatal(err)
		}
		if c.Overruled == "" && !v.OK || c.Overruled != "" && (v.OK || !strings.Contains(v.Overruled, c.Overruled)) {
			t.Errorf("%s: %s: ok %t, got %v, expected %s, overruled %q, want %q", c.Suite, v.Name, v.OK, v.Got,
				v.Expected, v.Overruled, c.Overruled)
		}
	}
}
