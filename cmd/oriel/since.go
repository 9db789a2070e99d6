package main

import (
	"fmt"
	"strings"
	"time"
)

// sinceHelp describes the value of --since.
const sinceHelp = "`when`: today, yesterday, 12h, 7d, 2w, 2026-11-01, 2026-11 or RFC 3339"

// since reads a moment as people write it; days are those of now's time zone. An age such
// as 7d counts back from now.
func since(text string, now time.Time) (time.Time, error) {
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
	if d, err := age(text); err == nil {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: give one such as today, 7d, 2026-11-01 or 2026-11-01T15:04:05Z", oneLine(text, 60))
}
