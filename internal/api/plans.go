package api

import (
	"context"
	"strconv"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
)

// allPlans returns the plans of a conversation, oldest first.
func (q *request) allPlans(ctx context.Context, c *timeline.Conversation) ([]report.Plan, error) {
	return q.Handler.plans.get(q.tenant, c,
		func() ([]report.Plan, error) { return report.Plans(ctx, q.Store, q.tenant, c) })
}

// holds returns the holds of a conversation.
func (q *request) holds(ctx context.Context, c *timeline.Conversation) ([]timeline.Hold, error) {
	return timeline.Notes{Store: q.Store, Tenant: q.tenant, Conversation: c.Name}.Holds(ctx)
}

func (q *request) planList() (*list[report.PlanRow], error) {
	ctx := q.Context()
	p, err := q.page("plans")
	if err != nil {
		return nil, err
	}
	c, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := q.allPlans(ctx, c)
	if err != nil {
		return nil, err
	}
	holds, err := q.holds(ctx, c)
	if err != nil {
		return nil, err
	}
	// A cursor is how many plans are older than the page before.
	at, err := p.number(int64(len(plans)))
	if err != nil {
		return nil, err
	}
	out := &list[report.PlanRow]{Items: []report.PlanRow{}, Total: int64(len(plans))}
	for at = min(at, int64(len(plans))); at > 0; at-- {
		if len(out.Items) == p.limit {
			out.Next = next("plans", strconv.FormatInt(at, 10))
			break
		}
		out.Items = append(out.Items, plans[at-1].Row(holds))
	}
	return out, nil
}

func (q *request) plan() (*report.Plan, error) {
	ctx := q.Context()
	c, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := q.allPlans(ctx, c)
	if err != nil {
		return nil, err
	}
	p, err := planOf(plans, q.PathValue("plan"))
	if err != nil {
		return nil, err
	}
	holds, err := q.holds(ctx, c)
	if err != nil {
		return nil, err
	}
	spans, err := report.Spans(ctx, q.Store, q.tenant, c, p)
	if err != nil {
		return nil, err
	}
	out := p.Detail(holds, spans)
	return &out, nil
}

// planOf returns the plan that a person means by a name.
func planOf(plans []report.Plan, name string) (*report.Plan, error) {
	ids := make([]string, len(plans))
	for i := range plans {
		if ids[i] = plans[i].ID; plans[i].LongID == name {
			return &plans[i], nil
		}
	}
	i, err := report.PlanOf(ids, name)
	if err != nil {
		return nil, notFound("GET …/plans lists the plans", "no such plan: %s", short(name))
	}
	return &plans[i], nil
}
