package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/wire"
)

// A question is searched for in the person's words alone, wherever its agent puts a time, a
// reminder or the state of a folder, whose numbers are in the history, too.
//
// SPEC D3; PROXY rule 11
func TestOnlyWhatAPersonAsksIsSearchedFor(t *testing.T) {
	const asked = "Which token did part 3 have? Answer from what you read."
	const state = "# Current Time\n11/17/2026, 8:17:19 PM\nparts/17.txt parts/20.txt parts/19.txt, line 19 of 46"
	var history []string
	for k := 1; k <= 24; k++ {
		var report strings.Builder
		for line := 1; line <= 24; line++ {
			fmt.Fprintf(&report, "line %d of part %d: the token of part %d is T%07x and nothing else\n", line, k, k,
				k*7919*k)
		}
		history = append(history, report.String())
	}
	for name, texts := range map[string][]string{
		"plain":                {asked},
		"a time before it":     {"<current_datetime>2026-11-17T20:17:19.606+00:00</current_datetime>\n\n" + asked},
		"a time in brackets":   {"[Tue 2026-11-17 20:17:19 UTC] " + asked},
		"a sender in brackets": {"[WhatsApp +49 30 1720 2026-11-17 20:17] " + asked},
		"a reminder before it": {"<system-reminder>\nToday is 2026-11-17T20:17:19\n</system-reminder>", asked},
		"a reminder in the middle": {"Which token <system-reminder>" + state +
			"</system-reminder> did part 3 have? Answer from what you read."},
		"a reminder behind it": {asked + "\n\n<system-reminder>\n" + state + "\n</system-reminder>"},
		"a state behind it": {"<task>\n" + asked + "\n</task>", "<environment_details>\n" + state +
			"\n</environment_details>"},
		"data before it": {"<additional_data>\n" + state + "\n</additional_data>", "<user_query>\n" + asked +
			"\n</user_query>"},
		"a task behind a result": {"Observation:\nAll parts were read.\nNew task:\n" + asked},
		"a preface":              {"This is the Qwen Code. We are setting up the context for our chat.\nToday's date is Tuesday, November 17, 2026.\n" + state, asked},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTurnTalk(t, wire.Anthropic, 6000)
			for _, report := range history {
				s.turn(`"Go on."`, report)
			}
			var parts []map[string]string
			for _, text := range texts {
				parts = append(parts, map[string]string{"type": "text", "text": text})
			}
			content, err := json.Marshal(parts)
			if err != nil {
				t.Fatal(err)
			}
			c, messages := s.turn(string(content), "I see.")
			said, at := recalledIn(&messages[len(messages)-1])
			if want := fmt.Sprintf("T%07x", 3*7919*3); at < 0 || !strings.Contains(said[at], want) {
				t.Errorf("%s is not recalled: %s, %q", want, c.Action, said)
			}
		})
	}
}
