package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The question of oriel prune on a terminal says how many conversations would go, how large
// they are, and when they were last used.
func TestPruneAsksWithDates(t *testing.T) {
	t.Setenv("TZ", "UTC")
	dir := t.TempDir()
	talk := filepath.Join(dir, "talk.jsonl")
	text := ""
	for i, day := range []string{"2024-01-12", "2024-02-04", "2024-01-30"} {
		text += fmt.Sprintf(`{"conversation":"c%d","time":"%sT10:00:00Z","text":"what was said on that day, %d"}`+"\n",
			i, day, i)
	}
	if err := os.WriteFile(talk, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs syncBuffer
	if code := run([]string{"import", "--data", dir, talk}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	keys, cmd, _ := onTerminal(t, "oriel", "prune", "--older-than", "90d", "--data", dir)
	shown := bufio.NewReader(keys)
	var seen strings.Builder
	for !strings.Contains(seen.String(), "[y/N]") {
		b, err := shown.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q", err, seen.String())
		}
		seen.WriteByte(b)
	}
	if got := strings.Join(strings.Fields(seen.String()), " "); !strings.HasSuffix(got,
		"Delete 3 conversations (267 B, last used 12 Jan – 4 Feb 2024) permanently? [y/N]") {
		t.Error(got)
	}
	io.WriteString(keys, "y\n")
	go shown.WriteTo(io.Discard)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestDaysOfARange(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	day := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 9, 0, 0, 0, time.UTC)
	}
	for _, c := range []struct {
		first, last time.Time
		want        string
	}{
		{day(2026, 1, 12), day(2026, 2, 4), "12 Jan – 4 Feb"},
		{day(2026, 1, 12), day(2026, 1, 12), "12 Jan"},
		{day(2025, 1, 12), day(2025, 2, 4), "12 Jan – 4 Feb 2025"},
		{day(2025, 1, 12), day(2026, 2, 4), "12 Jan 2025 – 4 Feb 2026"},
		{day(2025, 1, 12), day(2025, 1, 12), "12 Jan 2025"},
	} {
		if got := days(c.first, c.last, now); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
