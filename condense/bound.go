package condense

import "github.com/oriel-context/oriel/internal/clip"

// How much of what was said is searched for sentences: mostOfText bytes of one text, mostRead
// of a span, and leastOfText of each text. Nobody says more by hand.
const (
	mostOfText  = 128 << 10
	mostRead    = 1 << 20
	leastOfText = 64
)

// bounded shortens the texts of events to the first and the last bytes of each, so that the
// work on a span is bounded: a second of sentences for each megabyte.
func bounded(events []event) []event {
	most := mostOfText
	for ; most > leastOfText; most /= 2 {
		n := 0
		for i := range events {
			n += min(len(events[i].text), most)
		}
		if n <= mostRead {
			break
		}
	}
	for i := range events {
		if s := events[i].text; len(s) > most {
			events[i].text = s[:clip.Floor(s, most/2)] + "\n\n" + s[clip.Ceil(s, len(s)-most/2):]
		}
	}
	return events
}
