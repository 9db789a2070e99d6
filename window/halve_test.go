package window

import (
	"context"
	"testing"

	"github.com/oriel-context/oriel/chat"
)

// SPEC B2: floor((n−1)·fraction), rounded down to even, right after the first.
func TestHalveRemovesAnEvenNumberAfterTheFirst(t *testing.T) {
	for _, c := range []struct {
		n        int
		fraction float64
		want     []int
	}{
		{7, 0.5, []int{1, 2}}, {5, 0.5, []int{1, 2}}, {7, 0.3, nil}, {2, 0.5, nil}, {12, 0.5, []int{1, 2, 3, 4}},
		{9, 0.5, []int{1, 2, 3, 4}}, {1, 1, nil},
	} {
		var msgs []chat.Message
		for i := range c.n {
			role := chat.User
			if i%2 == 1 {
				role = chat.Assistant
			}
			msgs = append(msgs,
				chat.Message{Role: role, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote("words")}}})
		}
		h := counted(msgs, chat.Rules{}, make([]int, c.n), 0, wordCount)
		d, err := decideCounted(context.Background(), h, Options{Policy: "halve", Budget: 1 << 30, Low: 1 << 30,
			Mode: Hard, Fraction: c.fraction}, Trigger{Over: true})
		if err != nil {
			t.Fatal(err)
		}
		var gone []int
		for i, shown := range d.shown {
			if !shown {
				gone = append(gone, i)
			}
		}
		if len(gone) != len(c.want) {
			t.Errorf("%d messages, %g: removed %v, want %v", c.n, c.fraction, gone, c.want)
			continue
		}
		for i := range gone {
			if gone[i] != c.want[i] {
				t.Errorf("%d messages, %g: removed %v, want %v", c.n, c.fraction, gone, c.want)
			}
		}
	}
}
