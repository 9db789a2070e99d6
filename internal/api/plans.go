package api

import (
	"context"
	"strconv"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// plan is a plan as a list shows it.
type plan struct {
	ID           string      `json:"id"`
	Time         time.Time   `json:"time"`
	Policy       string      `json:"policy"`
	Mode         window.Mode `json:"mode"`
	Model        string      `json:"model"`
	Budget       int         `json:"budget"`
	Low          int         `json:"low"`
	TokensBefore int         `json:"tokens_before"`
	TokensAfter  int         `json:"tokens_after"`
	Action       string      `json:"action"`
	Why          string      `json:"why"`
	Left         string      `json:"left"`
	LeftTokens   int         `json:"left_tokens"`
	Back         string      `json:"back"`
	Hidden       int         `json:"hidden"`
	HiddenTokens int         `json:"hidden_tokens"`
	AddedTokens  int         `json:"added_tokens"`
	// Held reports that the plan is undone.
	Held     bool     `json:"held"`
	Warnings []string `json:"warnings"`
}

// planDetail is a plan with its reasons.
type planDetail struct {
	plan
	Blocks   []block            `json:"blocks"`
	Inserted []window.Insertion `json:"inserted"`
	Spans    []report.Span      `json:"spans"`
	Summary  window.Summary     `json:"summary"`
}

// block is what became of a message.
type block struct {
	ID      int64          `json:"id"`
	Role    chat.Role      `json:"role"`
	Tokens  int            `json:"tokens"`
	Lost    int            `json:"lost"`
	Verdict window.Verdict `json:"verdict"`
	Reason  string         `json:"reason"`
	Pinned  bool           `json:"pinned"`
}

func newPlan(p *report.Plan, held map[string]bool) plan {
	return plan{
		ID: p.ID, Time: p.Time, Policy: p.Policy, Mode: p.Mode, Model: p.Model, Budget: p.Budget, Low: p.Low,
		TokensBefore: p.TokensBefore, TokensAfter: p.TokensAfter, Action: p.Action, Why: p.Why, Left: p.LeftIDs, LeftTokens: p.LeftTokens,
		Back: p.BackIDs, Hidden: p.Hidden, HiddenTokens: p.HiddenTokens, AddedTokens: p.AddedTokens, Held: held[p.ID] || held[p.Name], Warnings: append([]string{}, p.Warnings...),
	}
}

// allPlans returns the plans of a conversation, oldest first.
func (q *request) allPlans(ctx context.Context, c *timeline.Conversation) ([]report.Plan, error) {
	return q.Handler.plans.get(q.tenant, c, func() ([]report.Plan, error) { return report.Plans(ctx, q.Store, q.tenant, c) })
}

// held returns the ids and names of the plans of a conversation that are undone.
func (q *request) held(ctx context.Context, c *timeline.Conversation) (map[string]bool, []timeline.Hold, error) {
	holds, err := timeline.Notes{Store: q.Store, Tenant: q.tenant, Conversation: c.Name}.Holds(ctx)
	out := map[string]bool{}
	for i := range holds {
		out[holds[i].Plan] = holds[i].Plan != ""
	}
	return out, holds, err
}

func (q *request) planList() (any, error) {
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
	held, _, err := q.held(ctx, c)
	if err != nil {
		return nil, err
	}
	// A cursor is how many plans are older than the page before.
	at, err := p.number(int64(len(plans)))
	if err != nil {
		return nil, err
	}
	out := &list[plan]{Items: []plan{}, Total: int64(len(plans))}
	for at = min(at, int64(len(plans))); at > 0; at-- {
		if len(out.Items) == p.limit {
			out.Next = next("plans", strconv.FormatInt(at, 10))
			break
		}
		out.Items = append(out.Items, newPlan(&plans[at-1], held))
	}
	return out, nil
}

func (q *request) plan() (any, error) {
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
	held, _, err := q.held(ctx, c)
	if err != nil {
		return nil, err
	}
	spans, err := report.Spans(ctx, q.Store, q.tenant, c, p)
	if err != nil {
		return nil, err
	}
	out := &planDetail{plan: newPlan(p, held), Blocks: []block{}, Inserted: append([]window.Insertion{}, p.Plan.Inserted...), Spans: spans, Summary: p.Summary}
	for _, b := range p.Blocks {
		out.Blocks = append(out.Blocks, block{b.ID, b.Role, b.Tokens, b.Lost, b.Verdict, b.Reason, b.Pinned})
	}
	return out, nil
}

// planOf returns the plan that a person means by a name.
func planOf(plans []report.Plan, name string) (*report.Plan, error) {
	ids := make([]string, len(plans))
	for i := range plans {
		ids[i] = plans[i].ID
	}
	i, err := report.PlanOf(ids, name)
	if err != nil {
		return nil, notFound("GET …/plans lists the plans", "no such plan: %s", short(name))
	}
	return &plans[i], nil
}
