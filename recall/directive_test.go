package recall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirectivesAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"Always answer in French.":                            "instruction",
		"Please never use emojis":                             "instruction",
		"From now on, keep it short.":                         "instruction",
		"Going forward, cite your sources.":                   "instruction",
		"Whenever I ask about prices, convert them to euros.": "instruction",
		"You should always run the tests first.":              "instruction",
		"Make sure to always quote the line.":                 "instruction",
		"Don't ever push to main.":                            "instruction",
		"Don\u2019t ever push to main.":                       "instruction",
		"Remember that the server runs on port 8780.":         "instruction",
		"I want you to only use the standard library.":        "instruction",
		"Only use tabs for indentation if the file has them.": "instruction",
		"Call me Kit.":                       "instruction",
		"Please call me Captain from now on": "instruction",
		"I prefer dark mode.":                "preference",
		"I'd rather walk.":                   "preference",
		"I'm allergic to peanuts.":           "preference",
		"I hate it when builds are slow.":    "preference",
		"My preference is a small font.":     "preference",
		"She always answers in French.":      "",
		"It has never worked on my machine.": "",
		"Can you call me a taxi?":            "",
		"What do you remember?":              "",
		"Here is code:\n```\n// never call this\nAlways true\n```\nIt is done.": "",
		"The note was on the table.": "",
		"":                           "",
	} {
		got := ""
		for _, d := range Detect(text) {
			got += string(d.Kind)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestOnlyTheSentenceIsTaken(t *testing.T) {
	got := Detect("The build is red again. Always run the linter first! Thanks. I prefer tabs.")
	want := []Said{{Instruction, "Always run the linter first!"}, {Preference, "I prefer tabs."}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInstructionsGoBeforeAllElse(t *testing.T) {
	lines := "user: Always answer in French.\nassistant: Bien sûr, comme vous voulez, avec plaisir.\n" +
		strings.Repeat("user: the harbour of Trieste is deep and old and busy\n", 60) +
		"user: From now on, answer in German."
	s := scopeOf(t, Options{}, talk(lines))
	r := find(t, s, "how deep is the harbour of Trieste?", RecallOptions{Budget: 240, Directives: 30})
	if got := blocks(r); !strings.HasPrefix(got, "1 ") || !strings.HasSuffix(got, " 63") {
		t.Errorf("found %s", got)
	}
	if r = find(t, s, "how deep is the harbour of Trieste?", RecallOptions{Budget: 240, Directives: -1}); strings.Contains(r.Text, "French") {
		t.Error("an instruction without being asked for")
	}
	s.Dismiss("1")
	if r = find(t, s, "how deep is the harbour of Trieste?", RecallOptions{Budget: 240, Directives: 30}); strings.Contains(r.Text, "French") || !strings.Contains(r.Text, "German") {
		t.Errorf("after Dismiss: %s", r.Text)
	}
	if d := s.Directives(); len(d) != 1 || d[0].Block != "63" || d[0].Text != "From now on, answer in German." {
		t.Errorf("directives %v", d)
	}
}

func TestAssistantsGiveNoDirectives(t *testing.T) {
	s := scopeOf(t, Options{}, talk("assistant: Always use a mutex here.\nuser: Never use globals."))
	if d := s.Directives(); len(d) != 1 || d[0].Block != "2" {
		t.Errorf("directives %v", d)
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("Always do. ```never``` I prefer it.")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range Detect(text) {
			if len(d.Text) < 6 || len(d.Text) > 700 {
				t.Errorf("a sentence of %d bytes", len(d.Text))
			}
		}
	})
}
