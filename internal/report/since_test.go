package report_test

import (
	"testing"
	"time"

	"github.com/oriel-context/oriel/internal/report"
)

func TestSince(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	now := time.Date(2026, 11, 16, 3, 30, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"today": time.Date(2026, 11, 16, 0, 0, 0, 0, zone), "Yesterday": time.Date(2026, 11, 15, 0, 0, 0, 0, zone),
		"12h": now.Add(-12 * time.Hour), "7d": now.AddDate(0, 0, -7),
		"2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, zone),
		"2026-11":    time.Date(2026, 11, 1, 0, 0, 0, 0, zone), "2026-11-01T10:00:00Z": time.Date(2026, 11, 1, 10, 0, 0,
			0,
			time.UTC),
	} {
		if got, err := report.Since(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, want %v, %v", text, got, want, err)
		}
	}
	for _, text := range []string{"", "soon", "2026-13-01", "-3d", "0d"} {
		if got, err := report.Since(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
