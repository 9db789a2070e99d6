package plan

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/timeline"
)

// Fold is what a plan left out; later plans that leave out the same share it.
type Fold struct {
	Plan    string // id of the plan that left it out
	Summary atomic.Pointer[Summary]
}

// Summary is a model's summary of what a plan left out.
type Summary struct {
	Tenant       string  `json:"-"`
	Conversation string  `json:"-"`
	Model        string  `json:"model,omitempty"` // of the conversation
	Plan         string  `json:"-"`
	Text         string  `json:"text"`
	Cost         float64 `json:"cost"`
	// Messages is how many messages it covers; Before and After are the tokens
	// of these and of the text.
	Messages int   `json:"messages"`
	Before   int   `json:"tokens_before"`
	After    int   `json:"tokens_after"`
	Err      error `json:"-"`
}

// The kind of a summary's record; its key is the plan's id.
const summaryKind = "summary"

// Record returns the record of a summary, which belongs to the conversation as
// a whole.
func (s *Summary) Record() (timeline.Record, error) {
	data, err := json.Marshal(s)
	return timeline.Record{Kind: summaryKind, Key: s.Plan, Data: data}, err
}

// readSummaries reads the summaries of a conversation, by plan.
func readSummaries(ctx context.Context, n timeline.Notes) (map[string]*Summary, error) {
	records, err := n.Store.Records(ctx, n.Tenant, n.Conversation, summaryKind, "")
	if err != nil {
		return nil, err
	}
	all := map[string]*Summary{}
	for i := range records {
		s := &Summary{Tenant: n.Tenant, Conversation: n.Conversation, Plan: records[i].Key}
		if json.Unmarshal(records[i].Data, s) == nil && condense.IsSummary(s.Text) {
			all[s.Plan] = s
		}
	}
	return all, nil
}

// ReadSummaries reads the summaries that other processes have written for the plans of a
// conversation, whose summaries are not known yet.
func ReadSummaries(ctx context.Context, n timeline.Notes, plans []*Plan) error {
	lacks := func(p *Plan) bool { return p.Fold != nil && p.Fold.Summary.Load() == nil }
	if !slices.ContainsFunc(plans, lacks) {
		return nil
	}
	found, err := readSummaries(ctx, n)
	if err != nil {
		return err
	}
	for _, p := range plans {
		if !lacks(p) {
			continue
		}
		if s := found[p.Fold.Plan]; s != nil {
			p.Fold.Summary.CompareAndSwap(nil, s)
		}
	}
	return nil
}
