package recall

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dates holds the times that a query mentions.
type dates struct {
	months, years, days []int
	// from and to are days since 1970 for an expression that names a span by
	// itself ("yesterday", "2023-05-08"); both are 0 if there is none.
	from, to int
}

func (d *dates) none() bool { return len(d.months) == 0 && len(d.years) == 0 && d.to == 0 }

var (
	monthWord = regexp.MustCompile(
		`\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b`)
	// "May" and the short names count as months only beside a number or a
	// preposition.
	mayMonth = regexp.MustCompile(
		`\bmay,? (?:\d|20)|\b\d+(?:st|nd|rd|th)? (?:of )?may\b|\b(?:in|of|since|until|last|by) may\b`)
	shortMonth = regexp.MustCompile(`\b(jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?,? (?:\d{1,2}|20\d\d)\b|\b\d{1,2}(?:st|nd|rd|th)? (jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b`)
	yearWord   = regexp.MustCompile(`\b20\d\d\b`)
	dayWord    = regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)?\b`)
	isoDate    = regexp.MustCompile(`\b(20\d\d)-(\d\d)-(\d\d)\b`)
	ago        = regexp.MustCompile(
		`\b(\d{1,3}|a|an|one|two|three|four|five|six|seven|eight|nine|ten) (day|week|month|year)s? ago\b`)
	relative = regexp.MustCompile(
		`\b(today|this morning|yesterday|last night|(?:this|last|past) (?:week|month|year))\b`)
	numbers = []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
)

// datesOf parses the date expressions of a query. Relative ones count back
// from now.
func datesOf(query string, now time.Time) dates {
	q := strings.ToLower(query)
	var d dates
	if m := isoDate.FindStringSubmatch(q); m != nil {
		if t, err := time.Parse(time.DateOnly, m[0]); err == nil {
			d.from, d.to = dayNumber(t), dayNumber(t)
			return d
		}
	}
	for _, w := range monthWord.FindAllString(q, -1) {
		if w != "may" || mayMonth.MatchString(q) {
			d.months = append(d.months, monthNumber(w))
		}
	}
	for _, m := range shortMonth.FindAllStringSubmatch(q, -1) {
		d.months = append(d.months, monthNumber(m[1]+m[2]))
	}
	for _, w := range yearWord.FindAllString(q, -1) {
		y, _ := strconv.Atoi(w)
		d.years = append(d.years, y)
	}
	if len(d.months) > 0 {
		for _, m := range dayWord.FindAllStringSubmatch(q, -1) {
			n, _ := strconv.Atoi(m[1])
			d.days = append(d.days, n)
		}
	}
	if d.none() && !now.IsZero() {
		d.from, d.to = span(q, now)
	}
	return d
}

// span parses an expression that counts back from now.
func span(q string, now time.Time) (from, to int) {
	today := dayNumber(now)
	if m := ago.FindStringSubmatch(q); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			n = max(1, slices.Index(numbers, m[1]))
		}
		switch m[2] {
		case "day":
			return today - n, today - n
		case "week":
			return today - 7*n - 3, today - 7*n + 3
		case "month":
			return today - 30*n - 15, today - 30*n + 15
		default:
			return today - 365*n - 180, today - 365*n + 180
		}
	}
	switch w := relative.FindString(q); w {
	case "today", "this morning":
		return today, today
	case "yesterday", "last night":
		return today - 1, today - 1
	case "this week", "past week":
		return today - 7, today
	case "last week":
		return today - 14, today - 1
	case "this month", "past month":
		return today - 31, today
	case "last month":
		return today - 62, today - 1
	case "this year", "past year":
		return today - 365, today
	case "last year":
		return today - 730, today - 1
	}
	return 0, 0
}

func monthNumber(name string) int {
	return 1 + strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", name[:3])/3
}

// dayNumber returns the number of days from 1970 to the date that the clock of
// t shows.
func dayNumber(t time.Time) int {
	y, m, d := t.Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// match reports how well a day fits the dates of the query: 0 not at all, 1
// the month, 1.5 the exact day. The days after a month fit a little, because
// people often talk about a month soon after it.
func (d *dates) match(t time.Time) float32 {
	switch {
	case t.IsZero() || d.none():
		return 0
	case d.to != 0:
		n := dayNumber(t)
		switch {
		case d.from-1 <= n && n <= d.to+1:
			return 1.5
		case d.from-7 <= n && n <= d.to+7:
			return 1
		}
		return 0
	case len(d.months) == 0:
		if slices.Contains(d.years, t.Year()) {
			return .3
		}
		return 0
	}
	if slices.Contains(d.months, int(t.Month())) && (len(d.years) == 0 || slices.Contains(d.years, t.Year())) {
		if len(d.days) == 0 {
			return 1
		}
		near := 31
		for _, day := range d.days {
			near = min(near, max(day-t.Day(), t.Day()-day))
		}
		switch {
		case near <= 1:
			return 1.5
		case near <= 7:
			return 1.2
		}
		return .8
	}
	for _, m := range d.months {
		if (int(t.Month())-m+12)%12 == 1 && t.Day() <= 10 {
			return .4
		}
	}
	return 0
}
