package recall

import (
	"strings"
	"testing"
	"time"
)

func TestDatesInWordsMeanThoseOfTheirDay(t *testing.T) {
	day := time.Date(2023, 8, 28, 15, 19, 0, 0, time.UTC) // a Monday
	for text, want := range map[string]string{
		"I took my kids to a park yesterday.":           "yesterday = 27 August 2023",
		"We go Tomorrow, and again next month":          "tomorrow = 29 August 2023; next month = September 2023",
		"last Friday and last Monday":                   "last friday = 25 August 2023; last monday = 21 August 2023",
		"next Monday":                                   "next monday = 4 September 2023",
		"last week, last week, last year, two days ago": "last week = the week before 28 August 2023; last year = 2022",
		"three weeks ago":                               "three weeks ago = the week of 7 August 2023",
		"I moved 2 months ago":                          "2 months ago = June 2023",
		"four years ago":                                "four years ago = 2019",
		"today, soon, a week, lastly, the last week of": "last week = the week before 28 August 2023",
		"nothing": "",
	} {
		if got := datesSaid(text, day); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	// The last day of a month has no counterpart in every month.
	if got := datesSaid("next month", time.Date(2024, 1, 31, 0, 0, 0, 0,
		time.UTC)); got != "next month = February 2024" {
		t.Error(got)
	}
}

// A reader of another day is told what "yesterday" means; one of the same day is not, nor is
// one without a clock.
func TestRecalledTextExplainsItsDates(t *testing.T) {
	said := time.Date(2023, 8, 28, 15, 19, 0, 0, time.UTC)
	s := NewScope(Options{})
	if err := s.Add(t.Context(),
		[]Message{{Conversation: "c", Block: "1", Time: said, Role: "user",
			Text: "I took my kids to the park yesterday."}}); err != nil {
		t.Fatal(err)
	}
	for now, want := range map[time.Time]string{
		{}:                  "28 August 2023:\nuser> I took my kids to the park yesterday.",
		said.Add(time.Hour): "28 August 2023:\nuser> I took my kids to the park yesterday.",
		said.AddDate(0, 0,
			22): "28 August 2023:\nuser (yesterday = 27 August 2023)> I took my kids to the park yesterday.",
	} {
		r, err := s.Recall(t.Context(), "When were my kids in the park?", RecallOptions{Now: now})
		if err != nil || r.Text != want {
			t.Errorf("%v: %v\n%s\nwant\n%s", now, err, r.Text, want)
		}
		if r.Tokens != s.count(r.Text) || !strings.Contains(want, r.Passages[0].Text) {
			t.Errorf("%d tokens of %d", r.Tokens, s.count(r.Text))
		}
	}
}
