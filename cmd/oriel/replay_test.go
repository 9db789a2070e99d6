package main

import (
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/report/replay"
)

// Sums in dollars leave out sessions of models without a price, and say so.
func TestAReplaySaysWhatItsSumsLeaveOut(t *testing.T) {
	outcomes := []*replay.Outcome{{Policy: replay.Append, Calls: 3, Cost: 1}, {Policy: "balanced", Calls: 3, Cost: 1}}
	r := &replay.Report{Sessions: []*replay.Session{{Name: "a", Priced: true, Outcomes: outcomes},
		{Name: "b", Outcomes: outcomes}}, Priced: 1, Calls: 6, Total: outcomes, Unpriced: outcomes}
	if text := string(drawReplay(r, plainScreen(80), false)); !strings.Contains(text, "without 1 session of models that have no price") {
		t.Error(text)
	}
	r.Priced = 2
	if text := string(drawReplay(r, plainScreen(80), false)); strings.Contains(text, "no price") {
		t.Error(text)
	}
}
