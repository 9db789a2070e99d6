package directive

import (
	"strings"
	"testing"
)

func TestInstructionsPreferencesAndNeither(t *testing.T) {
	for sentence, want := range map[string][2]bool{
		"From now on, answer in French.":                     {true, false},
		"Don\u2019t touch the folder vendor.":                {true, false},
		"From now on always send me the diff.":               {true, false},
		"Going forward, never call it done without a test.":  {true, false},
		"From now on it always rains.":                       {false, false},
		"I'm allergic to peanuts.":                           {false, true},
		"I prefer short answers, so can you try?":            {false, true},
		"Don't forget to take some nice pictures!":           {false, false},
		"What is the preferred way to do this?":              {false, false},
		"The harbour of Trieste is deep.":                    {false, false},
		"Could you end each of your replies with a proverb?": {true, false},
	} {
		if got := [2]bool{Instructs(sentence), Prefers(sentence)}; got != want {
			t.Errorf("%q: instructs, prefers = %v, want %v", sentence, got, want)
		}
		if (want[0] || want[1]) && !May(sentence) {
			t.Errorf("%q: May is false", sentence)
		}
	}
}

// A pattern needs one of its words, whatever the text.
func FuzzPatternsNeedTheirWords(f *testing.F) {
	f.Add("Use tabs until further notice. Answer each question that I ask, while we talk, in English.")
	f.Add("Always do. Don\u2019t forget to use it. I prefer it. Call me Ann. No emojis.")
	f.Add("Act as my editor, don't add new packages, keep each answer short, reply in verse, note to self")
	f.Fuzz(func(t *testing.T, text string) {
		text = straight(text)
		for _, p := range append([]*pattern{&prefers, &lasting, &reminds, &forbids}, forms...) {
			if p.expression.MatchString(text) && !p.in(strings.ToLower(text)) {
				t.Errorf("%q has none of the words of %s", text, p.expression)
			}
		}
		if (Instructs(text) || Prefers(text)) && !May(text) {
			t.Errorf("%q: May is false", text)
		}
	})
}
