//go:build !oriel_nomodel

package recall

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

func TestARestartEmbedsNothingWithTheModelInTheProgram(t *testing.T) {
	dir := t.TempDir()
	model, err := minilm.Open(minilm.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	w := Where{Tenant: timeline.Local, Conversation: "c"}
	var results []*Result
	var made []int64
	var vectors [][]string
	for i := range 2 {
		store := openSQLite(t, dir, sqlite.Options{})
		if i == 0 {
			say(t, store, "c", holidayTexts[:4]...)
		}
		l := library(t, store, LibraryOptions{Model: model})
		results, made, vectors = append(results, settled(t, l, w, "Which instrument?")), append(made, l.Stats().Made),
			append(vectors, vectorsOf(l))
	}
	if diff := cmp.Diff(results[0], results[1], sameResult); diff != "" || made[0] != 4 || made[1] != 0 ||
		!cmp.Equal(vectors[0], vectors[1]) {
		t.Errorf("made %v\n%s", made, diff)
	}
}
