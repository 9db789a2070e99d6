package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
)

// Call is a call that was recorded. Its JSON form is that of the API, of oriel show --calls and
// of oriel show --diff.
type Call struct {
	// Number is its place among the calls of the conversation, from 1 on.
	Number int `json:"call"`
	// ID identifies the call in logs.
	ID string `json:"id"`
	// Last is the id of the last message of the request.
	Last int64 `json:"last"`
	// Time is when it began.
	Time  time.Time `json:"time"`
	Model string    `json:"model"`
	// TokensBefore is the size of the prompt as it came.
	TokensBefore int `json:"tokens_before"`
	// TokensAfter is the size of the prompt as it was sent.
	TokensAfter int `json:"tokens_after"`
	// Plan is the id of the plan by which it was sent; empty if nothing was left out.
	Plan string `json:"plan"`
	// Status is the HTTP status of the answer; 0 if none came.
	Status int `json:"status"`
	// Error is why the answer is incomplete; empty if it is whole.
	Error string `json:"error"`
	// RetryAfter is the header Retry-After of an answer that is an error.
	RetryAfter string `json:"retry_after"`
	// MS is how many milliseconds the answer took.
	MS float64 `json:"ms"`
	// FirstMS is how many milliseconds its first byte took.
	FirstMS float64 `json:"first_ms"`
	// Profile is the name of its profile.
	Profile string `json:"profile"`
	// Budget is the size that the profile wants; 0 if it is not known.
	Budget int `json:"budget"`
	// Limit is what the model accepts, or the call asks for.
	Limit int `json:"limit"`
	// Cost is in US dollars, 0 for a model without a price.
	Cost float64 `json:"cost"`
	// Without is the estimate of the cost had everything been sent.
	Without float64 `json:"without"`
	// Priced reports whether the model has a price.
	Priced bool `json:"priced"`
	// Usage is what the provider reported.
	Usage *event.Usage `json:"usage,omitempty"`
	// Could is how much of the prompt the provider could have read from its cache, with what it
	// read; 0 if it reported no usage.
	Could int `json:"could"`
	// Miss is why it did not read that; absent if it did.
	Miss *misses.Miss `json:"miss,omitempty"`

	billed bool // something was used, as far as is known
	record timeline.Record
	// before and head are those of call.Stored; side reports that another agent made
	// the call, managed that the provider may have removed something from the window.
	before, head  int64
	side, managed bool
}

// At returns the place of the last message of the request.
func (c *Call) At() timeline.Place { return c.record.At }

// SetPrice sets what a call cost; priced are the calls of its conversation.
func (c *Call) SetPrice(priced []usage.Priced) {
	// Most calls end in the order in which they began.
	i := c.Number - 1
	if i >= len(priced) || priced[i].ID != c.ID {
		i = slices.IndexFunc(priced, func(p usage.Priced) bool { return p.ID == c.ID })
	}
	if i >= 0 {
		p := &priced[i].Price
		c.Cost, c.Without, c.Priced, c.billed = usage.Dollars(p.Cost), usage.Dollars(p.Without), p.Known, p.Billed
	}
}

// SetMiss sets what the provider could have read from its cache; found are the calls of its
// conversation in the order in which they began.
func (c *Call) SetMiss(found []misses.Call) {
	if i := c.Number - 1; i < len(found) && found[i].ID == c.ID {
		c.Could, c.Miss = found[i].Could, found[i].Miss
	}
}

// Unpriced reports whether a call used something and its model has no price.
func (c *Call) Unpriced() bool { return c.billed && !c.Priced }

// Calls returns the recorded calls of a conversation in the order in which they began. A
// call is written when it ends, or later. They have no prices.
func Calls(ctx context.Context, s timeline.Store, tenant string, c *timeline.Conversation) ([]Call, error) {
	records, err := s.Records(ctx, tenant, c.Name, "call", "")
	if err != nil {
		return nil, err
	}
	plans, err := plan.Names(ctx, timeline.Notes{Store: s, Tenant: tenant, Conversation: c.Name})
	if err != nil {
		return nil, err
	}
	calls := []Call{}
	for i := range records {
		if strings.HasPrefix(records[i].Key, usage.Imported) {
			continue
		}
		r, err := call.Decode(&records[i])
		if err != nil {
			return nil, err
		}
		calls = append(calls, Call{
			ID: records[i].Key, Last: records[i].At.Depth, Time: r.Began.UTC(), Model: r.Model, TokensBefore: r.Came,
			TokensAfter: r.Tokens,
			Plan:        cmp.Or(plans[r.Plan], r.Plan), Status: r.Status, Error: r.Error, RetryAfter: r.RetryAfter,
			Usage: r.Usage, record: records[i],
			Profile: r.Profile, Budget: r.Wish, Limit: r.Hard, FirstMS: r.FirstMS, MS: r.MS, before: int64(r.Before),
			head: int64(r.Head), side: r.Thread == thread.Side, managed: r.Managed != "",
		})
	}
	slices.SortStableFunc(calls, func(a, b Call) int { return a.Time.Compare(b.Time) })
	for i := range calls {
		calls[i].Number = i + 1
	}
	return calls, nil
}

// CallOf returns the index of the call that a person means: the newest by "", Last or Dash;
// by its number; by its id; or by the beginning of its id, if no other begins so.
func CallOf(calls []Call, name string) (int, error) {
	if len(calls) == 0 {
		return 0, fmt.Errorf("no call was recorded: oriel run and oriel serve record them")
	}
	if name == "" || name == Last || name == Dash {
		return len(calls) - 1, nil
	}
	ids := make([]string, len(calls))
	for i := range calls {
		if ids[i] = calls[i].ID; ids[i] == name {
			return i, nil
		}
	}
	if n, err := strconv.Atoi(name); err == nil && 0 < n && n <= len(calls) {
		return n - 1, nil
	}
	if found := newNameIndex(ids).begin(name); len(found) == 1 {
		return slices.Index(ids, found[0]), nil
	}
	return 0, fmt.Errorf("no call is called %s: there are calls 1 to %d, oriel show CONVERSATION --calls lists them",
		strconv.Quote(clip.To(name, 40)), len(calls))
}

// ErrNotKept: a call was sent by a view that was not stored, because its plan could not be
// made in time or failed.
var ErrNotKept = errors.New("the call was fitted without a plan, and its body is not stored")

// Sent returns the body that was sent at a call, without credentials. It returns ErrNotKept
// or call.ErrPlanGone if the body is not known.
func Sent(ctx context.Context, s timeline.Store, tenant, conversation string, c *Call) ([]byte, error) {
	if c.Plan == "" && c.TokensAfter != c.TokensBefore {
		return nil, fmt.Errorf("call %d: %w", c.Number, ErrNotKept)
	}
	_, body, err := call.ReadSent(ctx, s, tenant, conversation, &c.record, call.SentOptions{})
	return body, err
}

// Came returns the body of a call as it came, without credentials.
func Came(ctx context.Context, s timeline.Store, tenant string, c *Call) ([]byte, error) {
	stored, err := call.Read(ctx, s, tenant, &c.record)
	if err != nil {
		return nil, err
	}
	return stored.Body, nil
}
