package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/report/quality"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
)

// The table fits the terminal, whatever the figures and the names are, but for long ids of
// conversations, which people have to type.
func TestUsageFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(80, 200).Draw(t, "width")
		r := &usage.Report{By: rapid.SampledFrom(usage.Groupings).Draw(t, "by"), Oldest: "2026-11-15",
			Newest: "2026-11-16"}
		some, cost := rapid.IntRange(0, 999_999_999), rapid.Float64Range(0, 9999)
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			longest := 80
			if r.By == usage.Conversation {
				longest = 12
			}
			row := usage.Row{
				Key: rapid.StringN(0, longest, 200).Draw(t, "key"), Calls: rapid.IntRange(1, 99_999).Draw(t, "calls"),
				Input: some.Draw(t, "input"), CacheRead: some.Draw(t, "read"),
				Output: some.Draw(t, "output"), Cost: cost.Draw(t, "cost"), Without: cost.Draw(t, "without"),
				LeftOut: some.Draw(t, "left out"),
			}
			r.Rows = append(r.Rows, row)
			r.Total.Calls += row.Calls
			r.Total.Input, r.Total.CacheRead, r.Total.Output = row.Input, row.CacheRead, row.Output
			r.Total.Cost, r.Total.Without, r.Total.LeftOut = row.Cost, row.Without, row.LeftOut
		}
		r.Total.Key, r.Total.UnknownModels, r.Total.Failed, r.Total.Unreported, r.Total.Summaries = "total",
			[]string{"a", "b", "c", "d", ""}, 3, 1, .1
		text := string((&usageScreen{Report: r}).draw(term.Style{}, width))
		if !utf8.ValidString(text) {
			t.Fatalf("%q", text)
		}
		for line := range strings.Lines(text) {
			if n := term.Cells(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d columns, want at most %d:\n%s", n, width, text)
			}
		}
	})
}

// A watch draws when the history changes, waits for one that is not there yet, and ends
// with its context.
func TestWatchDrawsWhatChanges(t *testing.T) {
	parent := t.TempDir()
	ready, dir, lines := filepath.Join(parent, "ready"), filepath.Join(parent, "data"),
		filepath.Join(parent, "talk.jsonl")
	if err := os.WriteFile(lines, []byte(`{"conversation":"c1","text":"where is the key?"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := command(t, "import", "--data", ready, lines); code != 0 {
		t.Fatal(errOut)
	}
	data := &history{dir: dir}
	ctx, stop := context.WithCancel(t.Context())
	var out bytes.Buffer
	ticks := make(chan time.Time)
	done := make(chan error, 1)
	drawn := 0
	go func() {
		done <- watchTicks(ctx, data, &out, ticks, func(ctx context.Context, s tenantStore) ([]byte, error) {
			drawn++
			all, err := s.Conversations(ctx, timeline.Local)
			return fmt.Appendf(nil, "%d conversations\nat most\n", len(all)), err
		})
	}()
	ticks <- time.Time{}
	ticks <- time.Time{}
	if err := os.Rename(ready, dir); err != nil {
		t.Fatal(err)
	}
	ticks <- time.Time{}
	ticks <- time.Time{}
	ticks <- time.Time{}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if !strings.HasPrefix(text, "\x1b[?1049h\x1b[Hwaiting for the first call: ") ||
		strings.Count(text, "waiting") != 1 ||
		strings.Count(text, "\x1b[H1 conversations\x1b[K\nat most\x1b[K\n\x1b[J") != 1 ||
		!strings.HasSuffix(text, "\x1b[?1049l1 conversations\nat most\n") {
		t.Errorf("%q", text)
	}
	if drawn != 1 {
		t.Errorf("drawn %d times", drawn)
	}

	// What cannot be drawn at all is an error.
	err := watchTicks(t.Context(), data, &out, nil, func(context.Context, tenantStore) ([]byte, error) {
		return nil, errors.New("no room")
	})
	if f := new(failure); !errors.As(err, &f) || !strings.Contains(err.Error(), "no room") {
		t.Error(err)
	}
}

func TestStatusLine(t *testing.T) {
	for want, s := range map[string]*usage.Status{
		"oriel: no calls yet": {},
		"oriel 54.6k of 64.0k (85%) · 34.1k left out · $0.66 today · $0.31 saved (32%)": {Conversation: "c",
			Tokens: 54_648, Limit: 64_000, LeftOut: 34_145, Cost: .66, Without: .97},
		"oriel 900 of 128k (1%) · no price known": {Conversation: "c",
			Tokens: 900, Limit: 128_000, UnknownModels: []string{"my-own"}},
		"oriel 900 of 128k (1%) · $0.50 today": {Conversation: "c",
			Tokens: 900, Limit: 128_000, Cost: .5, Without: .45},
	} {
		if got := statusLine(s, false); got != want {
			t.Errorf("%s\n%s", got, want)
		}
	}
}

// The report on windows fits the terminal.
func TestQualityFits(t *testing.T) {
	r := &quality.Report{Measures: quality.Measures{Calls: 123_456, Cut: 99_999, Needed: 99_999, Missing: 99_999,
		Again: 99_999, Text: 1 << 40, CameText: 1 << 41}, Skipped: 12_345}
	for _, width := range []int{60, 80, 120} {
		for line := range strings.Lines(string(drawQuality(r, plainScreen(width)))) {
			if n := term.Cells(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns, want at most %d: %q", n, width, line)
			}
		}
	}
}

// The notes below the table are broken once, at the width of the terminal.
func TestUsageNotesFit(t *testing.T) {
	r := &usage.Report{By: usage.Model, Total: usage.Row{Key: "total", Calls: 1, UnknownModels: []string{"my-own"}}}
	_, notes, _ := strings.Cut(string((&usageScreen{Report: r}).draw(term.Style{}, 50)), "\n\n")
	want := "  ! no price is known of my-own: their calls are\n    in no sum of money; --models adds prices\n"
	if notes != want {
		t.Errorf("%q, want %q", notes, want)
	}
}

// Calls of service tiers at another price are named below the table.
func TestUsageNamesServiceTiers(t *testing.T) {
	r := &usage.Report{By: usage.Model, Total: usage.Row{Key: "total", Calls: 3,
		Services: map[string]int{"priority": 1, "flex": 2}}}
	_, notes, _ := strings.Cut(string((&usageScreen{Report: r}).draw(term.Style{}, 100)), "\n\n")
	want := "2 calls at the price of service tier flex\n1 call at the price of service tier priority\n"
	if notes != want {
		t.Errorf("%q, want %q", notes, want)
	}
}
