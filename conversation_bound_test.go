package oriel

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// talk is message i of a long conversation.
func talk(i int) Item {
	return Item{
		Source:  []window.Source{"user", "assistant", "tool", "assistant"}[i%4],
		Content: fmt.Sprintf("Message %d: the build of module %d took %d seconds and wrote %d files to the cache.", i, i%97, i%13, i*7),
	}
}

// SPEC A2, A7: at most 8,000 tokens and 100 items at every one of 100,000 messages,
// and all of them can be read.
func TestBoundedOverAHundredThousandMessages(t *testing.T) {
	const messages = 100_000
	now := noon
	e, err := Open(t.Context(), Config{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Conversation(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	gone := 0
	for i := range messages {
		now = now.Add(time.Minute)
		_, evicted, err := c.Add(t.Context(), talk(i))
		if err != nil {
			t.Fatal(err)
		}
		gone += len(evicted)
		s, err := c.Status(t.Context())
		if err != nil || s.Tokens > 8000 || s.Items > 100 || s.Items+gone != i+1 {
			t.Fatalf("message %d: %+v, %d left: %v", i, s, gone, err)
		}
		if i%10_000 == 9999 {
			v, err := c.Context(t.Context(), "How long did it take?", ContextOptions{})
			if err != nil || v.Tokens > 8000 {
				t.Fatalf("message %d: a view of %d tokens: %v", i, v.Tokens, err)
			}
			accepted(t, v, "How long did it take?")
		}
	}
	check(t, c)
	for i := range messages {
		it, err := c.Item(t.Context(), int64(i+1))
		if err != nil || it.Content != talk(i).Content {
			t.Fatalf("message %d reads %q: %v", i, it.Content, err)
		}
	}
}

// SPEC D8: adding costs the same however long the history is.
func BenchmarkAdd(b *testing.B) {
	for _, store := range []string{"memory", "sqlite"} {
		for _, policy := range []string{"relevance", "fifo"} {
			for _, history := range []int{100, 100_000} {
				b.Run(fmt.Sprintf("%s/%s/history=%d", store, policy, history), func(b *testing.B) {
					c := long(b, store, Config{Policy: policy}, history)
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						if _, _, err := c.Add(b.Context(), talk(i)); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// long is a conversation with a history, as additions and their plans leave it.
func long(b *testing.B, store string, config Config, history int) *Conversation {
	b.Helper()
	if store == "sqlite" {
		config.Dir = b.TempDir()
	}
	c := open(b, config)
	b.Cleanup(func() { _ = c.engine.Close() })
	var at timeline.Place
	for i := 0; i < history; {
		change := timeline.Change{Conversation: "c", At: at, Now: noon}
		for range min(5000, history-i) {
			it := talk(i)
			it.Time, it.Tokens = noon, countFields(it.Content)
			m, err := message(&it)
			if err != nil {
				b.Fatal(err)
			}
			change.Messages = append(change.Messages, m)
			plan := c.engine.newPlan("fifo", 8000)
			plan.Blocks = append(plan.Blocks, window.Block{Index: i, Role: "user", Tokens: 20, Verdict: window.Evict, Reason: "the oldest when it came"})
			data, err := json.Marshal(plan)
			if err != nil {
				b.Fatal(err)
			}
			change.Put = append(change.Put, timeline.Record{Kind: kindPlan, Key: fmt.Sprint("old", i), Data: data})
			i++
		}
		applied, err := c.engine.store.Apply(b.Context(), timeline.Local, change)
		if err != nil {
			b.Fatal(err)
		}
		at = applied.Head
	}
	return c
}

// A view of a full window, counted as o200k_base does.
func BenchmarkContext(b *testing.B) {
	e, err := Open(b.Context(), Config{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := e.Conversation(b.Context(), "c")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		if _, _, err := c.Add(b.Context(), talk(i)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Context(b.Context(), "How long did it take?", ContextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
