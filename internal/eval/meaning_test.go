package eval

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/embed/minilm"
)

// What is said in other words is found by default, and what has nothing to do with a
// conversation brings back little or nothing.
//
// SPEC D2
func TestMeaningIsFoundInOtherWords(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	model, err := minilm.Open(minilm.Options{})
	if err != nil {
		t.Skip(err) // built without the model
	}
	defer model.Close()
	type part struct {
		name string
		each int // queries of each kind
		// asked is how many questions must find their remark: 80 % unless docs/reference/retrieval.md
		// says why not.
		asked int
		// foreign and long are how many unrelated questions may bring something, and
		// how many unrelated statements more than 512 tokens.
		foreign, long int
	}
	for folder, parts := range map[string][]part{
		"meaning": {{"tune", 32, 26, 3, 0}, {"held", 32, 26, 3, 0}},
		"third":   {{"third", 48, 39, 5, 0}},
		"fourth":  {{"fourth", 48, 33, 4, 0}},
	} {
		set, err := Load(t.Context(), "generic", []string{"testdata/" + folder})
		if err != nil {
			t.Fatal(err)
		}
		var details bytes.Buffer
		if _, err := Run(t.Context(), set, Options{Budgets: []int{512, 2048}, Policies: []string{"hybrid"},
			Model: model, Details: &details}); err != nil {
			t.Fatal(err)
		}
		// asked counts the questions of each kind, counted those of them that the kind counts.
		asked, counted := map[string]int{}, map[string]int{}
		for lines := json.NewDecoder(&details); lines.More(); {
			var d Detail
			if err := lines.Decode(&d); err != nil {
				t.Fatal(err)
			}
			kind, _, _ := strings.Cut(d.Kind, ",")
			if budget := map[bool]int{true: 512, false: 2048}[kind == "question"]; d.Budget != budget {
				continue
			}
			asked[d.Kind]++
			if kind == "unrelated question" && d.Tokens > 0 || kind == "unrelated statement" && d.Tokens > 512 ||
				d.found() {
				counted[d.Kind]++
			}
		}
		for _, p := range parts {
			kind := func(name string) string { return name + ", " + p.name }
			for _, name := range []string{"question", "statement", "unrelated question", "unrelated statement"} {
				if n := asked[kind(name)]; n != p.each {
					t.Fatalf("%d queries of the kind %q", n, kind(name))
				}
			}
			if n := counted[kind("question")]; n < p.asked {
				t.Errorf("%s: %d of %d questions find their remark in 512 tokens", p.name, n, p.each)
			}
			if n := counted[kind("statement")]; 100*n < 45*p.each {
				t.Errorf("%s: %d of %d statements find their remark in 2,048 tokens", p.name, n, p.each)
			}
			if n := counted[kind("unrelated question")]; n > p.foreign {
				t.Errorf("%s: %d of %d unrelated questions bring something", p.name, n, p.each)
			}
			if n := counted[kind("unrelated statement")]; n > p.long {
				t.Errorf("%s: %d of %d unrelated statements bring more than 512 tokens", p.name, n, p.each)
			}
		}
		t.Logf("%s: %v", folder, counted)
	}
}

// found reports whether the one message that a query needs was found.
func (d *Detail) found() bool {
	return len(d.Evidence) == 1 && slices.Contains(d.Included, d.Evidence[0])
}
