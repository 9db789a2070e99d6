package event_test

import (
	"testing"

	"github.com/oriel-context/oriel/internal/event"
)

// What earlier versions recorded of a call is the text of its error.
func TestOutcomesOfEarlierRecords(t *testing.T) {
	for text, want := range map[string]event.Outcome{
		"": event.OutcomeWhole, "the client left": event.OutcomeLeft,
		"the client left: it has enough":   event.OutcomeLeft,
		"the answer has no complete reply": event.OutcomeCutOff, "status 500: overloaded": event.OutcomeFailed,
	} {
		got := event.OutcomeOf(text)
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if failed := want == event.OutcomeCutOff || want == event.OutcomeFailed; got.Failed() != failed {
			t.Errorf("%q: failed is %v", got, got.Failed())
		}
	}
}
