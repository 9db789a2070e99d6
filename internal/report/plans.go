package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// Block is what became of a message. Its JSON form is that of Plan.
type Block struct {
	ID   int64     `json:"id"`
	Role chat.Role `json:"role"`
	// Tokens is the size of the message as it came.
	Tokens int `json:"tokens"`
	// Lost is what of it is not sent.
	Lost int `json:"lost"`
	// Verdict is what became of it.
	Verdict window.Verdict `json:"verdict"`
	Reason  string         `json:"reason"`
	Pinned  bool           `json:"pinned"`
}

// Insertion is a text that Oriel put into a message.
type Insertion struct {
	window.Insertion
	// IDs are the messages of this conversation from which a recall is; Block also names
	// those of others.
	IDs []int64 `json:"ids,omitempty"`
}

// newInsertion returns an insertion with the ids of the messages from which it is.
func newInsertion(in window.Insertion) Insertion {
	out := Insertion{Insertion: in}
	for _, block := range strings.Fields(in.Block) {
		if id, err := strconv.ParseInt(block, 10, 64); err == nil && !slices.Contains(out.IDs, id) {
			out.IDs = append(out.IDs, id)
		}
	}
	return out
}

// Plans returns the plans on the way to where a conversation stands, oldest first.
func Plans(ctx context.Context, s timeline.Store, tenant string, c *timeline.Conversation) ([]Plan, error) {
	notes := timeline.Notes{Store: s, Tenant: tenant, Conversation: c.Name}
	stored, err := plan.List(ctx, notes, nil)
	if err != nil {
		return nil, err
	}
	holds, err := notes.Holds(ctx)
	if err != nil {
		return nil, err
	}
	var plans []Plan
	for i := range stored {
		here, err := timeline.Passes(ctx, s, tenant, c.Head, stored[i].At)
		if err != nil {
			return nil, err
		}
		if !here {
			continue
		}
		p := Plan{PlanRow: PlanRow{ID: stored[i].Name(), Time: stored[i].Time.UTC()}, LongID: stored[i].ID}
		if err := p.read(stored[i].Data); err != nil {
			return nil, fmt.Errorf("%w: plan %s of %q: %w", timeline.ErrDamaged, stored[i].Name(), c.Name, err)
		}
		p.Held = p.held(holds)
		p.compare(plans)
		plans = append(plans, p)
	}
	return plans, nil
}

func (p *Plan) read(data []byte) error {
	var stored window.Plan
	var view struct {
		View struct{ For string }
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &view); err != nil {
		return err
	}
	p.Policy, p.Mode, p.Model, p.Action = stored.Policy, stored.Mode, stored.Model, stored.Action
	p.Budget, p.Low, p.TokensBefore, p.TokensAfter = stored.Budget, stored.Low, stored.TokensBefore, stored.TokensAfter
	p.Warnings = append([]string{}, stored.Warnings...)
	p.Summary, p.Thinking, p.Grown = stored.Summary, stored.Thinking, stored.Grown
	p.audience = view.View.For
	p.Blocks = []Block{}
	for _, b := range stored.Blocks {
		if b.Verdict != window.Keep {
			if b.Lost == 0 { // of an earlier version
				b.Lost = b.Tokens
			}
			p.Blocks = append(p.Blocks, Block{int64(b.Index), b.Role, b.Tokens, b.Lost, b.Verdict, b.Reason, b.Pinned})
			p.Hidden++
			p.HiddenTokens += b.Lost
		}
	}
	p.AddedTokens = p.HiddenTokens - (p.TokensBefore - p.TokensAfter)
	slices.SortStableFunc(p.Blocks, func(a, b Block) int { return int(a.ID - b.ID) })
	p.Inserted = []Insertion{}
	for _, in := range stored.Inserted {
		p.Inserted = append(p.Inserted, newInsertion(in))
	}
	return nil
}

