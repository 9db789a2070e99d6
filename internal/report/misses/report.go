package misses

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Options select calls.
type Options struct {
	// Since leaves out calls before it. The zero value is all.
	Since time.Time
	// Models is the table with cache rules and prices. Default: the built-in one.
	Models *token.Models
	// Largest is how many single misses are listed. Default 10.
	Largest int
}

// CacheReport is what was read from providers' caches. Its JSON form is that of oriel usage --cache
// --json and of the API.
type CacheReport struct {
	// Calls counts the calls, Unreported those of them of which the provider reported no usage:
	// they are in no other figure.
	Calls      int `json:"calls"`
	Unreported int `json:"unreported"`
	// Input is the tokens of all prompts, Read those that were read from the cache, Could those
	// that could have been, with Read. Unread is the difference as far as it counts as missed.
	Input  int `json:"input"`
	Read   int `json:"cache_read"`
	Could  int `json:"could"`
	Unread int `json:"unread"`
	// Cost is what the unread tokens cost more, in US dollars, without models that have no price.
	Cost float64 `json:"cost"`
	// Reasons are all reasons, in the order of the constants.
	Reasons []ReasonSum `json:"reasons"`
	// Largest are the calls with the most unread tokens.
	Largest []MissedCall `json:"largest"`
}

// ReasonSum is the misses of one reason.
type ReasonSum struct {
	Reason Reason  `json:"reason"`
	Calls  int     `json:"calls"`
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
}

// MissedCall is a call with a miss.
type MissedCall struct {
	Conversation string    `json:"conversation"`
	Call         int       `json:"call"`
	ID           string    `json:"id"`
	Time         time.Time `json:"time"`
	Asked        string    `json:"asked"`
	Read         int       `json:"cache_read"`
	Miss
}

// Read adds up the recorded calls of a tenant.
func Read(ctx context.Context, store timeline.Store, tenant string, o Options) (*CacheReport, error) {
	return NewReader(store).Read(ctx, tenant, o)
}

// Read adds up the recorded calls of a tenant.
func (r *Reader) Read(ctx context.Context, tenant string, o Options) (*CacheReport, error) {
	all, err := r.store.Conversations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	s := newSum()
	for i := range all {
		if all[i].Updated.Before(o.Since) {
			continue
		}
		calls, err := r.Calls(ctx, tenant, &all[i], o.Models)
		if err != nil {
			return nil, err
		}
		for k := range calls {
			if !calls[k].Time.Before(o.Since) {
				s.add(all[i].Name, &calls[k])
			}
		}
	}
	return s.report(cmp.Or(o.Largest, 10)), nil
}

// sum adds up calls.
type sum struct {
	total   CacheReport
	reasons map[Reason]*ReasonSum
	found   []MissedCall
}

func newSum() *sum { return &sum{reasons: map[Reason]*ReasonSum{}} }

// add adds a call of a conversation.
func (a *sum) add(conversation string, c *Call) {
	r := &a.total
	r.Calls++
	if !c.Reported() {
		r.Unreported++
		return
	}
	r.Input += c.Prompt
	r.Read += c.Read
	r.Could += c.Could
	if c.Miss == nil {
		return
	}
	of := a.reasons[c.Miss.Reason]
	if of == nil {
		of = &ReasonSum{Reason: c.Miss.Reason}
		a.reasons[c.Miss.Reason] = of
	}
	of.Calls++
	of.Tokens += c.Miss.Tokens
	of.Cost += c.Miss.Cost
	r.Unread += c.Miss.Tokens
	r.Cost += c.Miss.Cost
	a.found = append(a.found, MissedCall{Conversation: conversation, Call: c.Number, ID: c.ID, Time: c.Time.UTC(),
		Asked: c.Model, Read: c.Read, Miss: *c.Miss})
}

// report returns the sums, with the largest misses.
func (a *sum) report(largest int) *CacheReport {
	r := a.total
	r.Cost = usage.Dollars(r.Cost)
	for _, reason := range Reasons {
		s := ReasonSum{Reason: reason}
		if of := a.reasons[reason]; of != nil {
			s = *of
			s.Cost = usage.Dollars(s.Cost)
		}
		r.Reasons = append(r.Reasons, s)
	}
	slices.SortStableFunc(a.found, func(a, b MissedCall) int { return cmp.Compare(b.Tokens, a.Tokens) })
	r.Largest = append([]MissedCall{}, a.found[:min(largest, len(a.found))]...)
	return &r
}
