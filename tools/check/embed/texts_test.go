package embed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTurnsAndQuestionsOfLoCoMoComeByConversation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talks.json")
	const talks = `[
		{"conversation": {"speaker_a": "Ann", "session_1": [{"speaker": "Ann", "text": "Hi"}, {"speaker": "Bo", "text": "Hi"}],
			"session_2": [{"speaker": "Ann", "text": "Hi"}, {"speaker": "Ann", "text": "Bye"}]}, "qa": [{"question": "Who left?"}]},
		{"conversation": {"session_1": [{"speaker": "Cy", "text": "Rain"}]}}]`
	if err := os.WriteFile(file, []byte(talks), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := collect([]string{file}, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []text{
		{"Ann: Hi", turn, 1}, {"Bo: Hi", turn, 1}, {"Ann: Bye", turn, 1}, {"Who left?", question, 1},
		{"Cy: Rain", turn, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASampleTakesAsMuchOfEveryKindAndLengthAsItCan(t *testing.T) {
	var all []text
	for i := range 100 {
		all = append(all, text{Text: strings.Repeat("a", 32+i%32), Kind: "common"})
	}
	all = append(all, text{Text: "a", Kind: "common"}, text{Text: "b", Kind: "rare"})
	got := sample(all, 10, 1)
	count := map[string]int{}
	for _, s := range got {
		count[s.Kind]++
	}
	if want := map[string]int{"common": 9, "rare": 1}; !cmp.Equal(want, count) {
		t.Errorf("got %v, want %v", count, want)
	}
	if !cmp.Equal(got, sample(all, 10, 1)) {
		t.Error("the same seed gave another sample")
	}
}

func TestOverlapCountsTheNearestTurnsOfTheSameConversation(t *testing.T) {
	var j judgement
	var a, b [][]float32
	for i := range 24 {
		j.texts = append(j.texts, text{Kind: turn, Group: 1 + i/12})
		v := make([]float32, width)
		v[0], v[1] = 1, float32(i)
		a = append(a, v)
		b = append(b, v)
	}
	if got, n := j.overlap(turn, a, b); got != 1 || n != 24 {
		t.Errorf("the same vectors overlap by %v in %d queries", got, n)
	}
	// Of eleven others ten are the nearest; the farthest takes the place of one.
	far := make([]float32, width)
	far[0], far[1] = 1, 1000
	b[0] = far
	if got, _ := j.overlap(turn, a, b); got >= 1 || got < 0.9 {
		t.Errorf("with one vector moved the overlap is %v", got)
	}
}
