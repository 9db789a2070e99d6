package recall

import (
	"fmt"
	"strings"
	"testing"
)

// A directive that was dismissed is worth what its words are worth, and no more.
func TestADismissedDirectiveLosesItsPrior(t *testing.T) {
	lines := "user: Always paint the harbour of Trieste blue.\nuser: The harbour of Trieste was painted blue by old sailors.\n"
	for i := range 30 {
		lines += fmt.Sprintf("user: the weather was dull on day %d and nobody went out\n", i)
	}
	s := scopeOf(t, Options{}, talk(lines))
	const query = "which old sailors painted the harbour of Trieste blue?"
	score := func(o RecallOptions) (directive, other float64) {
		o.Floor, o.Directives = -1, -1
		for _, p := range find(t, s, query, o).Passages {
			switch p.Block {
			case "1":
				directive = p.Score
			case "2":
				other = p.Score
			}
		}
		return directive, other
	}
	directive, other := score(RecallOptions{})
	without, same := score(RecallOptions{Dismissed: func(block string) bool { return block == "1" }})
	// Scores are relative to the best, which the directive is.
	if directive <= other || same < other+.03 {
		t.Errorf("the score is %.3f and %.3f once it is dismissed; the other %.3f and %.3f", directive, without, other,
			same)
	}
}

// SPEC D2: what is below the floor is not shown, though the budget has room for it, and
// all that is not is.
func TestWhatIsBelowTheFloorIsNotShown(t *testing.T) {
	var lines strings.Builder
	lines.WriteString(
		"user: The zebra enclosure has the number seventeen.\nuser: Zebra crossings were painted in the old town.\n")
	for i := range 40 {
		fmt.Fprintf(&lines, "user: note %d is about the weather, the garden and the number of rainy days\n", i)
	}
	s := scopeOf(t, Options{}, talk(lines.String()))
	hidden := 0
	for _, query := range []string{
		"Which number does the zebra enclosure have?", "Which zebra was painted by whom, where, when and how often?",
		"What have tigers, lions, zebra and giraffes eaten since April?",
		"Does the town have bridges, churches, theatres, museums or zebra?",
	} {
		shown := map[string]bool{}
		for _, p := range find(t, s, query, RecallOptions{Budget: 1 << 20}).Passages {
			shown[p.Block] = true
		}
		for _, p := range find(t, s, query, RecallOptions{Budget: 1 << 20, Floor: -1}).Passages {
			if shown[p.Block] != (p.Score >= DefaultFloor) {
				t.Errorf("%s: block %s has %.3f, and shown is %t", query, p.Block, p.Score, shown[p.Block])
			}
			if p.Score >= .03 && p.Score < DefaultFloor {
				hidden++
			}
		}
	}
	if hidden == 0 {
		t.Error("nothing is near below the floor: the test tells nothing")
	}
}

// What is known of a passage before its words adds up.
func TestPriorsAddUp(t *testing.T) {
	p := prior{user: 1, tool: 2, instruction: 4, speaker: []float32{8}}
	for _, c := range []struct {
		speaker int32
		flags   uint8
		want    float32
	}{{-1, 0, 0}, {-1, flagUser, 1}, {-1, flagTool, 2}, {-1, flagUser | flagTool, 3}, {0, flagUser | flagTool, 10},
		{-1, flagUser | flagInstruction, 5}} {
		if got := p.of(c.speaker, &message{}, c.flags); got != c.want {
			t.Errorf("speaker %d, flags %b: %v, want %v", c.speaker, c.flags, got, c.want)
		}
	}
}
