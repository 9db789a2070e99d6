package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// strip is all messages of a conversation in short, and what became of them at a call.
type strip struct {
	Conversation string `json:"conversation"`
	// Call is the number of the call, 0 if none was recorded.
	Call  int `json:"call"`
	Calls int `json:"calls"`
	// The number of messages; ids are 1 to count.
	Count int64 `json:"count"`
	// Upto is the last message of the call's request.
	Upto int64 `json:"upto"`
	// Branch reports that the call is on a branch that the conversation has left.
	Branch       bool `json:"branch"`
	TokensBefore int  `json:"tokens_before"`
	TokensAfter  int  `json:"tokens_after"`
	// What the profile wants; 0 if it is not known.
	Budget int `json:"budget"`
	// What the model takes, or the call allowed.
	Limit int    `json:"limit"`
	Plan  string `json:"plan"`
	Model string `json:"model"`
	// The status of the answer; 0 if none came.
	Status int `json:"status"`
	// What the provider or the way to it failed with; empty if nothing did.
	Error string `json:"error"`
	// The header Retry-After of an answer that is an error.
	RetryAfter string     `json:"retry_after"`
	Time       *time.Time `json:"time,omitempty"`

	// First and last message, and what became of them at the call. Messages without one were sent as
	// they came.
	Verdicts []verdicts `json:"verdicts"`
	Pinned   []int64    `json:"pinned"`
	// First and last messages that undone plans hold in view.
	Held     [][2]int64 `json:"held"`
	Recalled []recalled `json:"recalled"`
	// A letter for each message: s system, u a person's words, a the model's words, c the model calls
	// tools, t what tools returned, m a line an agent wrote for itself, o other.
	Kinds string `json:"kinds,omitempty"`
	// Tokens of each message's own text, estimated by its length.
	Tokens []int32 `json:"tokens,omitempty"`
}

// verdicts is what became of messages first to last: [first, last, verdict].
type verdicts [3]any

// recalled is a passage that was brought back.
type recalled struct {
	// The message that has it.
	Into int64 `json:"into"`
	// Where it comes from; empty if that is not known.
	Conversation string `json:"conversation"`
	// The message that it comes from; 0 if that is not known.
	ID     int64 `json:"id"`
	Tokens int   `json:"tokens"`
}

func (q *request) strip() (*strip, error) {
	ctx := q.Context()
	only, err := q.choice(onlyParam)
	if err != nil {
		return nil, err
	}
	v, err := q.viewAt(ctx)
	if err != nil {
		return nil, err
	}
	out := &strip{
		Conversation: v.conversation.Name, Calls: len(v.calls), Count: v.head.Depth, Upto: v.head.Depth,
		Branch:   v.branch,
		Verdicts: []verdicts{}, Held: [][2]int64{}, Recalled: []recalled{},
	}
	if c := v.call; c != nil {
		out.Call, out.Upto, out.TokensBefore, out.TokensAfter, out.Plan, out.Model, out.Time = c.Number, c.Last,
			c.TokensBefore, c.TokensAfter,
			c.Plan, c.Model, &c.Time
		out.Budget, out.Limit = c.Budget, c.Limit
		out.Status, out.Error, out.RetryAfter = c.Status, c.Error, c.RetryAfter
	}
	if v.plan != nil {
		out.Verdicts, out.Recalled = verdictsOf(v.plan, out.Upto), recalledBy(v.plan, v.conversation.Name)
	}
	if out.Pinned, err = q.pinned(ctx, v.conversation); err != nil {
		return nil, err
	}
	holds, err := q.holds(ctx, v.conversation)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		for _, r := range h.Held {
			out.Held = append(out.Held, [2]int64{int64(r[0]), int64(r[1])})
		}
	}
	if only == "all" {
		o, err := q.outline(ctx, v)
		if err != nil {
			return nil, err
		}
		out.Kinds, out.Tokens = string(o.Kinds), o.Sizes(v.plans)
	}
	return out, nil
}

// view is a conversation as one of its calls showed it.
type view struct {
	conversation *timeline.Conversation
	calls        []report.Call
	call         *report.Call // nil if none was recorded
	// head is where the branch ends that has the call; branch reports that the
	// conversation has left it.
	head   timeline.Place
	branch bool
	// plans are those of the branch, plan is that of the call, nil if everything was sent
	// as it came.
	plans []report.Plan
	plan  *report.Plan
}

// viewAt returns the view that the request means: that of the parameter call, or of the
// newest call.
func (q *request) viewAt(ctx context.Context) (*view, error) {
	c, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	v := &view{conversation: c, head: c.Head}
	if v.calls, err = q.allCalls(ctx, c); err != nil {
		return nil, err
	}
	name := q.URL.Query().Get("call")
	if len(v.calls) == 0 && (name == "" || name == report.Last) {
		v.plans, err = q.allPlans(ctx, c)
		if len(v.plans) > 0 { // of a conversation of items
			v.plan = &v.plans[len(v.plans)-1]
		}
		return v, err
	}
	if v.call, err = callOf(v.calls, name); err != nil {
		return nil, err
	}
	here, err := timeline.Passes(ctx, q.Store, q.tenant, c.Head, v.call.At())
	if err != nil {
		return nil, err
	}
	v.plans, err = q.allPlans(ctx, c)
	if !here {
		v.head, v.branch = v.call.At(), true
		then := *c
		then.Head = v.head
		v.plans, err = report.Plans(ctx, q.Store, q.tenant, &then)
	}
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(v.plans, func(p report.Plan) bool {
		return v.call.Plan != "" &&
			p.ID == v.call.Plan
	}); i >= 0 {
		v.plan = &v.plans[i]
	}
	return v, nil
}

// outline returns the messages of a view in short. It extends the last outline of the
// conversation.
func (q *request) outline(ctx context.Context, v *view) (*report.Outline, error) {
	known := q.strips.last(q.tenant, v.conversation.Name)
	if v.branch {
		return report.ReadOutline(ctx, q.Store, q.tenant, v.head, known)
	}
	return q.strips.get(q.tenant, v.conversation, func() (*report.Outline, error) {
		return report.ReadOutline(ctx, q.Store, q.tenant, v.head, known)
	})
}

// verdictsOf returns what a plan did to messages up to one, in order.
func verdictsOf(p *report.Plan, upto int64) []verdicts {
	out := []verdicts{}
	var first, last int64
	var was window.Verdict
	end := func() {
		if was != "" {
			out = append(out, verdicts{first, last, was})
		}
	}
	for i := range p.Blocks {
		b := &p.Blocks[i]
		switch {
		case b.ID > upto:
			continue
		case b.Verdict != was || b.ID != last+1:
			end()
			first, was = b.ID, b.Verdict
		}
		last = b.ID
	}
	end()
	return out
}

// recalledBy returns the passages that a plan brought back.
func recalledBy(p *report.Plan, own string) []recalled {
	out := []recalled{}
	for _, in := range p.Inserted {
		if in.Kind != "recall" {
			continue
		}
		blocks := strings.Fields(in.Block)
		for _, b := range blocks {
			name, id := report.Origin(b, own)
			out = append(out, recalled{int64(in.Into), name, id, in.Tokens / len(blocks)})
		}
		if len(blocks) == 0 {
			out = append(out, recalled{Into: int64(in.Into), Tokens: in.Tokens})
		}
	}
	slices.SortStableFunc(out, func(a, b recalled) int { return cmp.Compare(a.Into, b.Into) })
	return out
}
