package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/report"
)

func TestNearNames(t *testing.T) {
	names := []string{"support", "Support-2", "7f3c2a10", "shop", "x"}
	for name, want := range map[string][]string{
		"suport":  {`"support"`},
		"SUPPORT": {`"support"`, `"Support-2"`},
		"7f3":     {`"7f3c2a10"`},
		"c2a1":    {`"7f3c2a10"`},
		"y":       {`"x"`},
		"zebra":   nil,
	} {
		if diff := cmp.Diff(want, nearNames(name, names)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSizesAndAges(t *testing.T) {
	for s, want := range map[string]int64{"500MB": 500e6, "2gb": 2e9, "1 GiB": 1 << 30, "1.5k": 1500, "7": 7,
		"12B": 12} {
		if got, err := byteCount(s); err != nil || got != want {
			t.Errorf("%s: %d %v", s, got, err)
		}
	}
	for _, s := range []string{"", "GB", "-1GB", "1XB", "0", "1e30GB", "NaN"} {
		if got, err := byteCount(s); err == nil {
			t.Errorf("%q: %d", s, got)
		}
	}
	for s, want := range map[string]time.Duration{"12h": 12 * time.Hour, "90d": 90 * 24 * time.Hour,
		"2W": 14 * 24 * time.Hour, "1y": 365 * 24 * time.Hour} {
		if got, err := report.Age(s); err != nil || got != want {
			t.Errorf("%s: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "90", "d", "-1d", "0d", "1e9y", "3 months"} {
		if got, err := report.Age(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}
