package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/internal/report"
)

func TestUserDataFollowsTheSystem(t *testing.T) {
	home := func() (string, error) { return "/home/ann", nil }
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tc := range []struct {
		system string
		env    func(string) string
		want   string
	}{
		{"linux", env(), "/home/ann/.local/share/oriel"},
		{"linux", env("XDG_DATA_HOME", "/data"), "/data/oriel"},
		{"linux", env("XDG_DATA_HOME", "relative"), "/home/ann/.local/share/oriel"},
		{"freebsd", env(), "/home/ann/.local/share/oriel"},
		{"darwin", env("XDG_DATA_HOME", "/data"), "/home/ann/Library/Application Support/oriel"},
		{"windows", env("LocalAppData", "/appdata"), "/appdata/oriel"},
	} {
		got, err := userData(tc.system, tc.env, home)
		if err != nil || strings.ReplaceAll(got, `\`, "/") != tc.want {
			t.Errorf("%s: %s %v, want %s", tc.system, got, err, tc.want)
		}
	}
	if _, err := userData("windows", env(), home); err == nil {
		t.Error("windows without LocalAppData: no error")
	}
	if _, err := userData("linux", env(), func() (string, error) { return "", errors.New("homeless") }); err == nil {
		t.Error("no home: no error")
	}
}

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
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 99_949: "99.9 kB", 123_456: "123 kB", 2_000_000_000: "2.0 GB", 1 << 62: "4611686 TB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for s, want := range map[string]int64{"500MB": 500e6, "2gb": 2e9, "1 GiB": 1 << 30, "1.5k": 1500, "7": 7, "12B": 12} {
		if got, err := byteCount(s); err != nil || got != want {
			t.Errorf("%s: %d %v", s, got, err)
		}
	}
	for _, s := range []string{"", "GB", "-1GB", "1XB", "0", "1e30GB", "NaN"} {
		if got, err := byteCount(s); err == nil {
			t.Errorf("%q: %d", s, got)
		}
	}
	for s, want := range map[string]time.Duration{"12h": 12 * time.Hour, "90d": 90 * 24 * time.Hour, "2W": 14 * 24 * time.Hour, "1y": 365 * 24 * time.Hour} {
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

func TestProgressIsOneShortLine(t *testing.T) {
	p := &progress{what: "importing"}
	for _, tc := range []struct {
		done, total int64
		want        string
	}{
		{0, 2_000_000, "importing ························   0%  0 B of 2.0 MB, 0 B/s"},
		{1_000_000, 2_000_000, "importing ████████████············  50%  1.0 MB of 2.0 MB, 500 kB/s"},
		{3_000_000, 2_000_000, "importing ████████████████████████ 100%  2.0 MB of 2.0 MB, 1.0 MB/s"},
		{5, 0, "importing … 2 s"},
	} {
		if diff := cmp.Diff(tc.want, p.line(tc.done, tc.total, 2*time.Second)); diff != "" {
			t.Error(diff)
		}
	}
	// What was done before it began counts neither for the rate nor for the time that is left.
	p = &progress{what: "embedding", things: true, from: 9_000}
	want := "embedding ██████████████████████▊·  95%  9,500 of 10,000, 50/s, 10s left"
	if diff := cmp.Diff(want, p.line(9_500, 10_000, 10*time.Second)); diff != "" {
		t.Error(diff)
	}
}
