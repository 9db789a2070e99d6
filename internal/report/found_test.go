package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/recall"
)

func TestHitsAreBestFirstAndWhole(t *testing.T) {
	day := func(d int) *time.Time { t := noon.AddDate(0, 0, d); return &t }
	r := &recall.Result{Passages: []recall.Passage{
		{Block: "3", Time: day(0), Role: "user", Keyword: .5, Dense: .5, Text: "Which port?", Parts: 1},
		{Block: "4", Time: day(0), Role: "assistant", Keyword: .3, Dense: .4, Text: "first ", Part: 0, Parts: 4},
		{Block: "4", Time: day(0), Role: "assistant", Keyword: .5, Dense: .5, Text: "second", Part: 1, Parts: 4},
		{Block: "other#9", Time: day(1), Role: "assistant", Keyword: .9, Dense: .4, Text: "the port is 6432", Part: 0,
			Parts: 1},
		{Block: "other#9", Time: day(1), Role: "assistant", Keyword: .1, Dense: .1, Text: "Bash ls", Part: 1, Parts: 2,
			Tool: true},
		{Block: "other#12", Time: day(1), Role: "assistant", Keyword: .5, Text: "without a vector", Parts: 1},
	}}
	var got []string
	for _, g := range report.Groups(report.Hits(r, "own"), time.UTC) {
		got = append(got, fmt.Sprintf("%s on %s", g.Conversation, g.Day.Format(time.DateOnly)))
		for _, h := range g.Hits {
			got = append(got, fmt.Sprintf("  %d %s %q, best %q", h.ID, h.Role, h.Text, h.Text[h.Best:h.BestEnd]))
		}
	}
	want := []string{
		"other on 2025-03-15",
		`  9 assistant "the port is 6432\n…\nBash ls", best "the port is 6432"`,
		`  12 assistant "without a vector", best "without a vector"`,
		"own on 2025-03-14",
		`  4 assistant "first second …", best "second"`,
		`  3 user "Which port?", best "Which port?"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What was found by one common word alone is not shown beside what matches well, although it
// has no vector yet.
func TestNearestLeavesOutWhatWasFoundByACommonWord(t *testing.T) {
	r := &recall.Result{Mode: recall.Hybrid, Passages: []recall.Passage{
		{Block: "1", Role: "assistant", Keyword: .73, Dense: .9, Text: "The shop uses port 8443."},
		{Block: "2", Role: "assistant", Keyword: .72, Dense: .85, Text: "Port 8443 is the shop's."},
		{Block: "3", Role: "user", Keyword: .1, Text: "[Request interrupted by user for tool use]"},
		{Block: "4", Role: "assistant", Keyword: .4, Text: "The port of the shop"},
	}}
	var got []int64
	for _, h := range report.Nearest(report.Hits(r, "own"), r.Mode) {
		got = append(got, h.ID)
	}
	if diff := cmp.Diff([]int64{1, 2, 4}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGroupsShowTheBestOfEach(t *testing.T) {
	var hits []report.Hit
	for i := range 9 {
		hits = append(hits, report.Hit{Conversation: "a", ID: int64(i + 1), Time: noon})
	}
	if g := report.Groups(hits, time.UTC); len(g) != 1 || len(g[0].Hits) != 9 || g[0].More != 0 {
		t.Errorf("one conversation: %+v", g)
	}
	hits = append(hits, report.Hit{Conversation: "b", ID: 1, Time: noon})
	if g := report.Groups(hits, time.UTC); len(g) != 2 || len(g[0].Hits) != 4 || g[0].More != 5 ||
		g[0].Hits[0].ID != 1 {
		t.Errorf("two: %+v", g)
	}
}

func TestMatcherFindsWordsWhateverTheirEnding(t *testing.T) {
	text := "The ports: isTrivialLine, trivially; PORT größer 6432."
	var got []string
	for _, s := range report.NewMatcher("which port has isTrivialLine and 6432?").Find(text) {
		got = append(got, text[s[0]:s[1]])
	}
	if diff := cmp.Diff([]string{"ports", "isTrivialLine", "trivially", "PORT", "6432"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
