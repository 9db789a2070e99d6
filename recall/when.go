package recall

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A passage of an earlier day says "yesterday" and means the day before that day. Someone who
// reads it weeks later takes it for another day, so the date is written beside it.

// spokenDate matches words that mean a date only to someone who hears them on the day.
var spokenDate = regexp.MustCompile(`(?i)\b(yesterday|last night|tomorrow|(?:last|next) (?:week(?:end)?|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|(\d{1,2}|a|one|two|three|four|five|six|seven|eight|nine|ten) (day|week|month|year)s? ago)\b`)

const (
	// mostDates is how many dates are written beside a passage.
	mostDates = 2
	// dateBytes is how much of a passage is read for them.
	dateBytes = 4096
)

// datesSaid returns what words of a text such as "yesterday" mean, if it was said on day:
// "yesterday = 27 August 2023; last week = the week before 28 August 2023".
func datesSaid(text string, day time.Time) string {
	var out, seen []string
	for _, m := range spokenDate.FindAllStringSubmatch(text[:min(len(text), dateBytes)], 8*mostDates) {
		if strings.IndexFunc(m[1], func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			continue // a letter that looks like another
		}
		word := strings.ToLower(m[1])
		meant := meantBy(word, m[2], strings.ToLower(m[3]), day)
		if meant == "" || slices.Contains(seen, word) {
			continue
		}
		seen = append(seen, word)
		if out = append(out, word+" = "+meant); len(out) == mostDates {
			break
		}
	}
	return strings.Join(out, "; ")
}

const dayLayout = "2 January 2006"

// meantBy returns the date that a word means on a day. n and unit are those of "n units
// ago".
func meantBy(word, n, unit string, day time.Time) string {
	on := func(days int) string { return day.AddDate(0, 0, days).Format(dayLayout) }
	first := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
	if unit != "" {
		k, err := strconv.Atoi(n)
		if err != nil {
			k = max(1, slices.Index(numbers, strings.ToLower(n)))
		}
		switch unit {
		case "day":
			return on(-k)
		case "week":
			return "the week of " + on(-7*k)
		case "month":
			return first.AddDate(0, -k, 0).Format("January 2006")
		}
		return strconv.Itoa(day.Year() - k)
	}
	which, what, _ := strings.Cut(word, " ")
	sign, side := 1, "after"
	if which == "last" {
		sign, side = -1, "before"
	}
	switch {
	case word == "yesterday", word == "last night":
		return on(-1)
	case word == "tomorrow":
		return on(1)
	case what == "month":
		return first.AddDate(0, sign, 0).Format("January 2006")
	case what == "year":
		return strconv.Itoa(day.Year() + sign)
	case what == "week", what == "weekend":
		return fmt.Sprintf("the %s %s %s", what, side, day.Format(dayLayout))
	}
	for days := 1; days <= 7; days++ {
		if strings.EqualFold(day.AddDate(0, 0, sign*days).Weekday().String(), what) {
			return on(sign * days)
		}
	}
	return ""
}
