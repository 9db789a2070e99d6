package oriel_test

import (
	"errors"
	"testing"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

func TestTenantsOfOneEngineShareNothingButItsStore(t *testing.T) {
	ctx := t.Context()
	e, err := oriel.Open(ctx, oriel.Config{NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ann, ben := e.ForTenant("ann"), e.ForTenant("ben")
	if ann != e.ForTenant("ann") || ann != ben.ForTenant("ann") || e.ForTenant(timeline.Local) != e || ann == ben {
		t.Fatal("a tenant has two engines, or two tenants share one")
	}
	c, err := ann.Conversation(ctx, "talk")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Add(ctx, oriel.Item{Content: "the port is 8443", Source: "user"}); err != nil {
		t.Fatal(err)
	}
	for _, other := range []*oriel.Engine{e, ben} {
		if ids, err := other.Conversations(ctx); err != nil || len(ids) > 0 {
			t.Errorf("another tenant sees %v, %v", ids, err)
		}
		if _, err := other.Recall(ctx, recall.Where{Tenant: "ann", Conversation: "talk"}, "port",
			recall.RecallOptions{}); !errors.Is(err, timeline.ErrNoConversation) {
			t.Errorf("another tenant searches: %v", err)
		}
	}
	found, err := ann.Recall(ctx, recall.Where{Conversation: "talk"}, "which port?", recall.RecallOptions{Floor: -1})
	if err != nil || len(found.Passages) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	e.Close()
	if _, err := ann.Conversation(ctx, "talk"); !errors.Is(err, oriel.ErrClosed) {
		t.Errorf("an engine of a closed one: %v", err)
	}
}
