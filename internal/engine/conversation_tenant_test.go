package engine

import (
	"slices"
	"testing"

	"github.com/oriel-context/oriel/recall"
)

// An engine serves the conversations of all tenants; the same id is another conversation for
// another tenant.
func TestConversationsOfTenantsAreApart(t *testing.T) {
	ctx := t.Context()
	e, err := Open(ctx, Config{NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	own, err := e.Conversation(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	other, err := e.ForTenant("ann").Conversation(ctx, "c")
	if err != nil || other == own {
		t.Fatalf("%v, the same: %v", err, other == own)
	}
	if again, err := e.ForTenant("ann").Conversation(ctx, "c"); err != nil || again != other {
		t.Errorf("%v, another: %v", err, again != other)
	}
	for c, text := range map[*Conversation]string{own: "the port of ours is 1", other: "the port of Ann is 2"} {
		id, _, err := c.Add(ctx, Item{Content: text, Source: "user"})
		if err != nil || id != 1 {
			t.Fatalf("%d, %v", id, err)
		}
		if err := c.Pin(ctx, 1); err != nil {
			t.Fatal(err)
		}
	}
	for c, text := range map[*Conversation]string{own: "the port of ours is 1", other: "the port of Ann is 2"} {
		items, err := c.Items(ctx, 0)
		if err != nil || len(items) != 1 || items[0].Content != text || !slices.Contains(items[0].Flags, "starred") {
			t.Errorf("%v, %v", items, err)
		}
		hits, err := c.Recall(ctx, "port", RecallOptions{Floor: -1, Reach: recall.ReachUser})
		if err != nil || len(hits.Passages) != 1 || hits.Passages[0].Text != text {
			t.Errorf("%v, %v", hits, err)
		}
	}
	if names, err := e.Conversations(ctx); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := e.Delete(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if items, err := other.Items(ctx, 0); err != nil || len(items) != 1 {
		t.Errorf("after the other was deleted: %v, %v", items, err)
	}
}
