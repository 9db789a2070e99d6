package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// pair drives two conversations of two engines at once; they must agree.
type pair struct {
	a, b *Conversation
	// restart ends b and begins it again.
	restart func(*rapid.T)

	now   time.Time
	added []Item // as they were given
	// pinned and held are what must have precedence now.
	pinned, held map[int64]bool
	plans        map[string][]int64 // what each plan took
}

// newPair opens a in memory, and b in a folder if one is given.
func newPair(t *rapid.T, dir string) *pair {
	p := &pair{now: noon, pinned: map[int64]bool{}, held: map[int64]bool{}, plans: map[string][]int64{}}
	config := Config{
		Policy:    rapid.SampledFrom([]string{"relevance", "fifo"}).Draw(t, "policy"),
		MaxTokens: rapid.IntRange(1, 60).Draw(t, "tokens"),
		MaxItems:  rapid.IntRange(1, 12).Draw(t, "items"),
		Adaptive:  rapid.Bool().Draw(t, "adaptive"),
		Count:     countFields,
		Now:       func() time.Time { return p.now },
		NoEmbed:   true, // vectors are there sooner or later: Engine.Wait
	}
	begin := func(t *rapid.T, config Config) *Conversation {
		e, err := Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		c, err := e.Conversation(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	p.a = begin(t, config)
	config.Dir = dir
	p.b = begin(t, config)
	p.restart = func(t *rapid.T) {
		if dir == "" {
			p.b.unload()
			return
		}
		if err := p.b.engine.Close(); err != nil {
			t.Fatal(err)
		}
		p.b = begin(t, config)
	}
	return p
}

// both calls both conversations alike and returns the answer of the first (SPEC E6).
func both[T any](t *rapid.T, p *pair, what string, do func(*Conversation) (T, error)) (T, error) {
	x, err := do(p.a)
	y, other := do(p.b)
	if fmt.Sprint(err) != fmt.Sprint(other) {
		t.Fatalf("%s: %v, and again: %v", what, err, other)
	}
	if diff := cmp.Diff(x, y); diff != "" {
		t.Fatalf("%s: the same again is not the same\n%s", what, diff)
	}
	return x, err
}

// do is both for what only has an error.
func (p *pair) do(t *rapid.T, what string, do func(context.Context, *Conversation) error) error {
	_, err := both(t, p, what, func(c *Conversation) (int, error) { return 0, do(t.Context(), c) })
	return err
}

// state is what is in view.
func (p *pair) state(t *rapid.T) []Item {
	items, err := both(t, p, "items", func(c *Conversation) ([]Item, error) { return c.Items(t.Context(), 0) })
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// needs is what items would take together with what has precedence and the newest.
func (p *pair) needs(t *rapid.T, want []int64) (tokens, count int) {
	s, _ := p.a.Status(t.Context())
	all := map[int64]int{}
	newest := int64(0)
	for _, it := range p.state(t) {
		all[it.ID] = it.Tokens
		newest = max(newest, it.ID)
	}
	for _, id := range want {
		newest = max(newest, id)
		if _, shown := all[id]; !shown {
			it, err := p.a.Item(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			all[id] = p.a.loaded.sized(items.Item(it), s.MaxTokens).Tokens
		}
	}
	for id, n := range all {
		if slices.Contains(want, id) || p.pinned[id] || p.held[id] || id == newest {
			tokens += n
			count++
		}
	}
	return tokens, count
}

// moved compares the window before and after: what left is in the newest plan, and
// nothing else changed. Holds end for what left.
func (p *pair) moved(t *rapid.T, what string, before, came []int64) {
	after := ids(p.state(t))
	left := slices.DeleteFunc(slices.Concat(before, came), func(id int64) bool { return slices.Contains(after, id) })
	slices.Sort(left)
	for _, id := range after {
		if !slices.Contains(before, id) && !slices.Contains(came, id) {
			t.Fatalf("%s: item %d came out of nowhere", what, id)
		}
	}
	for _, id := range left {
		delete(p.held, id)
	}
	plans, err := p.a.Plans(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) == 0 {
		if len(plans) != len(p.plans) {
			t.Fatalf("%s: nothing left, and there is a plan: %+v", what, plans[len(plans)-1])
		}
		return
	}
	if len(plans) != len(p.plans)+1 {
		t.Fatalf("%s: %d plans after %d", what, len(plans), len(p.plans))
	}
	p.book(t, what, &plans[len(plans)-1], left)
}

// book compares what a plan says with what left.
func (p *pair) book(t *rapid.T, what string, plan *Plan, left []int64) {
	var says []int64
	for _, b := range plan.Blocks {
		if b.Verdict == window.Evict {
			says = append(says, int64(b.Index))
		}
		if b.Reason == "" {
			t.Fatalf("%s: no reason for item %d", what, b.Index)
		}
	}
	if !slices.Equal(says, left) {
		t.Fatalf("%s: the plan says that %v left, and %v did", what, says, left)
	}
	if len(left) > 0 {
		p.plans[plan.Undo] = left
	}
}

// SPEC A1, A2, A4, A6, A7, E5, E6: whatever is done to a conversation, its limits
// hold, the newest item stays, every item is read back as it came, every cut is told
// and can be undone, and the same again is the same.
func TestConversationKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { drive(t, newPair(t, "")) })
}

// SPEC A6, A7, D1: and all of that holds in a folder, too, however often the program
// ends and begins again: the answers are those of one that never ended.
func TestConversationSurvivesRestarts(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		p := newPair(t, dir)
		defer func() {
			if err := p.b.engine.Close(); err != nil {
				t.Fatal(err)
			}
			_ = os.RemoveAll(dir)
		}()
		drive(t, p)
		if err := p.b.engine.store.Verify(t.Context(),
			func(problem timeline.Problem) { t.Errorf("%+v", problem) }); err != nil {
			t.Fatal(err)
		}
	})
}

