package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A search finds the same if what was made for it beforehand cannot be read or written.
func TestRecallNeedsNoExtracts(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 8 {
		fmt.Fprintf(&lines, "{\"conversation\":\"c\",\"text\":\"The hive number %d stands in the orchard.\"}\n", i)
	}
	db := importTalk(t, dir, lines.String())
	if _, err := db.Exec("DROP TABLE extract"); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := command(t, "recall", "--data", dir, "--mode", "keyword", "hive number 3"); code != 0 || !strings.Contains(out, "number 3 stands") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
}

// The first search of a history without extracts stores all of them, however little it has
// to do itself.
func TestRecallStoresTheWordsThatItReads(t *testing.T) {
	dir := t.TempDir()
	const talks = 320
	var lines strings.Builder
	for i := range talks * 4 {
		fmt.Fprintf(&lines, "{\"conversation\":\"c%d\",\"text\":\"The hive number %d stands in the orchard.\"}\n", i/4, i)
	}
	db := importTalk(t, dir, lines.String())
	n := 0
	for range 3 { // on a busy machine one may not be in time
		if _, err := db.Exec("DELETE FROM extract"); err != nil {
			t.Fatal(err)
		}
		if code, _, errOut := command(t, "recall", "--data", dir, "--all", "--mode", "keyword", "nothing of this"); code != 0 {
			t.Fatal(errOut)
		}
		if err := db.QueryRow("SELECT count(*) FROM extract").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == talks {
			return
		}
	}
	t.Errorf("%d extracts are stored", n)
}

// The neighbours of a hit are the messages next to it, however many lines of the agent stand
// between them.
func TestNeighboursAreMessages(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	n := 0
	line := func(kind, rest string) {
		n++
		fmt.Fprintf(&lines, `{"type":%q,"sessionId":"s-1","uuid":"u%d","timestamp":"2024-03-01T10:00:00Z",%s}`+"\n", kind, n, rest)
	}
	say := func(role, text string) { line(role, fmt.Sprintf(`"message":{"role":%q,"content":%q}`, role, text)) }
	agentLines := func(count int) {
		for range count {
			line("system", `"subtype":"turn_duration","durationMs":5`)
		}
	}
	say("user", "How is the weather?")
	say("user", "Where are the keys?")
	agentLines(50)
	say("assistant", "The spare key hangs behind the fuse box.")
	agentLines(50)
	say("user", "And the ladder?")
	say("assistant", "It stands in the shed.")
	importTalk(t, dir, lines.String())
	for around, want := range map[string]string{
		"1": "  2  user  Where are the keys?\n  53  TIME  assistant\n    The spare key hangs behind the fuse box.\n  104  user  And the ladder?\n\n",
		"9": "  1  user  How is the weather?\n  2  user  Where are the keys?\n  53  TIME  assistant\n    The spare key hangs behind the fuse box.\n  104  user  And the ladder?\n  105  assistant  It stands in the shed.\n\n",
	} {
		code, out, errOut := command(t, "recall", "--data", dir, "--mode", "keyword", "--top", "1", "-C", around, "spare key fuse box")
		out = regexp.MustCompile(`\d\d:\d\d`).ReplaceAllString(out, "TIME") // of the machine's zone
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("-C %s: exit %d: %s%s, want\n%s", around, code, out, errOut, want)
		}
	}
}

// importTalk imports lines into a new history and opens its file.
func importTalk(t *testing.T, dir, lines string) *sql.DB {
	t.Helper()
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "import", "--data", dir, file); code != 0 {
		t.Fatal(errOut)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "oriel.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
