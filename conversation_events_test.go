package oriel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oriel-context/oriel"
)

// SPEC B7: truncation, resize, pin and undo are told, with the time, the conversation, the
// plan and the tokens before and after.
func TestEveryChangeIsTold(t *testing.T) {
	ctx := context.Background()
	var kinds []string
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	e, err := oriel.Open(ctx, oriel.Config{MaxTokens: 10, Now: func() time.Time { return now },
		Count: func(s string) int { return len(strings.Fields(s)) }, Events: func(ev oriel.Event) {
			kinds = append(kinds, ev.Kind)
			if planned := ev.Kind == oriel.EventCut || ev.Kind == oriel.EventUndo; !ev.Time.Equal(now) ||
				planned != (ev.Plan != "") {
				t.Errorf("%+v", ev)
			}
			if ev.Conversation != "c" || ev.TokensBefore == 0 || ev.TokensAfter == 0 {
				t.Errorf("%+v", ev)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, err := e.Conversation(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, err := c.Add(ctx, oriel.Item{Source: "user", Content: "one two three four"}); err != nil {
			t.Fatal(err)
		}
	}
	plans, err := c.Plans(ctx, 1)
	if err != nil || len(plans) != 1 {
		t.Fatalf("%v, %v", plans, err)
	}
	for _, err := range []error{c.Pin(ctx, 3), c.Unpin(ctx, 3), c.Unpin(ctx, 3), c.Undo(ctx, plans[0].Undo)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Resize(ctx, 20); err != nil {
		t.Fatal(err)
	}
	want := []string{"truncation", "pin", "pin", "truncation", "undo", "resize"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