func drive(t *rapid.T, p *pair) {
	anyID := func(t *rapid.T) int64 { return rapid.Int64Range(1, int64(len(p.added))+1).Draw(t, "id") }
	known := func(id int64) bool { return id <= int64(len(p.added)) }
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			p.now = p.now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "hours")) * time.Hour)
			it := Item{
				Content: rapid.SampledFrom([]string{"", "why? ", "an error in ```code``` ",
					"the api is fixed now. "}).Draw(t, "start") +
					words(rapid.IntRange(0, 90).Draw(t, "words")),
				Source: rapid.SampledFrom([]items.Source{"", "user", "assistant", "assistant", "tool",
					"file"}).Draw(t, "source"),
				Flags:     rapid.SampledFrom([][]items.Flag{nil, nil, {"own"}, {"starred"}}).Draw(t, "flags"),
				Meta:      map[string]string{"n": fmt.Sprint(len(p.added))},
				Embedding: rapid.SampledFrom([][]float32{nil, {1, 0}, {0, 1}, {0.6, -0.8}}).Draw(t, "embedding"),
			}
			before := ids(p.state(t))
			type result struct {
				ID      int64
				Evicted []Item
			}
			r, err := both(t, p, "add", func(c *Conversation) (r result, err error) {
				r.ID, r.Evicted, err = c.Add(t.Context(), it)
				return r, err
			})
			if err != nil || r.ID != int64(len(p.added))+1 {
				t.Fatalf("id %d after %d: %v", r.ID, len(p.added), err)
			}
			p.added = append(p.added, it)
			p.pinned[r.ID] = it.Pinned()
			p.moved(t, "add", before, []int64{r.ID})
			after := ids(p.state(t))
			if after[len(after)-1] != r.ID {
				t.Fatalf("the newest item is %d, in view are %v", r.ID, after)
			}
			for _, out := range r.Evicted {
				if slices.Contains(after, out.ID) || !slices.Contains(before, out.ID) {
					t.Fatalf("told that %d left: before %v, after %v", out.ID, before, after)
				}
			}
			if len(before)+1-len(r.Evicted) != len(after) {
				t.Fatalf("%d before, %d evicted, %d after", len(before), len(r.Evicted), len(after))
			}
		},
		"pin": func(t *rapid.T) {
			id, before := anyID(t), p.state(t)
			var tokens, items int
			if known(id) {
				tokens, items = p.needs(t, []int64{id})
			}
			err := p.do(t, "pin", func(ctx context.Context, c *Conversation) error { return c.Pin(ctx, id) })
			p.settled(t, "pin", err, before, []int64{id}, known(id), tokens, items)
			if err == nil {
				p.pinned[id] = true
			}
		},
		"unpin": func(t *rapid.T) {
			id, before := anyID(t), ids(p.state(t))
			err := p.do(t, "unpin", func(ctx context.Context, c *Conversation) error { return c.Unpin(ctx, id) })
			if known(id) != (err == nil) {
				t.Fatalf("unpin %d: %v", id, err)
			}
			delete(p.pinned, id)
			p.moved(t, "unpin", before, nil)
		},
		"undo": func(t *rapid.T) {
			id := plan.NameOf(rapid.Int64Range(1, p.a.loaded.lastPlan+1).Draw(t, "plan"))
			took, before := p.plans[id], p.state(t)
			tokens, items := p.needs(t, took)
			if len(took) == 0 {
				tokens, items = 0, 0
			}
			exists := id != plan.NameOf(p.a.loaded.lastPlan+1)
			err := p.do(t, "undo", func(ctx context.Context, c *Conversation) error { return c.Undo(ctx, id) })
			if err == nil {
				for _, id := range took {
					p.held[id] = true
				}
			}
			p.settled(t, "undo", err, before, took, exists, tokens, items)
		},
		"release": func(t *rapid.T) {
			before := p.state(t)
			if err := p.do(t, "release",
				func(ctx context.Context, c *Conversation) error { return c.Release(ctx) }); err != nil {
				t.Fatal(err)
			}
			clear(p.held)
			if diff := cmp.Diff(before, p.state(t)); diff != "" {
				t.Fatalf("release changed the window\n%s", diff)
			}
		},
		"clear": func(t *rapid.T) {
			if rapid.IntRange(0, 4).Draw(t, "really") > 0 {
				return
			}
			before := ids(p.state(t))
			if err := p.do(t, "clear",
				func(ctx context.Context, c *Conversation) error { return c.Clear(ctx) }); err != nil {
				t.Fatal(err)
			}
			p.moved(t, "clear", before, nil)
			if len(p.state(t)) > 0 {
				t.Fatal("not clear")
			}
		},
		"resize": func(t *rapid.T) {
			size, before := rapid.IntRange(0, 90).Draw(t, "size"), ids(p.state(t))
			evicted, err := both(t, p, "resize",
				func(c *Conversation) ([]Item, error) { return c.Resize(t.Context(), size) })
			if err != nil || len(before)-len(evicted) != len(p.state(t)) {
				t.Fatalf("resize to %d: %v", size, err)
			}
			p.moved(t, "resize", before, nil)
		},
		"restart": func(t *rapid.T) { p.restart(t) },
		"context": func(t *rapid.T) { p.context(t) },
		"":        func(t *rapid.T) { p.check(t) },
	})
}