// compare finds what the plan changed since the one before it for the same model.
func (p *Plan) compare(before []Plan) {
	was := map[int64]window.Verdict{}
	old := map[string]bool{} // texts that were inserted
	for _, b := range slices.Backward(before) {
		// The library's plans have what left with each; those of calls have all of it.
		if b.audience == p.audience && p.audience != "" {
			for _, k := range b.Blocks {
				was[k.ID] = k.Verdict
			}
			for _, in := range b.Inserted {
				old[in.Text] = true
			}
			break
		}
	}
	var left, back []int64
	done := map[window.Verdict]int{}
	now := map[int64]bool{}
	for _, k := range p.Blocks {
		now[k.ID] = true
		if was[k.ID] == "" {
			left = append(left, k.ID)
			p.LeftTokens += k.Lost
		}
		if was[k.ID] != k.Verdict {
			done[k.Verdict]++
		}
	}
	for id := range was {
		if !now[id] {
			back = append(back, id)
		}
	}
	p.Left, p.Back, p.LeftCount = timeline.RangesOf(left).String(), timeline.RangesOf(back).String(), len(left)
	recalled := 0
	for _, in := range p.Inserted {
		if in.Kind == "recall" && !old[in.Text] {
			recalled += in.Tokens
		}
	}
	p.Why = p.why(done, len(back), recalled)
}

// verbs are what a plan does to messages, in the order of strength.
var verbs = []struct {
	verdict   window.Verdict
	one, many string
}{
	{window.Trim, "shortened", "shortened"},
	{window.Mask, "result cleared", "results cleared"},
	{window.Fold, "into the digest", "into the digest"},
	{window.Evict, "left out", "left out"},
}

// why puts into words what was done.
func (p *Plan) why(done map[window.Verdict]int, back, recalled int) string {
	var did []string
	for _, v := range verbs {
		if n := done[v.verdict]; n == 1 {
			did = append(did, "1 "+v.one)
		} else if n > 1 {
			did = append(did, fmt.Sprintf("%d %s", n, v.many))
		}
	}
	cause := ""
	switch {
	case len(did) == 0 || p.Budget <= 0:
	case p.Mode == window.Recovery:
		cause = " (the provider refused more)"
	case p.TokensBefore > p.Budget:
		cause = fmt.Sprintf(" (over %s tokens)", thousands(p.Budget))
	}
	if back > 0 {
		did = append(did, fmt.Sprintf("%d brought back", back))
	}
	if recalled > 0 {
		did = append(did, fmt.Sprintf("%s tokens recalled", thousands(recalled)))
	}
	if len(did) == 0 {
		return "nothing left"
	}
	return strings.Join(did, ", ") + cause
}

// thousands writes a number as people read it.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// Span is a stretch of messages to which a plan did the same.
type Span struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Verdict is what became of them.
	Verdict  window.Verdict `json:"verdict"`
	Messages int            `json:"messages"`
	// Tokens is what the window lost of them.
	Tokens int    `json:"tokens"`
	Reason string `json:"reason"`
	// Role is who speaks in its first message.
	Role string `json:"role"`
	// Words are how its first message begins.
	Words string `json:"words"`
}

// maxWords is how many characters of a span's first message are kept.
const maxWords = 200

// gone reports whether messages with a verdict are not sent at all.
func gone(v window.Verdict) bool { return v == window.Fold || v == window.Evict }

// Spans folds the messages that a plan did not send as they came into spans. A span begins
// where the verdict or its reason changes, where a person speaks, and after a message that is
// sent. Messages that are cleared or shortened form a span with others between them.
func Spans(ctx context.Context, s timeline.Store, tenant string, c *timeline.Conversation, p *Plan) ([]Span, error) {
	spans := []Span{}
	if len(p.Blocks) == 0 {
		return spans, nil
	}
	blocks := map[int64]*Block{}
	for i := range p.Blocks {
		blocks[p.Blocks[i].ID] = &p.Blocks[i]
	}
	first, last := p.Blocks[0].ID, p.Blocks[len(p.Blocks)-1].ID
	err := s.Messages(ctx, tenant, c.Head, first, last, false, func(e *timeline.Entry) error {
		b := blocks[e.Place.Depth]
		if b == nil {
			return nil
		}
		by := e.Role
		said := ""
		if read, err := e.Chat(); err == nil {
			by = speaker(by, &read)
			if read.Role == chat.User {
				said = strings.TrimSpace(strings.Join(read.Words(), " "))
			}
		}
		n := len(spans) - 1
		if n < 0 || said != "" || spans[n].Verdict != b.Verdict || spans[n].Reason != b.Reason ||
			gone(b.Verdict) && spans[n].Last != b.ID-1 {
			words := said
			if words == "" {
				words = e.Text()
			}
			spans = append(spans, Span{First: b.ID, Verdict: b.Verdict, Reason: b.Reason, Role: by,
				Words: Line(words, maxWords)})
			n++
		}
		spans[n].Last = b.ID
		spans[n].Messages++
		spans[n].Tokens += b.Lost
		return nil
	})
	return spans, err
}
