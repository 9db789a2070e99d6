package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// runCounts counts what happens during a run. It is safe for concurrent use.
type runCounts struct {
	mu     sync.Mutex // protects what follows
	calls  []oriel.Event
	counts map[string]int
	cost   float64 // besides the calls
	// failedSummaries are summaries that were not written; summaryError is why, of the
	// last.
	failedSummaries int
	summaryError    string
}

// event counts an event.
func (t *runCounts) event(e oriel.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.cost += e.Cost
	if e.Kind == oriel.EventCondensation && e.Error != "" {
		t.failedSummaries++
		t.summaryError = e.Error
		return
	}
	t.counts[e.Kind]++
	if e.Kind == oriel.EventCall {
		t.calls = append(t.calls, e)
	}
}

// bill is what the calls cost, and what they would have cost as they came.
type bill struct {
	Calls int `json:"calls"`
	// Failed counts calls to which the provider, or the way to it, gave no
	// complete answer; Failure is the reason of the last one.
	Failed        int      `json:"failed"`
	Failure       string   `json:"failure,omitempty"`
	Conversations []string `json:"conversations"` // the one with the most calls first
	// Before and After are the prompts as they came and as they were sent, in
	// tokens counted by Oriel.
	Before int `json:"tokens_before"`
	After  int `json:"tokens_after"`
	// Input, CacheRead and Output are the provider's figures, or Oriel's for
	// calls without any.
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read"`
	Output     int `json:"output"`
	Unreported int `json:"unreported"`
	// Cost and Without are estimates in US dollars of what was sent, and of
	// the same calls as they came. UnknownModels are models without prices, whose
	// calls are in neither.
	Cost          float64  `json:"cost"`
	Without       float64  `json:"without"`
	UnknownModels []string `json:"unknown_models"`
	// Observed is what other profiles would have sent and cost, under the profile observe.
	Observed *usage.Observed `json:"observed,omitempty"`
}

// makeBill adds calls up, in the order in which they ended. Prices are those of the recorded
// calls, which depend on the calls before them in the history; usage.Ledger says what a call
// costs that is not recorded.
func makeBill(calls []oriel.Event, models *token.Models, recorded map[string]usage.Price) bill {
	b := bill{Calls: len(calls), UnknownModels: []string{}}
	parts := map[string]int{} // calls of conversations
	ledger := usage.NewLedger(models)
	for i := range calls {
		e := &calls[i]
		parts[e.Conversation]++
		call := usage.Call{Conversation: e.Conversation, Model: e.Model, Came: e.TokensBefore, Sent: e.TokensAfter,
			Outcome: e.Outcome}
		if e.Usage != nil {
			call.Usage = usage.OfProvider(e.Usage)
		}
		if call.Outcome.Failed() {
			b.Failed++
			b.Failure = e.Error
		}
		b.Before += e.TokensBefore
		b.After += e.TokensAfter
		p := ledger.Price(&call)
		if known, ok := recorded[e.Call]; ok {
			p = known
		}
		if !p.Billed {
			continue
		}
		if !p.Reported {
			b.Unreported++
		}
		b.Input += p.Usage.Prompt()
		b.CacheRead += p.Usage.CacheRead
		b.Output += p.Usage.Output
		b.Cost += p.Cost
		if len(p.Would) > 0 {
			if b.Observed == nil {
				b.Observed = new(usage.Observed)
			}
			b.Observed.Add(&p)
		}
		b.Without += p.Without
		if !p.Known && !slices.Contains(b.UnknownModels, e.Model) {
			b.UnknownModels = append(b.UnknownModels, e.Model)
		}
	}
	if b.Observed != nil {
		b.Observed.Finish()
	}
	b.Conversations = slices.SortedFunc(maps.Keys(parts),
		func(x, y string) int { return cmp.Or(parts[y]-parts[x], cmp.Compare(x, y)) })
	return b
}

// pricesSince returns the prices of the recorded calls that began since then, by their ids,
// as far as the history can be read in time. An interrupt, which ends the program that was
// run, does not end it.
func pricesSince(ctx context.Context, h *history, since time.Time, models *token.Models) map[string]usage.Price {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthWait)
	defer cancel()
	out := map[string]usage.Price{}
	_ = h.with(ctx, func(s tenantStore) error {
		o := usage.Options{Since: since, Models: models}
		return usage.NewReader(s).Visit(ctx, s.tenant, o, func(_ *timeline.Conversation, calls []usage.Priced,
			_ []usage.Paid) error {
			for i := range calls {
				out[calls[i].ID] = calls[i].Price
			}
			return nil
		})
	})
	return out
}
