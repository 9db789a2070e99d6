package view

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// find searches the history for what is relevant to a query, in at most room
// of the model's tokens. spoken reports that the query is a person's newest words, not what
// an agent works on.
func (e *draft) find(ctx context.Context, query string, room int,
	spoken bool) (text string, passages []recall.Passage) {
	if e.v.o.Recall == nil || room < leastRecall || spoken && !recall.Asks(query) || e.Thread.Stay {
		return "", nil // a side call does not continue the main branch
	}
	known := map[string]bool{}
	for _, p := range e.passages {
		known[p] = true
	}
	shown := map[string]bool{}
	for _, p := range e.pieces {
		if d := e.depth(p.Index); d > 0 && !e.hidden[p.Index] && !e.emptied[p.Index] {
			shown[strconv.Itoa(d)] = true
		}
	}
	const frame = prompt.RecalledToolTitle + recallEnd
	framed := e.counter.Text(frame).Tokens
	where, named := recall.Where{Tenant: e.Thread.Tenant, Conversation: e.Thread.Conversation, At: e.Thread.Past},
		e.here
	if e.Thread.Kind == thread.Compacted { // it is not stored yet, and all that it lacks is there
		where.Conversation, where.At = e.Thread.Continues, timeline.Place{}
		named = func(block string) string { return blockOf(e.Thread.Continues, block) }
	}
	o := recall.RecallOptions{
		Budget: (room - framed - 8) * asRecall().Text(frame).Tokens / framed, Now: e.Now,
		Whole:      true, // what was recalled is not recalled again, so a beginning would keep out the rest
		Directives: -1,   // a cut shows those that left
		Sized:      spoken,
		Shown:      func(block string) bool { return shown[named(block)] },
		Exclude: func(block string) bool {
			block = named(block)
			return block == "" || shown[block] || known[block]
		},
		Had: func(block string, part int) bool { return known[passageKey(named(block), part)] },
	}
	found := e.search(ctx, where, query, o)
	if found == nil || found.Text == "" {
		return "", nil
	}
	for i := range found.Passages {
		found.Passages[i].Block = named(found.Passages[i].Block)
	}
	return recallTitle(found.Passages) + found.Text + recallEnd, found.Passages
}

// here returns the name that a block of the conversation has on the path of this request, or
// "" if it is not on it. Blocks of other conversations keep theirs.
func (e *draft) here(block string) string {
	n, err := strconv.Atoi(block)
	if err != nil {
		return block
	}
	if n, ok := e.Thread.Here(n); ok {
		return strconv.Itoa(n)
	}
	return ""
}

// search searches the history, as long as this call may wait. It returns nil if that fails:
// a view never fails because recall does.
func (e *draft) search(ctx context.Context, where recall.Where, query string, o recall.RecallOptions) *recall.Result {
	if e.request.recallBegan.IsZero() {
		e.request.recallBegan = time.Now()
	}
	found, err := limit.Spend(ctx, &e.v.recalls, &e.request.recallTime,
		func(ctx context.Context) (*recall.Result, error) {
			return e.v.o.Recall.Recall(ctx, where, query, o)
		})
	if err != nil {
		if !expected(err) {
			e.failed = fmt.Errorf("recall: %w", err)
		}
		return nil
	}
	return found
}

// namesOf returns the blocks of passages, and their numbers in these.
func namesOf(found []recall.Passage) (blocks, parts string) {
	var b, p []string
	for i := range found {
		b, p = append(b, found[i].Block), append(p, strconv.Itoa(found[i].Part))
	}
	return strings.Join(b, " "), strings.Join(p, " ")
}

// passagesIn returns the passages that an insertion shows, as in plan.Plan.Recalled.
func passagesIn(in *window.Insertion) []string {
	out, parts := strings.Fields(in.Block), strings.Fields(in.Parts)
	if len(parts) != len(out) {
		return out // of an earlier version
	}
	for i := range out {
		out[i] += "/" + parts[i]
	}
	return out
}

// passageKey returns the name of a passage.
func passageKey(block string, part int) string { return block + "/" + strconv.Itoa(part) }

// leastRecall is the least room in which anything is recalled.
const leastRecall = 96
