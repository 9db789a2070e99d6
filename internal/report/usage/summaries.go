package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
)

// Paid is a summary that a model wrote, in the background or while a call waited.
type Paid struct {
	Model string
	Time  time.Time
	Cost  float64
}

// summaries adds to a page with the calls of a conversation what a model was paid for its
// summaries. plans are those that the page does not have.
func (r *Reader) summaries(ctx context.Context, tenant, conversation string, plans []timeline.Record,
	page *ledgerPage) error {
	background, err := r.store.Records(ctx, tenant, conversation, "summary", "")
	if err != nil {
		return err
	}
	for i := range background {
		var paid struct {
			Cost  float64 `json:"cost"`
			Model string  `json:"model"`
		}
		if err := json.Unmarshal(background[i].Data, &paid); err != nil {
			return fmt.Errorf("read summary %s of conversation %q: %w", background[i].Key, conversation, err)
		}
		if paid.Cost > 0 {
			page.paid = append(page.paid, Paid{paid.Model, background[i].Time, paid.Cost})
		}
	}
	for i := range plans {
		page.plans = append(page.plans, plans[i].Key)
		paid, err := page.paidBy(&plans[i])
		if err != nil {
			return fmt.Errorf("read plan %s of conversation %q: %w", plans[i].Key, conversation, err)
		}
		if paid.Cost > leastCost {
			page.inline = append(page.inline, paid)
		}
	}
	page.paid = append(page.paid, page.inline...)
	return nil
}

// leastCost is what a difference of two equal costs stays below.
const leastCost = 1e-9

// paidBy returns what was paid for the summary that a call waited for, by the plan that the
// call made. Other plans repeat that cost: those that change nothing of what is left out, and
// those that a conversation has from another one that begins with the same messages. The cost
// of a plan also contains that of a background summary which it uses.
func (p *ledgerPage) paidBy(r *timeline.Record) (Paid, error) {
	var data struct {
		Model   string `json:"model"`
		Summary struct {
			Cost float64 `json:"cost"`
		} `json:"summary"`
		View struct {
			Fold   string   `json:"fold"`
			Reused *float64 `json:"reused"`
		} `json:"view"`
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		return Paid{}, err
	}
	id := plan.IDOf(r.Key)
	paid := Paid{data.Model, r.Time, data.Summary.Cost}
	if data.View.Reused != nil {
		paid.Cost -= *data.View.Reused
	}
	if _, items := plan.NumberOf(id); items {
		return paid, nil
	}
	call := strings.TrimPrefix(id, "p-")
	if end := strings.LastIndexByte(call, '-'); end >= 0 {
		call = call[:end]
	}
	// Plans of earlier versions do not say what they used.
	used := data.View.Reused == nil && slices.ContainsFunc(p.paid, func(s Paid) bool { return s.Cost == paid.Cost })
	if data.View.Fold != id || used || !slices.Contains(p.keys, call) {
		return Paid{}, nil
	}
	return paid, nil
}
