package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// command runs a command and gives its exit code and what it printed.
func command(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// Whatever page of the file is broken, verify exits with 1 and lists what it found:
// also where it could not go on after that.
func TestVerifyTellsWhatItFoundWhereverAPageIsBroken(t *testing.T) {
	dir := t.TempDir()
	talk := filepath.Join(dir, "talk.jsonl")
	if err := os.WriteFile(talk, longTalk(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "import", "--data", dir, talk); code != 0 {
		t.Fatal(errOut)
	}
	file := filepath.Join(dir, "oriel.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for at := page; at < len(whole); at += page {
		broken := bytes.Clone(whole)
		for i := range page {
			broken[at+i] = 0xff
		}
		if err := os.WriteFile(file, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errOut := command(t, "verify", "--data", dir)
		if code == 0 {
			continue // a page that nothing uses
		}
		if code != 1 || strings.Contains(errOut, "oriel verify") {
			t.Errorf("page %d: exit %d: %s", at/page, code, errOut)
		}
		code, printed, _ := command(t, "verify", "--data", dir, "--json")
		if printed == "" { // it cannot be opened at all
			if out != "" || code != 1 {
				t.Errorf("page %d: exit %d: %s", at/page, code, out)
			}
			continue
		}
		var result struct {
			OK       bool
			Found    int
			Problems []struct{ What string }
			Error    string
		}
		if err := json.Unmarshal([]byte(printed), &result); err != nil {
			t.Fatal(err)
		}
		if code != 1 || result.OK || result.Found == 0 && result.Error == "" ||
			len(result.Problems) != min(result.Found, maxShown) {
			t.Errorf("page %d: exit %d: %s", at/page, code, printed)
		}
		if got := strings.Count(out, "\n"); got != len(result.Problems) {
			t.Errorf("page %d: %d problems in %d lines", at/page, len(result.Problems), got)
		}
		if result.Found > 0 && result.Error != "" {
			if !strings.Contains(errOut, "not everything could be checked") {
				t.Errorf("page %d: %s", at/page, errOut)
			}
		}
	}
}

// What was found before the checking failed is not dropped.
func TestVerifyTellsProblemsBesideAnError(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		result := &verified{Found: 1,
			Problems: []foundProblem{{Conversation: "c", Place: "1:7", What: "its chain is broken"}}}
		cause := &failure{&sqlite.Error{Op: "read", Path: "oriel.db", Err: timeline.ErrDamaged,
			Hint: "see what is whole with `oriel verify`"}}
		err := tellVerified(&out, result, cause, asJSON)
		var failed *failure
		if !errors.As(err, &failed) || !errors.Is(err, timeline.ErrDamaged) ||
			strings.Contains(err.Error(), "oriel verify") ||
			!strings.Contains(err.Error(), "1 thing is wrong") ||
			!strings.Contains(err.Error(), "not everything could be checked") {
			t.Errorf("json %v: %v", asJSON, err)
		}
		if !strings.Contains(out.String(), "its chain is broken") ||
			asJSON && !strings.Contains(out.String(), `"error":"read oriel.db: `) {
			t.Errorf("json %v: %s", asJSON, out.String())
		}
	}
}
