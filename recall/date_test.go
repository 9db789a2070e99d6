package recall

import (
	"testing"
	"time"
)

func TestDateExpressions(t *testing.T) {
	now := time.Date(2024, time.March, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		query, day string
		want       float32
	}{
		{"what happened in June?", "2023-06-20", 1},
		{"what happened in June 2023?", "2023-06-20", 1},
		{"what happened in June 2022?", "2023-06-20", 0},
		{"what did she buy on 20 June 2023?", "2023-06-20", 1.5},
		{"what did she buy on June 21st?", "2023-06-20", 1.5},
		{"on 25 June", "2023-06-20", 1.2},
		{"on 1 June", "2023-06-20", .8},
		{"what happened in June?", "2023-07-05", .4},
		{"what happened in June?", "2023-07-25", 0},
		{"what happened in December?", "2024-01-02", .4},
		{"what did he do in 2023?", "2023-01-02", .3},
		{"what did he do in 2023?", "2024-01-02", 0},
		{"may I ask what this is", "2023-05-02", 0},
		{"what was in May?", "2023-05-02", 1},
		{"on 2 May", "2023-05-02", 1.5},
		{"on May 2", "2023-05-02", 1.5},
		{"on the 2nd of May", "2023-05-02", 1.5},
		{"on Jun 20", "2023-06-20", 1.5},
		{"on 20 jun", "2023-06-20", 1.5},
		{"the sun and the moon", "2023-06-20", 0},
		{"the log of 2023-06-20", "2023-06-20", 1.5},
		{"the log of 2023-06-20", "2023-06-25", 1},
		{"the log of 2023-06-20", "2023-08-25", 0},
		{"what did I say yesterday?", "2024-03-14", 1.5},
		{"what did I say yesterday?", "2024-02-14", 0},
		{"three days ago", "2024-03-12", 1.5},
		{"2 weeks ago", "2024-03-01", 1.5},
		{"last month", "2024-02-14", 1.5},
		{"a year ago", "2023-03-14", 1.5},
		{"a year ago", "2024-03-14", 0},
		{"no date at all", "2024-03-14", 0},
	} {
		day, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		d := datesOf(c.query, now)
		if got := d.match(day); got != c.want {
			t.Errorf("%q on %s: %v, want %v", c.query, c.day, got, c.want)
		}
	}
}

func TestNothingIsRelativeWithoutAClock(t *testing.T) {
	if d := datesOf("yesterday", time.Time{}); !d.none() {
		t.Errorf("%+v", d)
	}
	d := datesOf("in June", time.Time{})
	if d.match(time.Time{}) != 0 {
		t.Error("a message without a time matches a date")
	}
}

func TestDatesInTheQueryDecide(t *testing.T) {
	s := scopeOf(t, Options{},
		talk("Ann: the concert was wonderful tonight\n\n\n\n\n\nAnn: the concert was wonderful again"))
	if got := best(find(t, s, "How was the concert in May?", RecallOptions{})); got != "1" {
		t.Errorf("May: %s", got)
	}
	if got := best(find(t, s, "How was the concert in June?", RecallOptions{})); got != "2" {
		t.Errorf("June: %s", got)
	}
}

func FuzzDates(f *testing.F) {
	f.Add("on 31 February 2024, 99 years ago or 2024-13-45")
	f.Fuzz(func(t *testing.T, query string) {
		d := datesOf(query, monday)
		if m := d.match(monday); m < 0 || m > 1.5 {
			t.Errorf("match %v", m)
		}
	})
}
