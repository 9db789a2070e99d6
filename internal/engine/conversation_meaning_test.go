package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// SPEC A3: without vectors of the caller, what the newest query is about stays.
func TestRelevanceUsesMeaning(t *testing.T) {
	if !hasModel {
		t.Skip("built without the model")
	}
	items := []Item{
		{Content: "Felines rest for about fifteen hours a day.", Source: "user"},
		{Content: "The invoice was paid on the third of May.", Source: "user"},
		{Content: "Our server room is cooled by two units.", Source: "user"},
	}
	for off, want := range map[bool][]int64{false: {2}, true: {1}} {
		e, err := Open(t.Context(), Config{MaxItems: 3, NoEmbedItems: off, Now: func() time.Time { return noon }})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		c, err := e.Conversation(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		add(t, c, items...)
		if err := e.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Context(t.Context(), "How long do cats sleep?", ContextOptions{}); err != nil {
			t.Fatal(err)
		}
		left := add(t, c, Item{Content: "Thanks.", Source: "user"})
		if off && !cmp.Equal(left, want) || !off && (len(left) != 1 || slices.Contains(left, 1)) {
			t.Errorf("switched off %v: %v left", off, left)
		}
	}
}

// stuck never answers before it is given up.
type stuck struct{ asked chan struct{} }

func (s stuck) Name() string { return "stuck" }

func (s stuck) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return nil, errors.New("given up")
}

// SPEC A3: an eviction never waits for a vector, and neither does the end.
func TestEvictionsDoNotWaitForVectors(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := stuck{make(chan struct{}, 1)}
	c := open(t, Config{MaxItems: 2, Embed: s})
	for range 20 {
		add(t, c, Item{Content: "An item that a model never embeds.", Source: "user"})
	}
	<-s.asked
	if err := c.engine.Close(); err != nil {
		t.Fatal(err)
	}
}
