package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// victims returns the reason why the policy chose the items that left.
func (p *loaded) victims(when string) string {
	if items.Policy(p.policy) == items.ByAge {
		return "the oldest when " + when
	}
	return "the least relevant when " + when
}

// left records under a plan that items left the window, and returns copies for the
// caller. No item leaves in another way. If many have left since the last view, they are
// folded into the digest.
func (p *loaded) left(ctx context.Context, out []items.Item, before int, reason string) ([]items.Item, error) {
	limit, _ := p.window.Limits()
	plan := p.engine.newPlan(p.policy, limit)
	plan.TokensBefore, plan.TokensAfter = before, p.window.Tokens()
	out = p.handOut(out)
	for i := range out {
		it := &out[i]
		delete(p.held, it.ID)
		delete(p.pinned, it.ID)
		plan.Judge(window.Block{
			Index: int(it.ID), Role: roleOf(it.Source), Tokens: it.Tokens, Verdict: window.Evict, Reason: reason,
			Pinned: it.Pinned(),
		})
	}
	if _, err := p.book(plan); err != nil {
		return nil, err
	}
	if p.folding.leave(out, p.cleared); p.folding.waits.Len() < maxWaiting && p.folding.waiting < limit {
		return out, nil
	}
	return out, p.fold(ctx)
}

// book gives a plan its number and stores it, unless it left nothing out.
func (p *loaded) book(made *window.Plan) (id string, err error) {
	p.touch()
	p.lastPlan++
	id = plan.NameOf(p.lastPlan)
	if len(made.Blocks) == 0 {
		return id, nil
	}
	made.Undo = id
	data, err := json.Marshal(plan.Data{Plan: *made, Before: p.lastKept})
	if err != nil {
		return "", fmt.Errorf("write plan %s: %w", id, err)
	}
	p.put((&plan.Stored{ID: id, At: timeline.AtHead(), Data: data}).Record())
	p.lastKept = p.lastPlan
	p.tellPlan(event.Cut, id, made.TokensBefore, made.TokensAfter, len(made.Blocks))
	return id, nil
}

// findPlan returns the items that a plan left out, and the plan's id. The empty id means
// the newest plan that left something out.
func (p *loaded) findPlan(ctx context.Context, op, id string) (number string, items []int64, err error) {
	if id == "" {
		newest, err := p.plans(ctx, 1)
		if err != nil {
			return "", nil, err
		}
		if len(newest) == 0 {
			return "", nil, p.fail(op, fault.ErrNoPlan, "nothing has left the view")
		}
		id = newest[0].Undo
	}
	items, err = p.itemsOfPlan(ctx, op, id)
	return id, items, err
}

func (p *loaded) itemsOfPlan(ctx context.Context, op, id string) ([]int64, error) {
	if n, ok := plan.NumberOf(id); !ok || n > p.lastPlan {
		hint := "there are no plans yet"
		if p.lastPlan > 0 {
			hint = fmt.Sprintf("there are plans p1 to %s", plan.NameOf(p.lastPlan))
		}
		return nil, p.fail(op, fault.ErrNoPlan, hint)
	}
	made, here, err := p.readPlan(ctx, id)
	if err != nil || made == nil {
		return nil, err
	}
	if !here {
		return nil, p.fail(op, fault.ErrNoPlan, "it was made on a branch that the conversation has left")
	}
	ids := make([]int64, len(made.Blocks))
	for i, b := range made.Blocks {
		ids[i] = int64(b.Index)
		if ids[i] > p.last() {
			return nil, p.fail(op, fault.ErrNoItem,
				fmt.Sprintf("item %d was on a branch that the conversation has left", ids[i]))
		}
	}
	return ids, nil
}

// readPlan reads a plan, however large the window was; its blocks are the items that left. It
// returns nil if the plan left nothing out. here reports that it was made on the way to the
// head.
func (p *loaded) readPlan(ctx context.Context, id string) (made *plan.Data, here bool, err error) {
	if p.stored.Revision == 0 {
		return nil, false, nil
	}
	stored, ok, err := plan.OfItems(ctx, p.notes(), id)
	if err != nil || !ok {
		return nil, false, err
	}
	return p.parsePlan(ctx, &stored)
}

func (p *loaded) parsePlan(ctx context.Context, r *plan.Stored) (made *plan.Data, here bool, err error) {
	made = new(plan.Data)
	if err := json.Unmarshal(r.Data, made); err != nil {
		return nil, false, fmt.Errorf("%w: plan %q: %w", timeline.ErrDamaged, r.ID, err)
	}
	here, err = p.passes(ctx, r.At)
	return made, here, err
}

// Plans implements oriel.Conversation.Plans.
func (c *Conversation) Plans(ctx context.Context, limit int) (plans []window.Plan, err error) {
	err = c.either(ctx, "list plans", func(r *call.Recorded) error {
		made, err := r.Plans(ctx, limit)
		plans = made
		return err
	}, func(p *loaded) (err error) {
		plans, err = p.plans(ctx, limit)
		return err
	})
	return plans, err
}

func (p *loaded) plans(ctx context.Context, limit int) ([]window.Plan, error) {
	plans := []window.Plan{}
	if p.lastKept == 0 {
		return plans, nil
	}
	if limit <= 0 {
		stored, err := plan.List(ctx, p.notes(), nil)
		for i := range stored {
			made, here, err := p.parsePlan(ctx, &stored[i])
			if err != nil {
				return nil, err
			}
			if here {
				plans = append(plans, made.Plan)
			}
		}
		return plans, err
	}
	for n := p.lastKept; n > 0 && len(plans) < limit; {
		made, here, err := p.readPlan(ctx, plan.NameOf(n))
		switch {
		case err != nil:
			return nil, err
		case made == nil || made.Before >= n:
			return nil, fmt.Errorf("%w: plan %s is missing", timeline.ErrDamaged, plan.NameOf(n))
		}
		if here {
			plans = append(plans, made.Plan)
		}
		n = made.Before
	}
	slices.Reverse(plans)
	return plans, nil
}

// newPlan returns a plan that does nothing yet.
func (e *Engine) newPlan(policy string, budget int) *window.Plan {
	return window.NewPlan(policy, e.config.Model, budget, budget)
}

// roleOf returns the role of an item for a model.
func roleOf(s items.Source) chat.Role {
	if s == items.SourceAssistant {
		return chat.Assistant
	}
	return chat.User
}
