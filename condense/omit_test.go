package condense_test

import (
	"context"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/condense"
)

// SPEC D10: what no longer holds is in no digest and no summary, also if an earlier one
// quoted it.
func TestSentencesThatNoLongerHoldAreLeftOut(t *testing.T) {
	rule := "From now on always run the slow tests before you commit anything, and again after each merge of main into the branch, and whenever somebody has touched the parser, " +
		"the lexer, the printer or one of their many tables, because the nightly run has found so many faults there in the past months that nobody wants to see them once more."
	said := span(user("Build the exporter.\nNever  use\ttabs. Keep the old format readable. "+rule),
		assistant("I will."), user("Never use tabs."), user("Always sign commits."), long)
	gone := []string{"Never use tabs.", "", rule}
	for _, c := range []condense.Condenser{condense.Digest{}, condense.Extractive{}} {
		before, err := condense.Run(t.Context(), c, condense.Input{Messages: said, Max: 400, Count: count})
		if err != nil {
			t.Fatal(err)
		}
		wants(t, before.Text, "Never use", "From now on")
		for _, in := range []condense.Input{{Messages: said}, {Messages: long, Previous: before.Text}} {
			in.Max, in.Count, in.Omit = 400, count, gone
			out, err := condense.Run(t.Context(), c, in)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, out.Text, "not Never use", "not tabs", "not From now on", "not - \n", "not user: \n")
			if _, ok := c.(condense.Digest); ok {
				wants(t, out.Text, "Build the exporter.", "Always sign commits.")
			}
		}
	}
	var seen condense.Input
	spy := condense.Func(func(_ context.Context, in condense.Input) (condense.Output, error) {
		seen = in
		return condense.Output{Text: "All of it."}, nil
	})
	if _, err := condense.Run(t.Context(), spy, condense.Input{Messages: said, Count: count, Omit: gone}); err != nil {
		t.Fatal(err)
	}
	if len(seen.Messages) != len(said)-1 || strings.Contains(seen.Messages[0].Parts[0].Text.String(), "tabs") ||
		!strings.Contains(said[0].Parts[0].Text.String(), "tabs") {
		t.Errorf("%d of %d messages; %s", len(seen.Messages), len(said), seen.Messages[0].Parts[0].Text)
	}
}

// SPEC D10: white space of all scripts is white space, and what an earlier digest cut off is
// the sentence too. A text that is not UTF-8 is no panic.
func TestSentencesThatNoLongerHoldAreFoundHoweverTheyAreWritten(t *testing.T) {
	const rule = "Always run the slow tests before you commit anything to the main branch."
	for _, tc := range []struct{ name, omit, said, previous string }{
		{"a space that does not break", "Never use\u00a0tabs here.", "Build it. Never use\u00a0tabs here.", ""},
		{"white space of other scripts", "Never use tabs here.", "Build it. Never\u3000use\u2009tabs\vhere.", ""},
		{"a line that ends within it", rule, "Build it.",
			"## Decisions\n- user: Build it. Always run the slow tests before you …\n"},
		{"bytes that are no text", "Never use tabs\xff here.", "Build it. Never use tabs\xff here.", ""},
	} {
		out, err := condense.Run(t.Context(), condense.Digest{},
			condense.Input{Messages: span(user(tc.said), long), Previous: tc.previous, Max: 400, Count: count,
				Omit: []string{tc.omit}})
		if err != nil {
			t.Fatal(tc.name, err)
		}
		t.Run(tc.name, func(t *testing.T) { wants(t, out.Text, "Build it.", "not tabs", "not slow tests") })
	}
}
