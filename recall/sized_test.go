package recall

import (
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
