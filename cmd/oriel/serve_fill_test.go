//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A running server makes the vectors of what was imported, so that a search by meaning
// has nothing left to make.
func TestServeEmbedsWhatWasImported(t *testing.T) {
	every, settle := fillEvery, fillSettle
	fillEvery, fillSettle = time.Millisecond, -1
	t.Cleanup(func() { fillEvery, fillSettle = every, settle })
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 12 {
		fmt.Fprintf(&lines,
			`{"type":"user","sessionId":"s","uuid":"u%d","timestamp":"2026-01-01T10:%02d:00Z","message":{"role":"user","content":"Remark %d about the weather in the mountains."}}`+"\n", i, i, i)
	}
	session := filepath.Join(dir, "s.jsonl")
	if err := os.WriteFile(session, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	oriel := func(args ...string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(append(args, "--data", data), strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("oriel %s: exit %d: %s", args, code, &errs)
		}
		return out.Bytes()
	}
	oriel("import", session)
	s := startServe(t, "--data", data)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		var stats struct{ Derived int }
		if err := json.Unmarshal(oriel("stats", "--json"), &stats); err != nil {
			t.Fatal(err)
		}
		if stats.Derived == 12 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of 12 messages have vectors after a minute; %s", stats.Derived, s.errors)
		}
	}
	var found struct{ Embedded, Unembedded int }
	if err := json.Unmarshal(oriel("recall", "rain on the hills", "--json"), &found); err != nil {
		t.Fatal(err)
	}
	if found.Embedded != 0 || found.Unembedded != 0 {
		t.Errorf("%+v: the search made vectors", found)
	}
	s.end(t)
}