// settled checks a call that brings items back: it does so wholly, or says that it
// cannot and changes nothing; and it says so only if it is so.
func (p *pair) settled(t *rapid.T, what string, err error, before []Item, want []int64, known bool, tokens, items int) {
	s, _ := p.a.Status(t.Context())
	fits := tokens <= s.MaxTokens && items <= s.MaxItems
	if (err == nil) != (known && fits) || err != nil && errors.Is(err, fault.ErrCannotFit) != known {
		t.Fatalf("%s %v: %d tokens in %d items of %+v: %v", what, want, tokens, items, s, err)
	}
	if err != nil {
		if diff := cmp.Diff(before, p.state(t)); diff != "" {
			t.Fatalf("%s: %v, and the window changed\n%s", what, err, diff)
		}
		if known && !strings.Contains(err.Error(), fmt.Sprintf("%d tokens in %d items, the window has %d in %d", tokens,
			items, s.MaxTokens, s.MaxItems)) {
			t.Fatalf("%s: %d tokens in %d items of %+v: %v", what, tokens, items, s, err)
		}
		return
	}
	p.moved(t, what, ids(before), want)
	after := ids(p.state(t))
	for _, id := range want {
		if !slices.Contains(after, id) {
			t.Fatalf("%s: item %d is not in view: %v", what, id, after)
		}
	}
	for _, it := range before {
		if (p.pinned[it.ID] || p.held[it.ID]) && !slices.Contains(after, it.ID) {
			t.Fatalf("%s: item %d had precedence and left: %v", what, it.ID, after)
		}
	}
}

