package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
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
	if code, out, errOut := command(t, "recall", "--data", dir, "--mode", "keyword", "hive number 3"); code != 0 ||
		!strings.Contains(out, "number 3 stands") {
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
		fmt.Fprintf(&lines, "{\"conversation\":\"c%d\",\"text\":\"The hive number %d stands in the orchard.\"}\n", i/4,
			i)
	}
	db := importTalk(t, dir, lines.String())
	n := 0
	for range 3 { // on a busy machine one may not be in time
		if _, err := db.Exec("DELETE FROM extract"); err != nil {
			t.Fatal(err)
		}
		if code, _, errOut := command(t, "recall", "--data", dir, "--all", "--mode", "keyword",
			"nothing of this"); code != 0 {
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

// A terminal is shown the best passage of a hit whole, the lines with the words of the query of
// one that is very long, and other passages only of the first hits, so that the next ones are
// on the same screen. --full and pipes show all.
func TestATerminalIsShownWholePassages(t *testing.T) {
	numbered := func(word string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s %d\n", word, i+1)
		}
		return b.String()
	}
	before, best, after := numbered("before", 5), numbered("best", 15), numbered("after", 30)
	hit := report.Hit{Conversation: "c1", ID: 7, Text: before + best + after, Best: len(before),
		BestEnd: len(before + best)}
	noise := numbered("noise", 40)
	long := noise + "the spare key\n" + after
	around := noise[strings.Index(noise, "noise 31"):] + "the spare key\n" + numbered("after", 9)
	for _, k := range []struct {
		what   string
		hit    report.Hit
		screen term.Screen
		full   bool
		spare  int
		want   string
		more   string
	}{
		{"no spare lines", hit, plainScreen(80), false, 0, best, "… 35 lines more: oriel show c1 7"},
		{"spare lines", hit, plainScreen(80), false, 8, best + numbered("after", 8),
			"… 27 lines more: oriel show c1 7"},
		{"more than it needs", hit, plainScreen(80), false, 99, hit.Text, ""},
		{"--full", hit, plainScreen(80), true, 0, hit.Text, ""},
		{"pipe", hit, term.Screen{}, false, 0, hit.Text, ""},
		{"the best is the last", report.Hit{Text: before + best, Best: len(before), BestEnd: len(before + best)},
			plainScreen(80), false, 2, "before 4\nbefore 5\n" + best, "… 3 lines more: oriel show '' 0"},
		{"one line is left", report.Hit{Text: best + "end", BestEnd: len(best)}, plainScreen(80), false, 0,
			best + "end\n", ""},
		{"very long", report.Hit{Text: long, BestEnd: len(long)}, plainScreen(80), false, 8, around,
			"… 51 lines more: oriel show '' 0"},
		{"very long, found by its meaning", report.Hit{Text: noise, BestEnd: len(noise)}, plainScreen(80), false, 8,
			numbered("noise", 20), "… 20 lines more: oriel show '' 0"},
	} {
		d := hitDrawing{screen: k.screen, words: report.NewMatcher("spare key"), full: k.full, spare: k.spare}
		d.text(&k.hit)
		got := strings.ReplaceAll(d.b.String(), margin+margin, "")
		if k.more != "" {
			k.want += k.more + "\n"
		}
		if diff := cmp.Diff(k.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", k.what, diff)
		}
	}
}

// The neighbours of a hit are the messages next to it, however many lines of the agent stand
// between them.
func TestNeighboursAreMessages(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	n := 0
	line := func(kind, rest string) {
		n++
		fmt.Fprintf(&lines, `{"type":%q,"sessionId":"s-1","uuid":"u%d","timestamp":"2024-03-01T10:00:00Z",%s}`+"\n",
			kind, n, rest)
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
		code, out, errOut := command(t, "recall", "--data", dir, "--mode", "keyword", "--top", "1", "-C", around,
			"spare key fuse box")
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
