package recall

import (
	"fmt"
	"strings"
	"testing"
)

// A sized search answers questions and orders. A remark in a talk asks for nothing, although
// the talk has something like it.
func TestASizedSearchShowsNothingForARemark(t *testing.T) {
	s := scopeOf(t, Options{Model: &bags{}}, talk(holiday))
	for query, want := range map[string]string{
		"Which instrument did I start learning with a teacher?":        "cello",
		"Tell me which instrument I started learning with the teacher": "cello",
		"We went to the mountains in Norway with the dogs again.":      "",
		"My sister is so happy with her new job in Lisbon.":            "",
	} {
		sized := find(t, s, query, RecallOptions{Sized: true, Directives: -1})
		if want == "" && sized.Text != "" || !strings.Contains(sized.Text, want) {
			t.Errorf("%q shows %q, want %q in it, and nothing for a remark", query, sized.Text, want)
		}
		if all := find(t, s, query, RecallOptions{Directives: -1}); all.Text == "" {
			t.Errorf("%q finds nothing in a search that is not sized", query)
		}
	}
}

// A sized search for a question that the window answers shows nothing, although hidden
// passages have some of its words.
func TestAQuestionThatTheWindowAnswersBringsNothing(t *testing.T) {
	lines := holiday + "Ann: My teacher at the school of drawing was ill.\nBen: Learning with her takes patience.\n"
	for i := range leadLeast {
		lines += fmt.Sprintf("Ann: Today I walked %d rounds around the pond and fed the ducks.\n", i)
	}
	s := scopeOf(t, Options{Model: &bags{}}, talk(lines))
	const query = "Which instrument did I start learning with a teacher?"
	answer := func(block string) bool { return block == "5" }
	other := func(block string) bool { return block == "8" }
	for name, c := range map[string]struct {
		o    RecallOptions
		want string
	}{
		"beside the answer":             {RecallOptions{Sized: true, Exclude: answer, Shown: answer}, ""},
		"beside something else":         {RecallOptions{Sized: true, Exclude: other, Shown: other}, "cello"},
		"beside what is not known":      {RecallOptions{Sized: true, Exclude: answer}, "teacher"},
		"beside the answer, by request": {RecallOptions{Exclude: answer, Shown: answer}, "teacher"},
	} {
		c.o.Directives = -1
		if r := find(t, s, query, c.o); c.want == "" && r.Text != "" || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %q, want %q in it", name, r.Text, c.want)
		}
	}
}

// A question that somebody has asked before is no answer to it, whatever stands beside it.
func TestAQuestionAskedBeforeAnswersNothing(t *testing.T) {
	const query = "Which instrument did I start learning with a teacher? Answer from what you know."
	for name, asked := range map[string]string{
		"the same words":      query,
		"with another form":   "Which instrument did I start learning with a teacher? Answer in one word, please.",
		"before a note of it": query + "\n<info-msg>\nIt is currently noon.\n</info-msg>",
	} {
		messages := append(talk(holiday+
			"Ann: My teacher at the school of drawing was ill.\nBen: Learning with her takes patience.\n"),
			Message{Conversation: "c", Block: "asked", Role: "user", Time: monday.AddDate(0, 0, 8), Text: asked},
			Message{Conversation: "c", Block: "replied", Role: "assistant", Time: monday.AddDate(0, 0, 8),
				Text: "You have said so before."})
		s := scopeOf(t, Options{Model: &bags{}}, messages)
		shown := func(block string) bool { return block == "asked" || block == "replied" }
		if r := find(t, s, query, RecallOptions{Sized: true, Exclude: shown, Shown: shown,
			Directives: -1}); !strings.Contains(r.Text, "cello") {
			t.Errorf("%s: %q", name, r.Text)
		}
	}
}