func (p *pair) context(t *rapid.T) {
	query := rapid.SampledFrom([]string{"", "q", "why? ", words(40)}).Draw(t, "query")
	if n := len(p.added); n > 0 && rapid.Bool().Draw(t, "asked") {
		query = p.added[n-1].Content
	}
	o := ContextOptions{
		Budget:         rapid.IntRange(0, 120).Draw(t, "budget"),
		QueryEmbedding: rapid.SampledFrom([][]float32{nil, {1, 0}, {0.6, 0.8}}).Draw(t, "vector"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "relevant") {
		if n := len(p.added); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(t, "item")
			o.Relevant = append(o.Relevant, Item{ID: int64(i + 1), Content: p.added[i].Content, Time: noon})
		}
	}
	before := p.state(t)
	v, err := both(t, p, "context", func(c *Conversation) (View, error) { return c.Context(t.Context(), query, o) })
	if diff := cmp.Diff(before, p.state(t)); diff != "" {
		t.Fatalf("context changed the window\n%s", diff)
	}
	if err != nil {
		if !errors.Is(err, fault.ErrCannotFit) {
			t.Fatal(err)
		}
		return
	}
	s, _ := p.a.Status(t.Context())
	budget := o.Budget
	if budget == 0 {
		budget = s.MaxTokens
	}
	if n := countFields(v.Text); n > budget || n != v.Tokens || v.Plan.TokensAfter != n || v.Plan.Budget != budget {
		t.Fatalf("%d tokens of %d: %+v", n, budget, v.Plan)
	}
	size := 0
	for _, m := range v.Messages {
		size += framing
		for _, part := range m.Parts {
			size += countFields(part.Text.String())
		}
	}
	if size > budget {
		t.Fatalf("messages of %d tokens, budget %d", size, budget)
	}
	accepted(t, v, query)
	if len(v.Plan.Blocks) != len(before) {
		t.Fatalf("%d verdicts for %d items", len(v.Plan.Blocks), len(before))
	}
	var left []int64
	for i, it := range before {
		shown := slices.ContainsFunc(v.Recent, func(r Item) bool { return r.ID == it.ID })
		asked := i == len(before)-1 && it.Source == "user" && it.Whole() == query && strings.TrimSpace(query) != ""
		if !shown && !asked {
			left = append(left, it.ID)
		}
		if shown && slices.ContainsFunc(v.Relevant, func(r Item) bool { return r.ID == it.ID }) {
			t.Fatalf("item %d is shown twice", it.ID)
		}
	}
	p.book(t, "context", v.Plan, left)
}

// check holds after every operation.
func (p *pair) check(t *rapid.T) {
	check(t, p.a)
	check(t, p.b)
	s, err := both(t, p, "status", func(c *Conversation) (Status, error) { return c.Status(t.Context()) })
	if err != nil || s.Tokens > s.MaxTokens || s.Items > s.MaxItems || s.History != len(p.added) ||
		s.Held != len(p.held) {
		t.Fatalf("%+v, %d held, %d added: %v", s, len(p.held), len(p.added), err)
	}
	for i, want := range p.added {
		got, err := both(t, p, "item", func(c *Conversation) (Item, error) { return c.Item(t.Context(), int64(i+1)) })
		if err != nil || got.Content != want.Content || got.Full != "" || got.Source != want.Source ||
			!cmp.Equal(got.Meta, want.Meta) ||
			got.ID != int64(i+1) || got.Tokens != countFields(want.Content) || got.Pinned() != p.pinned[got.ID] {
			t.Fatalf("item %d was added as %+v and is %+v: %v", i+1, want, got, err)
		}
	}
	if plans, _ := both(t, p, "plans",
		func(c *Conversation) ([]Plan, error) { return c.Plans(t.Context(), 0) }); len(plans) != len(p.plans) {
		t.Fatalf("%d plans, want %d", len(plans), len(p.plans))
	}
}
