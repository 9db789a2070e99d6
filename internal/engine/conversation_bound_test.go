package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// talk is message i of a long conversation.
func talk(i int) Item {
	return Item{
		Source: []items.Source{"user", "assistant", "tool", "assistant"}[i%4],
		Content: fmt.Sprintf("Message %d: the build of module %d took %d seconds and wrote %d files to the cache.", i,
			i%97, i%13, i*7),
	}
}

// manyMessages are fewer where the race detector makes each take ten times as long.
var manyMessages = 100_000

// SPEC A2, A7, D3: at most 8,000 tokens and 100 items at every one of 100,000
// messages, all of them can be read, and what one of them said at the beginning is in
// the view of a query that needs it.
func TestBoundedOverAHundredThousandMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for long, and nothing beside it")
	}
	messages := manyMessages
	now := noon
	e, err := Open(t.Context(), Config{Now: func() time.Time { return now }, NoEmbed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, err := e.Conversation(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	said := func(i int) Item {
		if i == 500 {
			return Item{Source: "user", Content: portSaid}
		}
		return talk(i)
	}
	gone := 0
	for i := range messages {
		now = now.Add(time.Minute)
		_, evicted, err := c.Add(t.Context(), said(i))
		if err != nil {
			t.Fatal(err)
		}
		gone += len(evicted)
		s, err := c.Status(t.Context())
		if err != nil || s.Tokens > 8000 || s.Items > 100 || s.Items+gone != i+1 {
			t.Fatalf("message %d: %+v, %d left: %v", i, s, gone, err)
		}
		if i%10_000 == 9999 {
			v, err := c.Context(t.Context(), portAsked, ContextOptions{})
			if err != nil || v.Tokens > 8000 || !strings.Contains(v.Text, "user] "+portSaid) {
				t.Fatalf("message %d: a view of %d tokens, %d relevant: %v", i, v.Tokens, len(v.Relevant), err)
			}
			accepted(t, v, portAsked)
		}
	}
	check(t, c)
	for i := range messages {
		it, err := c.Item(t.Context(), int64(i+1))
		if err != nil || it.Content != said(i).Content {
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
	grow(b, c, history)
	return c
}

// grow gives a conversation a history.
func grow(b *testing.B, c *Conversation, history int) {
	b.Helper()
	var at timeline.Place
	for i := 0; i < history; {
		change := timeline.Change{Conversation: "c", At: at, Now: noon}
		for range min(5000, history-i) {
			it := items.Item(talk(i))
			it.Time, it.Tokens = noon, countFields(it.Content)
			m, err := message(&it)
			if err != nil {
				b.Fatal(err)
			}
			change.Messages = append(change.Messages, m)
			plan := c.engine.newPlan("fifo", 8000)
			plan.Blocks = append(plan.Blocks, window.Block{Index: i, Role: "user", Tokens: 20, Verdict: window.Evict,
				Reason: "the oldest when it came"})
			data, err := json.Marshal(plan)
			if err != nil {
				b.Fatal(err)
			}
			change.Put = append(change.Put, timeline.Record{Kind: timeline.KindPlan, Key: fmt.Sprint("old", i),
				Data: data})
			i++
		}
		applied, err := c.engine.store.Apply(b.Context(), timeline.Local, change)
		if err != nil {
			b.Fatal(err)
		}
		at = applied.Head
	}
}

// SPEC D8, D9: a turn, an item added and a view of a full window with what is
// recalled, counted as o200k_base does. The query shares words with every message.
func BenchmarkTurn(b *testing.B) {
	const query = "Which build of module 42 took 7 seconds?"
	for _, by := range []string{"nothing", "words", "vectors"} {
		for _, history := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("recall=%s/history=%d", by, history), func(b *testing.B) {
				model := &noise{}
				defer model.release()
				e, err := Open(b.Context(), Config{NoEmbed: by != "vectors", Embed: model, RecallMemory: 1 << 30})
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close()
				c := conversation(b, e, "c")
				grow(b, c, history)
				o := ContextOptions{NoRecall: by == "nothing"}
				if _, err := c.Context(b.Context(), query, o); err != nil {
					b.Fatal(err)
				}
				if err := e.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, _, err := c.Add(b.Context(), talk(i)); err != nil {
						b.Fatal(err)
					}
					v, err := c.Context(b.Context(), query, o)
					if err != nil || len(v.Plan.Warnings) > 0 || (len(v.Relevant) > 0) == o.NoRecall {
						b.Fatalf("%d relevant, %v, %v", len(v.Relevant), v.Plan.Warnings, err)
					}
				}
			})
		}
	}
}

// noise gives queries the vectors of the model in the program and passages vectors
// that cost nothing.
type noise struct{ builtinModel }

func (n *noise) Name() string { return "noise" }

func (n *noise) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 1 {
		return n.builtinModel.Embed(ctx, texts)
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		r := rand.New(rand.NewPCG(uint64(len(text)), uint64(i)))
		out[i] = make([]float32, 384)
		for k := range out[i] {
			out[i][k] = r.Float32() - .5
		}
		normalised(out[i])
	}
	return out, nil
}
