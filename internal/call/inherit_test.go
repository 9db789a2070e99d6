package call_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// PROXY rule 9: a plan belongs to a message. A conversation of its own that begins with
// the same messages is shown by the same plan, also after a restart.
func TestPlansAreInheritedByTheChainOfMessages(t *testing.T) {
	store := memory.New()
	r := restart(store)
	var examples []json.RawMessage
	for i := range 30 {
		examples = append(examples, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(1000+i))),
			json.RawMessage(`{"role":"assistant","content":"Yes."}`))
	}
	one := &caller{t: t, n: 1, list: slices.Clone(examples)}
	one.say(r, "thrifty")
	if one.plan == "" {
		t.Fatal("nothing was cut")
	}
	other := &caller{t: t, n: 2, list: slices.Clone(examples)}
	other.say(r, "thrifty")
	// Up to the newest message, which is another.
	same := string(one.sent[:strings.LastIndex(string(one.sent), `{"role":"user"`)])
	if other.plan != one.plan || !strings.HasPrefix(string(other.sent), same) {
		t.Errorf("plan %s, that of the other is %s", one.plan, other.plan)
	}
	must(r.Close(ctx))
	if _, k := calls(t, store); k != 2 {
		t.Errorf("%d conversations", k)
	}
	r = restart(store)
	other.say(r, "thrifty")
	if other.plan != one.plan || !strings.HasPrefix(string(other.sent), same) {
		t.Errorf("plan %s after a restart, was %s", other.plan, one.plan)
	}
	must(r.Close(ctx))
}

// PROXY rule 5: a client that keeps other words than the model's, and names no session,
// has one conversation and one plan, also over restarts.
func TestRepliesInOtherWordsContinueTheConversation(t *testing.T) {
	for name, other := range map[string]func(n int) string{
		"other words": func(n int) string { return fmt.Sprint("Understood as point ", n) },
		"annotated":   func(int) string { return "Noted. (checked)" },
		"cut off":     func(int) string { return "No…" },
		"in tags":     func(int) string { return "<answer>Noted.</answer>" },
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			r := restart(store)
			c := &caller{t: t}
			before, cuts := "", 0
			for i := range 40 {
				if i%15 == 14 {
					must(r.Close(ctx))
					r = restart(store)
				}
				plan := c.plan
				c.say(r, "thrifty")
				c.list[len(c.list)-1] = json.RawMessage(fmt.Sprintf(`{"role":"assistant","content":%q}`, other(i)))
				if c.plan != plan {
					cuts++
				} else if !strings.HasPrefix(string(c.sent), before) {
					t.Errorf("call %d: the prefix is lost", i)
				}
				before = string(c.sent[:strings.LastIndex(string(c.sent), `{"role":"user"`)])
			}
			must(r.Close(ctx))
			if n, k := calls(t, store); n != 40 || k != 1 || cuts == 0 || cuts > 5 {
				t.Errorf("%d calls in %d conversations, %d cuts", n, k, cuts)
			}
		})
	}
}

// PROXY rule 4: a client that takes what was sent for its history goes on with the same
// conversation.
func TestAViewThatComesBackContinuesTheConversation(t *testing.T) {
	store := memory.New()
	r := restart(store)
	c := &caller{t: t}
	c.untilCut(r)
	for i := range 12 {
		var sent struct{ Messages []json.RawMessage }
		must(json.Unmarshal(c.sent, &sent))
		if i == 0 && !strings.Contains(string(c.sent), "[Oriel") {
			t.Fatalf("nothing of Oriel's was sent: %s", c.sent)
		}
		c.list = append(sent.Messages, json.RawMessage(`{"role":"assistant","content":"Noted."}`))
		if i == 6 {
			must(r.Close(ctx))
			r = restart(store)
		}
		if c.say(r, "thrifty"); tokensOf(c.sent) > 3000 {
			t.Errorf("%d tokens were sent", tokensOf(c.sent))
		}
	}
	must(r.Close(ctx))
	if n, k := calls(t, store); n != c.n || k != 1 {
		t.Errorf("%d calls of %d in %d conversations", n, c.n, k)
	}
}

// Plans have numbers within their conversation, in the order in which they were first used
// there. A conversation that inherits a plan gives it a number of its own; what was sent stays
// known by it, also after a restart.
func TestPlansAreNumberedWithinTheirConversation(t *testing.T) {
	store := memory.New()
	r := restart(store)
	var examples []json.RawMessage
	for i := range 30 {
		examples = append(examples, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, words(1000+i))),
			json.RawMessage(`{"role":"assistant","content":"Yes."}`))
	}
	// use returns the plans of 30 calls, in the order of their first use.
	use := func(c *caller) (plans []string) {
		for i := range 30 {
			if c.say(r, "thrifty"); c.plan != "" && !slices.Contains(plans, c.plan) {
				plans = append(plans, c.plan)
			}
			if i == 15 {
				must(r.Close(ctx))
				r = restart(store)
			}
		}
		return plans
	}
	one := &caller{t: t, n: 1, list: slices.Clone(examples)}
	first := use(one)
	other := &caller{t: t, n: 101, list: slices.Clone(examples)}
	second := use(other)
	must(r.Close(ctx))
	for _, plans := range [][]string{first, second} {
		if len(plans) < 2 {
			t.Errorf("plans %q", plans)
		}
	}
	all, err := store.Conversations(ctx, timeline.Local)
	must(err)
	sent := 0
	for _, c := range all {
		plans, err := plan.List(ctx, timeline.Notes{Store: store, Tenant: timeline.Local, Conversation: c.Name}, nil)
		must(err)
		ids := map[string]bool{}
		for i, p := range plans {
			if ids[p.ID] = true; p.Number != int64(i+1) {
				t.Errorf("plan %d of %s is %s", i+1, c.Name, p.Name())
			}
			used := first
			if !slices.Contains(used, p.ID) {
				used = second
			}
			if !slices.Contains(used, p.ID) {
				t.Errorf("plan %s of %s was told to nobody", p.ID, c.Name)
			}
		}
		records, err := store.Records(ctx, timeline.Local, c.Name, "call", "")
		must(err)
		for i := range records {
			recorded, _, err := call.ReadSent(ctx, store, timeline.Local, c.Name, &records[i], call.SentOptions{})
			if err != nil || recorded.Plan != "" && !ids[recorded.Plan] {
				t.Errorf("a call by plan %s of %s: %v", recorded.Plan, c.Name, err)
			}
			sent++
		}
	}
	if len(all) != 2 || sent != 60 {
		t.Errorf("%d conversations, %d calls", len(all), sent)
	}
}
