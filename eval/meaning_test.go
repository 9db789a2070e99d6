package eval

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/embed/minilm"
)

// What is said in other words is found by default, and what has nothing to do with a
// conversation brings little. The figures of the set move by three points with every
// question; the bounds leave room for two.
//
// SPEC D2
func TestMeaningIsFoundInOtherWords(t *testing.T) {
	model, err := minilm.Open(minilm.Options{})
	if err != nil {
		t.Skip(err) // built without the model
	}
	defer model.Close()
	set, err := Load(t.Context(), "generic", []string{"testdata/meaning"})
	if err != nil {
		t.Fatal(err)
	}
	var details bytes.Buffer
	report, err := Run(t.Context(), set, Options{Budgets: []int{512, 2048}, Policies: []string{"hybrid"}, Model: model, Details: &details})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		least := map[string]float64{"question 512": 70, "statement 512": 35, "statement 2048": 55}
		kind, _, _ := strings.Cut(row.Kind, ",")
		key := kind + map[int]string{512: " 512", 2048: " 2048"}[row.Budget]
		if row.Recall < least[key] {
			t.Errorf("%s at %d: %.1f, want %.1f at least", row.Kind, row.Budget, row.Recall, least[key])
		}
	}
	brings, tokens, n := 0, 0, 0
	for lines := json.NewDecoder(&details); lines.More(); {
		var d Detail
		if err := lines.Decode(&d); err != nil {
			t.Fatal(err)
		}
		switch kind, _, _ := strings.Cut(d.Kind, ","); {
		case d.Budget != 2048:
		case kind == "unrelated question":
			n++
			if d.Tokens > 0 {
				brings++
			}
		case kind == "unrelated statement":
			tokens += d.Tokens
		}
	}
	if n != 64 || brings > n/6 {
		t.Errorf("%d of %d unrelated questions bring something", brings, n)
	}
	if tokens/n > 400 {
		t.Errorf("unrelated statements bring %d tokens each", tokens/n)
	}
}
