package api

import (
	"context"
	"strconv"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/composition"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// allCalls returns the calls of a conversation, oldest first.
func (q *request) allCalls(ctx context.Context, c *timeline.Conversation) ([]report.Call, error) {
	return q.Handler.calls.get(q.tenant, c,
		func() ([]report.Call, error) { return report.Calls(ctx, q.Store, q.tenant, c) })
}

func (q *request) callList() (*list[report.Call], error) {
	ctx := q.Context()
	p, err := q.page("calls")
	if err != nil {
		return nil, err
	}
	order, err := q.choice(orderParam)
	if err != nil {
		return nil, err
	}
	c, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	calls, err := q.allCalls(ctx, c)
	if err != nil {
		return nil, err
	}
	// A cursor is the number of the last call of the page before.
	step, first := int64(1), int64(0)
	if order == "desc" {
		step, first = -1, int64(len(calls))+1
	}
	at, err := p.number(first)
	if err != nil {
		return nil, err
	}
	out := &list[report.Call]{Items: []report.Call{}, Total: int64(len(calls))}
	err = q.ledger.Calls(ctx, q.tenant, c, q.models(), func(all []usage.Priced) {
		for at += step; 1 <= at && at <= int64(len(calls)); at += step {
			if len(out.Items) == p.limit {
				out.Next = next("calls", strconv.FormatInt(at-step, 10))
				break
			}
			out.Items = append(out.Items, calls[at-1])
			out.Items[len(out.Items)-1].SetPrice(all)
		}
	})
	if err != nil {
		return nil, err
	}
	found, err := q.missed(ctx, c)
	for i := range out.Items {
		out.Items[i].SetMiss(found)
	}
	return out, err
}

// missed returns what the calls of a conversation could have read from their providers' caches.
func (q *request) missed(ctx context.Context, c *timeline.Conversation) ([]misses.Call, error) {
	return q.misses.Calls(ctx, q.tenant, c, q.models())
}

// findCall returns the conversation that the path names, its calls, and the call that a
// person means by a name.
func (q *request) findCall(ctx context.Context,
	name string) (*timeline.Conversation, []report.Call, *report.Call, error) {
	c, err := q.find(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	calls, err := q.allCalls(ctx, c)
	if err != nil {
		return nil, nil, nil, err
	}
	at, err := callOf(calls, name)
	if err != nil {
		return nil, nil, nil, err
	}
	return c, calls, at, nil
}

// callOf returns the call that a person means by a name.
func callOf(calls []report.Call, name string) (*report.Call, error) {
	i, err := report.CallOf(calls, name)
	if err != nil {
		return nil, notFound("GET …/calls lists the calls", "no such call: %s", short(name))
	}
	return &calls[i], nil
}

func (q *request) call() (*report.Call, error) {
	c, _, at, err := q.findCall(q.Context(), q.PathValue("call"))
	if err != nil {
		return nil, err
	}
	out := *at
	if err = q.ledger.Calls(q.Context(), q.tenant, c, q.models(), out.SetPrice); err != nil {
		return nil, err
	}
	found, err := q.missed(q.Context(), c)
	out.SetMiss(found)
	return &out, err
}

func (q *request) sent() (*raw, error) {
	which, err := q.choice(bodyParam)
	if err != nil {
		return nil, err
	}
	c, _, at, err := q.findCall(q.Context(), q.PathValue("call"))
	if err != nil {
		return nil, err
	}
	body, err := q.bodyOf(c, at, which)
	return &raw{"application/json", body}, err
}

// bodyOf returns the body of a call as it was sent or as it came.
func (q *request) bodyOf(c *timeline.Conversation, at *report.Call, which string) ([]byte, error) {
	if which == "came" {
		return report.Came(q.Context(), q.Store, q.tenant, at)
	}
	return report.Sent(q.Context(), q.Store, q.tenant, c.Name, at)
}

// Of a change in a difference, at most maxLines lines of maxLine bytes are returned.
const (
	maxLines = 40
	maxLine  = 400
)

func (q *request) diff() (*report.Difference, error) {
	c, calls, at, err := q.findCall(q.Context(), q.PathValue("call"))
	if err != nil {
		return nil, err
	}
	with := q.URL.Query().Get("with")
	out := &report.Difference{Conversation: c.Name, From: *at, To: *at, Changes: []report.Change{}}
	var before []byte
	switch {
	case with == "came" || with == "" && at.Number == 1:
		out.Came = true
		before, err = q.bodyOf(c, at, "came")
	default:
		other := &calls[max(0, at.Number-2)]
		if with != "" {
			if other, err = callOf(calls, with); err != nil {
				return nil, err
			}
		}
		out.From = *other
		before, err = q.bodyOf(c, other, "sent")
	}
	if err != nil {
		return nil, err
	}
	after, err := q.bodyOf(c, at, "sent")
	if err != nil {
		return nil, err
	}
	if err := q.ledger.Calls(q.Context(), q.tenant, c, q.models(), func(all []usage.Priced) {
		out.From.SetPrice(all)
		out.To.SetPrice(all)
	}); err != nil {
		return nil, err
	}
	changes, err := report.Diff(before, after)
	for i := range changes {
		c := &changes[i]
		c.Text, _ = withoutBase64(c.Text)
		c.Lines = c.Lines[:min(maxLines, len(c.Lines))]
		for j := range c.Lines {
			c.Lines[j].Text, _ = withoutBase64(clip.To(c.Lines[j].Text, maxLine))
		}
	}
	out.Changes = append(out.Changes, changes...)
	return out, err
}

func (q *request) composition() (*composition.Window, error) {
	c, _, at, err := q.findCall(q.Context(), q.PathValue("call"))
	if err != nil {
		return nil, err
	}
	scale, err := q.calibration()
	if err != nil {
		return nil, err
	}
	if at.Plan == "" && at.TokensAfter != at.TokensBefore {
		return nil, report.ErrNotKept
	}
	w, err := composition.Read(q.Context(), q.Store, q.tenant, c.Name, at.ID,
		composition.Options{Models: q.models(), Calibration: scale})
	if err == nil {
		w.Call = at.Number
	}
	return w, err
}

func (q *request) dayComposition() (*composition.Total, error) {
	now, err := q.now()
	if err != nil {
		return nil, err
	}
	since, err := q.since(now)
	if err != nil {
		return nil, err
	}
	if since.IsZero() {
		since = midnight(now)
	}
	scale, err := q.calibration()
	if err != nil {
		return nil, err
	}
	return composition.ReadTotal(q.Context(), q.Store, q.ledger, q.tenant, since,
		composition.Options{Models: q.models(), Calibration: scale})
}

// calibration returns what was learnt about how providers count.
func (q *request) calibration() (*token.Calibration, error) {
	learnt, err := q.Learnt()
	if err != nil || learnt == nil {
		return nil, err
	}
	return learnt.Calibration, nil
}
