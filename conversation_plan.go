package oriel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/window"
)

// record is what is kept of a plan that left something out: as much as Undo and
// Plans need, however large the window was.
type record struct {
	number                int64
	budget, before, after int
	reason                string
	taken                 []taken
}

// taken is an item that a plan left out.
type taken struct {
	id     int64
	tokens int
	pinned bool
}

// planID is the name of a plan: p1, p2, …
func planID(number int64) string { return "p" + strconv.FormatInt(number, 10) }

// victims is the reason why the policy chose what left.
func (c *Conversation) victims(when string) string {
	if window.ItemPolicy(c.engine.config.Policy) == window.ByAge {
		return "the oldest when " + when
	}
	return "the least relevant when " + when
}

// left books that items left the window and makes them ready for the caller. It is
// the one way out: nothing leaves without a plan.
func (c *Conversation) left(items []Item, before int, reason string) []Item {
	limit, _ := c.window.Limits()
	r := record{budget: limit, before: before, after: c.window.Tokens(), reason: reason}
	items = c.handOut(items)
	for i := range items {
		delete(c.held, items[i].ID)
		r.taken = append(r.taken, taken{items[i].ID, items[i].Tokens, items[i].Pinned()})
	}
	c.book(r)
	return items
}

// book gives a plan its number. One that left nothing out needs no record.
func (c *Conversation) book(r record) (id string) {
	c.lastPlan++
	if len(r.taken) > 0 {
		r.number = c.lastPlan
		c.plans = append(c.plans, r)
		c.tell(window.EventTruncation, r.before, r.after, len(r.taken))
	}
	return planID(c.lastPlan)
}

// tell tells those who listen what happened (SPEC B7).
func (c *Conversation) tell(kind string, before, after, items int) {
	if listen := c.engine.config.Events; listen != nil {
		listen(Event{Kind: kind, Conversation: c.id, Policy: c.engine.config.Policy, TokensBefore: before, TokensAfter: after, Items: items})
	}
}

// findPlan gives what a plan left out; nothing where it left nothing out.
func (c *Conversation) findPlan(op, id string) ([]taken, error) {
	digits, ok := strings.CutPrefix(id, "p")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 || n > c.lastPlan || planID(n) != id {
		hint := "there are no plans yet"
		if c.lastPlan > 0 {
			hint = fmt.Sprintf("there are plans p1 to %s", planID(c.lastPlan))
		}
		return nil, c.fail(op, ErrNoPlan, hint)
	}
	i, found := slices.BinarySearchFunc(c.plans, n, func(r record, n int64) int { return cmp.Compare(r.number, n) })
	if !found {
		return nil, nil
	}
	return c.plans[i].taken, nil
}

// Plans are the newest plans that took something out of view, at most limit of
// them, oldest first; limit 0 means all. Their Undo is what Undo takes. Blocks are
// the items that left or were left out, with the reason; what stayed is in
// View.Plan alone.
//
// Add, Pin, Undo, Resize and Clear make a plan when items leave the window, Context
// when it has no room for items of the window.
func (c *Conversation) Plans(ctx context.Context, limit int) ([]Plan, error) {
	if err := c.lock(ctx, "list plans"); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	if limit <= 0 || limit > len(c.plans) {
		limit = len(c.plans)
	}
	out := make([]Plan, 0, limit)
	for _, r := range c.plans[len(c.plans)-limit:] {
		p := c.newPlan(r.budget)
		p.TokensBefore, p.TokensAfter, p.Action, p.Undo = r.before, r.after, string(window.Evict), planID(r.number)
		for _, t := range r.taken {
			p.Blocks = append(p.Blocks, window.Block{
				Index: int(t.id), Role: roleOf(c.history[t.id-1].Source), Tokens: t.tokens,
				Verdict: window.Evict, Reason: r.reason, Pinned: t.pinned,
			})
		}
		out = append(out, p)
	}
	return out, nil
}

// newPlan is an empty plan.
func (c *Conversation) newPlan(budget int) Plan {
	o := &c.engine.config
	return Plan{
		Policy: o.Policy, Mode: window.Hard, Model: o.Model, Budget: budget, Low: budget, Action: "none",
		Blocks: []window.Block{}, Inserted: []window.Insertion{},
	}
}

// roleOf is the role in which a model is shown an item.
func roleOf(s window.Source) chat.Role {
	if s == window.SourceAssistant {
		return chat.Assistant
	}
	return chat.User
}
