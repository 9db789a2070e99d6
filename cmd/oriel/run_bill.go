package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/token"
)

// tally counts what happens during a run. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex // protects what follows
	calls  []oriel.Event
	counts map[string]int
	cost   float64 // beside the calls
}

// event is told of everything.
func (t *tally) event(e oriel.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[e.Kind]++
	t.cost += e.Cost
	if e.Kind == oriel.EventCall {
		t.calls = append(t.calls, e)
	}
}

// bill is what calls were, and what they would have been as they came.
type bill struct {
	Calls int `json:"calls"`
	// Failed are those to which the provider, or the way to it, gave no whole answer;
	// Failure is why, of the last.
	Failed        int      `json:"failed"`
	Failure       string   `json:"failure,omitempty"`
	Conversations []string `json:"conversations"` // the one with the most calls first
	// Before and After are the prompts as they came and as they were sent, as counted
	// here.
	Before int `json:"tokens_before"`
	After  int `json:"tokens_after"`
	// Prompt, CacheRead and Output are the provider's figures, ours for calls of which
	// it reported none.
	Prompt     int `json:"prompt"`
	CacheRead  int `json:"cache_read"`
	Output     int `json:"output"`
	Unreported int `json:"unreported"`
	// Cost and CostBefore are estimates in US dollars of what was sent, and of the same
	// calls as they came; Unpriced are models without prices, whose calls are in
	// neither.
	Cost       float64  `json:"cost"`
	CostBefore float64  `json:"cost_before"`
	Unpriced   []string `json:"unpriced,omitempty"`
}

// makeBill adds calls up, in the order in which they ended.
//
// A call that was sent as it came costs what the provider's usage says. Where something
// was left out, of that call or of one before it in the conversation, the call as it came
// is this: the prompt with what was left out; what the call before had is read from the
// cache, if the conversation uses one, and the rest is new.
func makeBill(calls []oriel.Event, models *token.Models) bill {
	b := bill{Calls: len(calls)}
	parts := map[string]int{} // calls of conversations
	type line struct{ conversation, model string }
	whole := map[line]int{} // the last prompt as it came
	cut, cached := map[line]bool{}, map[line]bool{}
	for i := range calls {
		e := &calls[i]
		parts[e.Conversation]++
		// Who leaves has what it wants: some do at the last event.
		if e.Error != "" && !strings.HasPrefix(e.Error, proxy.ErrClientLeft.Error()) {
			b.Failed++
			b.Failure = e.Error
		}
		b.Before += e.TokensBefore
		b.After += e.TokensAfter
		if e.Usage == nil && e.Error != "" {
			continue // nobody says what was used, if anything
		}
		usage := token.Usage{Input: e.TokensAfter}
		if u := e.Usage; u != nil {
			usage = token.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheWrite1h: u.Hour, Output: u.Output}
		} else {
			b.Unreported++
		}
		b.Prompt += usage.Prompt()
		b.CacheRead += usage.CacheRead
		b.Output += usage.Output

		at := line{e.Conversation, e.Model}
		cached[at] = cached[at] || usage.Prompt() > usage.Input
		before := usage
		if cut[at] = cut[at] || e.TokensBefore > e.TokensAfter; cut[at] {
			had := whole[at]
			if !cached[at] {
				had = 0
			}
			before = asItCame(usage, max(0, e.TokensBefore-e.TokensAfter), had)
		}
		whole[at] = before.Prompt()
		model := models.Lookup(e.Model)
		if !model.Known || !model.Prices.Known() {
			if !slices.Contains(b.Unpriced, e.Model) {
				b.Unpriced = append(b.Unpriced, e.Model)
			}
			continue
		}
		b.Cost += model.Prices.Cost(usage)
		b.CostBefore += model.Prices.Cost(before)
	}
	b.Conversations = slices.SortedFunc(maps.Keys(parts), func(x, y string) int { return cmp.Or(parts[y]-parts[x], cmp.Compare(x, y)) })
	return b
}

// asItCame is the usage of a call from which left tokens were left out, had they not
// been: had is what of the prompt would have been in the cache.
func asItCame(sent token.Usage, left, had int) token.Usage {
	prompt := sent.Prompt() + left
	u := token.Usage{CacheRead: min(had, prompt), Output: sent.Output}
	switch fresh := prompt - u.CacheRead; {
	case sent.CacheWrite1h > sent.CacheWrite:
		u.CacheWrite1h = fresh
	case sent.CacheWrite > 0:
		u.CacheWrite = fresh
	default:
		u.Input = fresh
	}
	return u
}
