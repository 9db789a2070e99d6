package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSpeakersOfATalkAreReadFromItsTexts(t *testing.T) {
	for text, want := range map[string]string{
		"Ann: Hello": "Ann", "[1:56 pm on 8 May, 2023] Ann Lee: Hello": "Ann Lee",
		"(2023-05-08 13:56) Óscar: Hola": "Óscar",
		"ann: hello":                     "", "User: hello": "", "http://x": "", "Note:nothing": "", "12:30: lunch": "",
	} {
		if got := speakerOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDatesBeforeSpeakersAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"[1:56 pm on 8 May, 2023] Ann: Hello":                       "2023-05-08",
		"(2023-05-08 13:56) Ann: Hello":                             "2023-05-08",
		"[Monday, May 8th, 2023] Ann: Hello":                        "2023-05-08",
		"Ann: Bye!\n[9:55 am on 22 October, 2023] Ann: Hello again": "2023-10-22",
		"[8 May 2023] a line of a log":                              "",
		"[08/05/2023] Ann: whose day comes first?":                  "",
		"[2024-05-01 10:00:00] INFO started":                        "",
		"Ann: on [8 May 2023] we met":                               "",
	} {
		got := ""
		if at := toldTime(text); !at.IsZero() {
			got = at.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// talkOf returns a scope of a talk between two people. The user is Ann, and the texts name
// the speakers if named is set.
func talkOf(t *testing.T, named bool) *Scope {
	t.Helper()
	s := NewScope(Options{})
	now := time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)
	said := func(i int, role, name, date, text string) Message {
		if named {
			text = date + name + ": " + text
		}
		return Message{Conversation: "c", Block: fmt.Sprint(i), Ref: fmt.Sprint(i),
			Time: now.Add(time.Duration(i) * time.Second), Role: role, Text: text}
	}
	var all []Message
	for i := range 20 {
		date := ""
		if i%10 == 0 {
			date = []string{"[1:56 pm on 8 May, 2023] ", "[9:55 am on 22 October, 2023] "}[i/10]
		}
		all = append(all,
			said(2*i, "user", "Ann", date, fmt.Sprintf("Did the day number %d go well for you over there?", i)),
			said(2*i+1, "assistant", "Bea", "", fmt.Sprintf("The day number %d went well for me, thank you for asking.",
				i)))
	}
	all = slices.Insert(all, 10,
		said(40, "user", "Ann", "", "The kiln in the cellar is mine since spring, and the shelf."),
		said(41, "assistant", "Bea", "", "The kiln in the cellar is new, I bought the wheel."))
	if err := s.Add(context.Background(), all); err != nil {
		t.Fatal(err)
	}
	return s
}

// SPEC D2: what either speaker said is found.
func TestNeitherSpeakerOfATalkHidesTheOther(t *testing.T) {
	s := talkOf(t, true)
	for query, want := range map[string]string{"What did Bea say about the kiln in the cellar?": "41",
		"What did Ann say about the kiln in the cellar?": "40"} {
		r, err := s.Recall(t.Context(), query, RecallOptions{Top: 1})
		if err != nil || len(r.Passages) != 1 || r.Passages[0].Block != want {
			t.Errorf("%s: %+v, %v", query, r, err)
		}
	}
	if got := s.lengths.userShare("Which kiln is new?"); got != leastUser {
		t.Errorf("the prior for the user's words is %v of its whole", got)
	}
	if got := s.lengths.userShare("Which kiln did I buy?"); got != 1 {
		t.Errorf("for the asker's own words the prior is %v of its whole", got)
	}
}

// The dates that a talk tells head its passages, not the times at which they were recorded.
func TestTextsOfATalkTellTheirDates(t *testing.T) {
	s := talkOf(t, true)
	r, err := s.Recall(t.Context(), "How was the day number 3 in May?", RecallOptions{Top: 1})
	if err != nil || !strings.HasPrefix(r.Text, "8 May 2023:\n") {
		t.Errorf("%v, %v", r, err)
	}
	if r, err = talkOf(t, false).Recall(t.Context(), "How was the day number 3?", RecallOptions{Top: 1}); err != nil ||
		!strings.HasPrefix(r.Text, "18 November 2026:\n") {
		t.Errorf("%v, %v", r, err)
	}
}

// A label that few messages begin with is not a speaker.
func TestLabelsAreNotSpeakers(t *testing.T) {
	s := NewScope(Options{})
	for i := range 30 {
		text := fmt.Sprintf("the build number %d has failed again", i)
		if i%10 == 0 {
			text = "Note: " + text
		}
		if err := s.Add(t.Context(),
			[]Message{{Conversation: "c", Block: fmt.Sprint(i), Role: "user", Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.people.names) > 0 {
		t.Errorf("speakers: %q", s.people.names)
	}
}

// An assistant that explains at length leaves the facts to the user.
func TestUsersTellTheFactsToAnAssistantThatExplains(t *testing.T) {
	var l lengths
	l.add(&Message{Role: "user", Text: "a short remark"})
	l.add(&Message{Role: "assistant", Text: strings.Repeat("an explanation ", 30)})
	if got := l.userShare("Which one is it?"); got != 1 {
		t.Errorf("the prior for the user's words is %v of its whole", got)
	}
}

// A name that is found between scoring and packing changes nothing of what was scored.
func TestANameFoundAfterTheScoresIsHarmless(t *testing.T) {
	s := NewScope(Options{})
	add := func(i int) {
		if err := s.Add(t.Context(),
			[]Message{{Conversation: "c", Block: fmt.Sprint(i), Role: "user",
				Text: fmt.Sprintf("%s: the kiln number %d is warm", []string{"Ann", "Bob"}[i%2], i)}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		add(i)
	}
	r, err := s.Rank(t.Context(), "Which kiln is warm?", RecallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	add(5)
	if len(s.people.names) == 0 {
		t.Fatal("no name was found: the test shows nothing")
	}
	if got := r.Pack(RecallOptions{}); len(got.Passages) != 5 {
		t.Errorf("%d passages", len(got.Passages))
	}
}

// An opener without a name does not keep the first date of a talk from being read.
func TestATalkAfterAnOpenerTellsItsDates(t *testing.T) {
	s := NewScope(Options{})
	now := time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)
	for i, text := range []string{"(beginning of the talk)", "[8 May 2023] Ann: the kiln is warm",
		"Bea: the kiln in the cellar?", "Ann: yes, the kiln in the cellar"} {
		if err := s.Add(t.Context(),
			[]Message{{Conversation: "c", Block: fmt.Sprint(i), Time: now, Role: []string{"user", "assistant"}[i%2],
				Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.Recall(t.Context(), "Is the kiln in the cellar warm?", RecallOptions{}); err != nil ||
		!strings.Contains(r.Text, "8 May 2023:") {
		t.Errorf("%v, %v", r, err)
	}
}

// A page that somebody pastes does not date the conversation.
func TestPastedPagesTellNoDates(t *testing.T) {
	s := NewScope(Options{})
	now := time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)
	for i := range 40 {
		text := fmt.Sprintf("the kiln number %d is warm", i)
		if i == 5 {
			text = "[1 January 1999] Admin: the kiln is cold"
		}
		if err := s.Add(t.Context(),
			[]Message{{Conversation: "c", Block: fmt.Sprint(i), Time: now.Add(time.Duration(i) * time.Minute),
				Role: "user", Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.Recall(t.Context(), "Which kiln is warm?", RecallOptions{}); err != nil ||
		strings.Contains(r.Text, "1999:") || !strings.Contains(r.Text, "18 November 2026:") {
		t.Errorf("%v, %v", r, err)
	}
}

// A label such as "Note:" at the beginning of a line is not the name of a speaker: the
// instructions of the user before it still hold.
func TestLabelsDoNotEndInstructions(t *testing.T) {
	s := NewScope(Options{})
	said := []string{"Please port the parser. Always use tabs for indentation. Never touch the vendor folder."}
	for i := range 6 {
		said = append(said, fmt.Sprintf("Answer: function %d is ported", i),
			fmt.Sprintf("Question: what about function %d?", i+1))
	}
	for i, text := range said {
		if err := s.Add(t.Context(),
			[]Message{{Conversation: "c", Block: fmt.Sprint(i), Role: []string{"user", "assistant"}[i%2],
				Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.instructions) == 0 || s.flags[s.instructions[0]]&flagInstruction == 0 || len(s.people.names) > 0 {
		t.Errorf("instructions %v, people %q", s.instructions, s.people.names)
	}
}

// Recalled lines of a talk begin with the speaker's name, once.
func TestRecalledLinesNameTheirSpeakersOnce(t *testing.T) {
	const query = "What did Ann and Bea say about the kiln in the cellar?"
	r := find(t, talkOf(t, true), query, RecallOptions{Directives: -1})
	if !strings.Contains(r.Text, "\nAnn> The kiln") || !strings.Contains(r.Text, "\nBea> The kiln") {
		t.Fatalf("no names before the marks:\n%s", r.Text)
	}
	for line := range strings.Lines(r.Text) {
		if strings.Contains(line, "> Ann: ") || strings.Contains(line, "> Bea: ") || strings.HasPrefix(line, "user>") {
			t.Errorf("a speaker is named twice: %s", line)
		}
	}
	// A reply in the user's name is not the user's.
	s := talkOf(t, true)
	if err := s.Add(t.Context(),
		[]Message{{Conversation: "c", Block: "60", Ref: "60", Role: "assistant",
			Text: "Ann: The kiln in the cellar is broken."}}); err != nil {
		t.Fatal(err)
	}
	if r := find(t, s, query, RecallOptions{Directives: -1}); !strings.Contains(r.Text, "assistant> Ann: The kiln") ||
		strings.Contains(r.Text, "Ann> ") {
		t.Errorf("a reply in the user's name:\n%s", r.Text)
	}
	// A text that names nobody in most of its talk keeps the role.
	if r := find(t, talkOf(t, false), query, RecallOptions{Directives: -1}); !strings.Contains(r.Text,
		"\nuser> The kiln") {
		t.Errorf("no role:\n%s", r.Text)
	}
}
