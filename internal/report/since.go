package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
)

// Since reads a moment as people write it; days are those of now's time zone. An age such
// as 7d counts back from now.
func Since(text string, now time.Time) (time.Time, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(text) {
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04", time.DateOnly, "2006-01"} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if d, err := Age(text); err == nil {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time: give one such as today, 7d, 2026-11-01 or 2026-11-01T15:04:05Z",
		clip.To(text, 60))
}

// Age parses an age: 90d, 12h, 2w, 1y.
func Age(s string) (time.Duration, error) {
	units := map[string]time.Duration{
		"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour,
	}
	for unit, length := range units {
		if digits, ok := strings.CutSuffix(strings.ToLower(s), unit); ok {
			n, err := strconv.ParseFloat(digits, 64)
			if err == nil && n > 0 && n*float64(length) < float64(1<<62) {
				return time.Duration(n * float64(length)), nil
			}
		}
	}
	return 0, fmt.Errorf("%q is not an age: give one such as 12h, 90d, 8w or 2y", clip.To(s, 60))
}
