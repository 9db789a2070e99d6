package page

import (
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/report/replay"
)

func sample(name string) *replay.Report {
	whole := &replay.Outcome{Session: name, Policy: replay.Append, Calls: 3, PromptTokens: 60_000, Cost: .3, CostRatio: 1,
		Detail: replay.Detail{Longest: 30_000, Points: []replay.Point{{Prompt: 10_000, Cost: .1}, {Prompt: 20_000, Cost: .1},
			{Prompt: 30_000, Cost: .1, Idle: true}}}}
	ladder := &replay.Outcome{Session: name, Policy: "ladder", Window: 15_000, Calls: 3, PromptTokens: 40_000, Cost: .2,
		CostRatio: .67, Cuts: 1, Detail: replay.Detail{Longest: 20_000, Needed: 4, Missing: 1,
			Points: []replay.Point{{Prompt: 10_000, Cost: .1}, {Prompt: 20_000, Cost: .05}, {Prompt: 10_000, Cost: .05, Cut: true}}}}
	return &replay.Report{Sessions: []*replay.Session{{Name: name, Project: "/home/ann/" + name, Calls: 3, Priced: true,
		Began: time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC), Outcomes: []*replay.Outcome{whole, ladder}}},
		Priced: 1, Calls: 3, Total: []*replay.Outcome{whole, ladder}, Unpriced: []*replay.Outcome{{}, {}}}
}

// The page is sent to others and opened anywhere: it loads nothing, runs nothing, and names
// of sessions are text.
func TestThePageStandsAlone(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, sample(`<script>alert("x")</script>`)); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, bad := range []string{"<script", "http://", "https://", "src=", "url(", "@import", "<link"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, want := range []string{"&lt;script&gt;", "prefers-color-scheme: dark", "default-src 'none'", "<svg",
		`class="idle"`, "ladder 15.0k", "-33%", "leave it off"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if n := strings.Count(html, "<polyline"); n != 4 { // two policies in two charts
		t.Errorf("%d lines in the charts", n)
	}
}

func TestChartsHaveRoundLabels(t *testing.T) {
	for least, want := range map[float64]float64{0: 1, 30.4: 50, .21: .25, 41_700: 50_000, 9: 10, 1: 1, 1.1: 2} {
		if got := niceStep(least); got < want*.999 || got > want*1.001 {
			t.Errorf("%g: steps of %g, want %g", least, got, want)
		}
	}
}
