package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/window"
)

// message is a message whole, and what became of it at a call.
type message struct {
	report.Message
	Parts []part `json:"parts"`
	// Cut reports that texts are cut: GET …/messages/{message} has them whole.
	Cut bool `json:"cut,omitempty"`
	// What became of it at the call.
	Verdict window.Verdict `json:"verdict,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Plan    string         `json:"plan,omitempty"`
}

// messageDetail is a message with what each plan did to it.
type messageDetail struct {
	message
	// The plans that changed what becomes of it, oldest first.
	History []judged `json:"history"`
}

// judged is what a plan did to a message.
type judged struct {
	Plan string    `json:"plan"`
	Time time.Time `json:"time"`
	// Call is the number of the first call that was sent by the plan; 0 if none was.
	Call int `json:"call"`
	// What became of it at the call.
	Verdict window.Verdict `json:"verdict"`
	Reason  string         `json:"reason"`
}

// Limits of a page of messages in bytes of text: of the page, and of a part.
const (
	maxPageText = 2 << 20
	maxPartText = 256 << 10
)

// errPageFull ends a page.
var errPageFull = errors.New("the page is full")

func (q *request) messages() (*list[message], error) {
	ctx := q.Context()
	p, err := q.page("messages")
	if err != nil {
		return nil, err
	}
	first, err := q.integer(fromParam, 1)
	if err != nil {
		return nil, err
	}
	last, err := q.integer(toParam, maxMessage)
	if err != nil {
		return nil, err
	}
	v, err := q.viewAt(ctx)
	if err != nil {
		return nil, err
	}
	after, err := p.number(first - 1)
	if err != nil {
		return nil, err
	}
	last = min(last, v.head.Depth)
	out := &list[message]{Items: []message{}, Total: max(0, last-first+1)}
	size := 0
	err = q.readMessages(ctx, v, max(first, after+1), last, maxPartText, func(m message) error {
		if len(out.Items) == p.limit || size > maxPageText {
			out.Next = next("messages", strconv.FormatInt(m.ID-1, 10))
			return errPageFull
		}
		for i := range m.Parts {
			size += len(m.Parts[i].Text)
		}
		out.Items = append(out.Items, m)
		return nil
	})
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return out, err
}

func (q *request) message() (*messageDetail, error) {
	ctx := q.Context()
	v, err := q.viewAt(ctx)
	if err != nil {
		return nil, err
	}
	missing := notFound("messages are numbered from 1 to "+strconv.FormatInt(v.head.Depth, 10), "no such message: %s",
		short(q.PathValue("message")))
	id, err := strconv.ParseInt(q.PathValue("message"), 10, 64)
	if err != nil || id < 1 || id > v.head.Depth {
		return nil, missing
	}
	out := &messageDetail{History: []judged{}}
	if err := q.readMessages(ctx, v, id, id, 0, func(m message) error {
		out.message = m
		return nil
	}); err != nil {
		return nil, err
	}
	if out.ID == 0 {
		return nil, missing
	}
	if err := q.nameResults(ctx, v, &out.message); err != nil {
		return nil, err
	}
	plans, err := q.allPlans(ctx, v.conversation)
	if err != nil {
		return nil, err
	}
	was := window.Keep
	for i := range plans {
		now := judged{Plan: plans[i].ID, Time: plans[i].Time, Verdict: window.Keep}
		if b := blockOf(&plans[i], id); b != nil {
			now.Verdict, now.Reason = b.Verdict, b.Reason
		}
		if now.Verdict != was {
			if i := slices.IndexFunc(v.calls, func(c report.Call) bool { return c.Plan == now.Plan }); i >= 0 {
				now.Call = v.calls[i].Number
			}
			out.History = append(out.History, now)
		}
		was = now.Verdict
	}
	return out, nil
}

// maxBack is how many messages before a result may be its call.
const maxBack = 20

// nameResults adds to the results of a message what they answer: the name and the arguments
// of the call, which stands in a message before it.
func (q *request) nameResults(ctx context.Context, v *view, m *message) error {
	results := map[string]*part{}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == "result" && p.ID != "" {
			results[p.ID] = p
		}
	}
	if len(results) == 0 {
		return nil
	}
	return q.readMessages(ctx, v, max(1, m.ID-maxBack), m.ID-1, clip.Line, func(before message) error {
		for i := range before.Parts {
			if p := &before.Parts[i]; p.Kind == "call" && results[p.ID] != nil {
				results[p.ID].Name, results[p.ID].Asked = cmp.Or(results[p.ID].Name, p.Name), p.Text
			}
		}
		return nil
	})
}

// blockOf returns what a plan did to a message, or nil if it is sent as it came. The blocks
// of a plan are in order.
func blockOf(p *report.Plan, id int64) *report.Block {
	for i := range p.Blocks {
		if p.Blocks[i].ID == id {
			return &p.Blocks[i]
		}
	}
	return nil
}

// readMessages visits messages of a view. Texts are cut after most bytes; 0 means that they
// are whole.
func (q *request) readMessages(ctx context.Context, v *view, first, last int64, most int,
	visit func(message) error) error {
	r, err := report.NewReader(ctx, q.Store, q.tenant, v.conversation, v.head)
	if err != nil {
		return err
	}
	verdicts := map[int64]*report.Block{}
	if v.plan != nil {
		for i := range v.plan.Blocks {
			if b := &v.plan.Blocks[i]; first <= b.ID && b.ID <= last {
				verdicts[b.ID] = b
			}
		}
	}
	return r.Read(ctx, first, last, func(m *report.Message) error {
		out := message{Message: *m}
		out.Parts, out.Cut = partsOf(m, most)
		out.Text, out.Chat = "", nil // they are not kept for an answer
		if b := verdicts[m.ID]; b != nil && (v.call == nil || m.ID <= v.call.Last) {
			out.Verdict, out.Reason, out.Plan = b.Verdict, b.Reason, v.plan.ID
		}
		return visit(out)
	})
}
