package recall

import "testing"

func TestQuestionsAndStatements(t *testing.T) {
	for query, want := range map[string]bool{
		"When did she leave?":                 true,
		"tell me about the port":              true,
		"Summarise our plans":                 true,
		"name the files":                      true,
		"I moved to Lisbon, right?":           true,
		"I moved to Lisbon":                   false,
		"Names are hard":                      false,
		"the build fails on arm64":            false,
		"  \"what is this\"":                  true,
		"Whatever you say, it stays as it is": false,
	} {
		if asks(query) != want {
			t.Errorf("asks(%q) = %v", query, !want)
		}
	}
}

func TestAims(t *testing.T) {
	for query, want := range map[string]aim{
		"What did you recommend for the database?":                          said,
		"How did you suggest I should structure the tests?":                 said,
		"Which of your suggestions was about caching?":                      said,
		"Have you ever told me which port to use?":                          said,
		"Could you list the ports?":                                         fact,
		"Can you please explain TLS?":                                       fact,
		"Which port did I choose?":                                          fact,
		"Give me a summary of my project":                                   summary,
		"Recap what happened":                                               summary,
		"In what order did I bring up the features?":                        course,
		"How has my plan evolved?":                                          course,
		"Walk me through how the design changed across our talks, in order": course,
	} {
		if got := aimOf(query); got != want {
			t.Errorf("aimOf(%q) = %d, want %d", query, got, want)
		}
	}
}

func TestPersonalQueriesSpeakOfWhoTalks(t *testing.T) {
	s := scopeOf(t, Options{},
		[]Message{{Block: "1", Role: "user", Name: "Ann", Time: monday, Text: "The harbour is quiet today."}})
	for query, want := range map[string]bool{
		"what food allergies do I have?":        true,
		"Where did we stay?":                    true,
		"Tell us about the port":                true,
		"What did Ann see at the harbour?":      true,
		"How do I react to needles in my arm?":  true,
		"How do I tie a bow tie?":               false,
		"What should I plant in a shady place?": false,
		"What is the capital of the US?":        false,
		"What is an annulus?":                   false,
		"Graphene is a layer of carbon.":        false,
	} {
		if s.personal(query) != want {
			t.Errorf("personal(%q) = %v", query, !want)
		}
	}
}

func TestTheFormOfAnAnswerIsNotItsSubject(t *testing.T) {
	for query, want := range map[string]string{
		"Question: Where is the kiln?\nAnswer in a few words.":  "Where is the kiln?",
		"Where is the kiln? Please answer briefly.":             "Where is the kiln?",
		"Where is the kiln? Be concise!":                        "Where is the kiln?",
		"Answer with one word. Where is the kiln?":              "Where is the kiln?",
		"What did you answer when I asked for the kiln?":        "What did you answer when I asked for the kiln?",
		"Reply to the letter of the museum about the kiln.":     "Reply to the letter of the museum about the kiln.",
		"Answer in a few words.":                                "Answer in a few words.",
		"Keep it short":                                         "Keep it short",
		"The museum wrote. Answer with the date of the auction": "The museum wrote. Answer with the date of the auction",
	} {
		if got := withoutForm(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
