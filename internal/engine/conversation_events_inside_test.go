package engine

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
)

// SPEC B7: whatever happens to a conversation of items, its events have the time, the
// conversation and the policy; those of what left have their plan, those of recalls what was
// recalled, and nobody tells of a condensation where no model was asked.
func TestEventsOfAnyConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []event.Event
		policy := rapid.SampledFrom([]string{"fifo", "relevance"}).Draw(t, "policy")
		e, err := Open(t.Context(), Config{
			MaxTokens: 60, MaxItems: 8, Policy: policy, Adaptive: rapid.Bool().Draw(t, "adaptive"), NoEmbed: true,
			Count:  countFields,
			Events: func(e event.Event) { events = append(events, e) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		c, err := e.Conversation(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		added, left := 0, 0
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			var err error
			switch rapid.SampledFrom([]string{"add", "add", "add", "view", "recall", "pin", "unpin", "undo", "resize",
				"clear"}).Draw(t, "do") {
			case "add":
				var evicted []Item
				content := rapid.SampledFrom([]string{portSaid, "The novel goes on.",
					"Error: it failed.\n```\nx\n```\nWhy?", words(30)}).Draw(t, "content")
				_, evicted, err = c.Add(t.Context(),
					Item{Source: items.SourceUser, Content: fmt.Sprint(content, added)})
				added++
				left += len(evicted)
			case "view":
				_, err = c.Context(t.Context(), portAsked, ContextOptions{})
			case "recall":
				_, err = c.Recall(t.Context(), portAsked, RecallOptions{})
			case "pin":
				err = c.Pin(t.Context(), int64(rapid.IntRange(1, max(1, added)).Draw(t, "id")))
			case "unpin":
				err = c.Unpin(t.Context(), int64(rapid.IntRange(1, max(1, added)).Draw(t, "id")))
			case "undo":
				err = c.Undo(t.Context(), "")
			case "resize":
				_, err = c.Resize(t.Context(), rapid.IntRange(0, 120).Draw(t, "size"))
			case "clear":
				err = c.Clear(t.Context())
			}
			if err != nil && !errors.Is(err, fault.ErrCannotFit) && !errors.Is(err, fault.ErrNoItem) &&
				!errors.Is(err, fault.ErrNoPlan) {
				t.Fatal(err)
			}
		}
		cut := 0
		for _, e := range events {
			if e.Time.IsZero() || e.Conversation != "c" || e.Policy != policy {
				t.Fatalf("%+v", e)
			}
			switch e.Kind {
			case event.Cut, event.Undo:
				cut += e.Items
				if e.Plan == "" || e.Items == 0 || e.TokensBefore == 0 && e.TokensAfter == 0 {
					t.Fatalf("%+v", e)
				}
			case event.Recall:
				if (e.Recalled > 0) != (e.Items > 0) || e.Error != "" {
					t.Fatalf("%+v", e)
				}
			case event.Resize:
				if e.TokensBefore == e.TokensAfter || e.TokensAfter == 0 {
					t.Fatalf("%+v", e)
				}
			case event.Pin:
			default:
				t.Fatalf("%+v", e)
			}
		}
		if cut < left {
			t.Fatalf("%d items left, %d are told", left, cut)
		}
	})
}

// SPEC E5: for any conversation, pins and plan, what WouldUndo says is what Undo does: all of
// the plan comes back, nothing that is pinned, held or newest leaves, what leaves is unpinned
// and none of it has room in the end.
func TestUndoOfAnyConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, err := Open(t.Context(), Config{
			MaxTokens: 100, MaxItems: rapid.IntRange(1, 20).Draw(t, "items"), NoEmbed: true, NoAutoFlags: true,
			Count:  countFields,
			Policy: rapid.SampledFrom([]string{"fifo", "relevance"}).Draw(t, "policy"),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		c, err := e.Conversation(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		size := map[int64]int{}
		for range rapid.IntRange(2, 40).Draw(t, "n") {
			n := rapid.IntRange(1, 70).Draw(t, "size")
			id, _, err := c.Add(t.Context(), Item{Content: words(n)})
			if err != nil {
				t.Fatal(err)
			}
			size[id] = n
			if rapid.IntRange(0, 5).Draw(t, "pin") == 0 {
				if err := c.Pin(t.Context(), int64(rapid.IntRange(1, int(id)).Draw(t, "pinned"))); err != nil &&
					!errors.Is(err, fault.ErrCannotFit) {
					t.Fatal(err)
				}
			}
		}
		plans, err := c.Plans(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if len(plans) == 0 {
				return
			}
			plan := rapid.SampledFrom(plans).Draw(t, "plan")
			before, err := c.Items(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			would, refused := c.WouldUndo(t.Context(), plan.Undo)
			if err := c.Undo(t.Context(), plan.Undo); fmt.Sprint(err) != fmt.Sprint(refused) {
				t.Fatalf("WouldUndo: %v, Undo: %v", refused, err)
			}
			after, err := c.Items(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			shown, was := map[int64]bool{}, map[int64]Item{}
			for _, it := range after {
				shown[it.ID] = true
			}
			gone := []int64{}
			for _, it := range before {
				was[it.ID] = it
				if !shown[it.ID] {
					gone = append(gone, it.ID)
				}
			}
			if refused != nil {
				if len(gone) > 0 || len(after) != len(before) {
					t.Fatalf("%v, and the window changed", refused)
				}
				continue
			}
			if fmt.Sprint(gone) != fmt.Sprint(append([]int64{}, would.Leaves...)) {
				t.Fatalf("%v left, said were %v", gone, would.Leaves)
			}
			for _, b := range plan.Blocks {
				if !shown[int64(b.Index)] {
					t.Fatalf("item %d of plan %s is not back", b.Index, plan.Undo)
				}
			}
			s, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range gone {
				it := was[id]
				if it.Pinned() || id == before[len(before)-1].ID {
					t.Fatalf("item %d left: %+v", id, it)
				}
				if s.Tokens+size[id] <= s.MaxTokens && s.Items < s.MaxItems {
					t.Fatalf("item %d of %d tokens left, though %d of %d are in use", id, size[id], s.Tokens,
						s.MaxTokens)
				}
			}
		}
	})
}
