package term

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// Thousands formats a number for people.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Things returns a number with its noun.
func Things(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Thousands(n) + " " + thing
}

func Percent(part, whole int) string {
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(max(1, whole)))
}

// Compact writes a number in at most five characters, such as 927k or 63.9M.
func Compact(n int) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		switch f := float64(n) / unit.of; {
		case f >= 99.95:
			return fmt.Sprintf("%.0f%s", f, unit.name)
		case f >= 1:
			return fmt.Sprintf("%.1f%s", f, unit.name)
		}
	}
	return strconv.Itoa(n)
}

// Roughly writes a number with two or three digits: 980, 2.1k, 234k, 1.2M.
func Roughly(n int) string {
	switch f := float64(n); {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 9950:
		return fmt.Sprintf("%.1fk", f/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", f/1e3)
	default:
		return fmt.Sprintf("%.1fM", f/1e6)
	}
}

// Bytes formats a number of bytes for people.
func Bytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	f := float64(n)
	i := 0
	for f >= 999.5 && i < len(units)-1 {
		f /= 1000
		i++
	}
	if i == 0 || f >= 99.95 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// Money formats a price with as many digits as matter.
func Money(d float64) string {
	if d > 0 && d < 0.01 {
		return fmt.Sprintf("$%.4f", d)
	}
	return fmt.Sprintf("$%.2f", cmp.Or(d, 0))
}

// Seconds writes a duration in milliseconds.
func Seconds(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.0fms", ms)
	}
	return fmt.Sprintf("%.1fs", ms/1000)
}

// Ago writes a moment as short as people read it: the time of today, the day of this week,
// the date of this year, the month of others, in the zone of now.
func Ago(t, now time.Time) string {
	t = t.In(now.Location())
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch {
	case t.IsZero():
		return ""
	case t.After(now):
		return t.Format("2006-01-02")
	case !t.Before(midnight):
		return t.Format("15:04")
	case !t.Before(midnight.AddDate(0, 0, -6)):
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("Jan 2006")
}
