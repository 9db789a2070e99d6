package call

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// input returns the input of the viewer for a request of a conversation.
func (c *Call) input(t *thread.Thread) *view.Input {
	return &view.Input{
		ID: fmt.Sprintf("%s-%d", c.request.ID, len(c.fresh)), Body: c.body, Thread: t,
		Profile: c.tuning.profile(c.request), Asked: c.request.Profile != "", Budget: budgetOf(c.request.Header),
		Compacts: compacts(c.request.Header), Betas: betas(c.request.Header, c.body), PlainCache: c.tuning.o.PlainCache,
		MarkCache: c.tuning.o.MarkCache, AskDrop: !c.engine.keepsBinding.Load(),
		Now: c.began, Told: c.told,
		Most: c.most, Unbind: c.unbound, Project: c.recallProject,
	}
}

// guardedShow is show with panics returned as errors.
func (c *Call) guardedShow(ctx, reads context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	return c.show(ctx, reads)
}

// show decides what is sent. It reads the store until reads ends; the plan is bounded by
// ctx alone, which has no deadline.
func (c *Call) show(ctx, reads context.Context) error {
	planning := c.engine.stageBegins()
	defer c.engine.stageEnds(c.request.ID, StagePlan, planning)
	in := c.input(c.thread)
	c.stored = c.engine.index.Snapshot(c.thread)
	c.agreeLeft = c.engine.o.Waits.Agree
	pins, news, err := c.pinned(reads)
	if err != nil && c.engine.worthTelling(c.began) {
		c.engine.report(event.OpenNotes, c.request, c.thread.Conversation,
			fmt.Errorf("what was pinned, undone or planned elsewhere could not be read, what is known of it holds: %w",
				err))
	}
	in.Pins = pins
	in.Cold = c.engine.cold(reads, c.stored, c.thread, c.model, c.body, c.began)
	if in.Profile == "chat" && in.Budget == 0 {
		in.Size = c.adapt(reads)
	}
	if c.engine.o.Shared {
		in.Agree = func(d view.Decision) view.Agreement { return c.agree(reads, d) }
	}
	shown, err := c.tuning.view.Show(ctx, in)
	if err != nil {
		return err
	}
	c.shown, c.fellBack = shown, false
	if s := c.engine.o.Stages; s != nil && shown.RecallTook > 0 {
		s(Stage{Call: c.request.ID, Name: StageRecall, Began: shown.RecallBegan, Took: shown.RecallTook})
	}
	c.tokens = token.Breakdown{Total: shown.After, Local: shown.Local}
	c.fresh = append(c.fresh, shown.Made...)
	c.prepare() // as far as it is stored, while the provider is at work
	if shown.Cut != nil {
		c.engine.lastUsed.keep(c.request.Tenant, c.thread, shown.Cut)
	}
	c.tell(shown, pins, news)
	if shown.Failed != nil {
		c.engine.report(event.OpenRecall, c.request, c.thread.Conversation, shown.Failed)
	}
	return nil
}

// prepare makes recall read and embed, in the background, a conversation of which something
// is not sent, so that the next question finds it.
func (c *Call) prepare() {
	if c.engine.o.Recall == nil || c.shown == nil || !c.shown.Lacks && (c.shown.Cut == nil || c.thread.Stay) {
		return
	}
	where := recall.Where{Tenant: c.thread.Tenant, Conversation: c.thread.Conversation}
	c.engine.o.Recall.Prepare(where)
	if c.thread.Kind == thread.Compacted { // nothing of it is stored yet
		where.Conversation = c.thread.Continues
		c.engine.o.Recall.Prepare(where)
	}
}

// adapt returns the adaptive size of the conversation.
func (c *Call) adapt(ctx context.Context) int {
	allowed := 0
	if b, err := window.BudgetOf(window.Bounds{Model: c.model, Betas: betas(c.request.Header, c.body),
		Output: max(c.body.MaxOutput, c.body.ThinkingBudget), Margin: c.tuning.o.Margin}); err == nil {
		allowed = b.Allowed
	}
	size, was, stored, err := c.engine.adapt(ctx, c.stored, c.thread, c.chain, allowed)
	if err != nil {
		c.engine.report(event.OpenNotes, c.request, c.thread.Conversation,
			fmt.Errorf("the size of the conversation's window could not be read or kept: %w", err))
		return size
	}
	if stored != nil {
		c.size = stored
	}
	if size != was {
		c.event(event.Event{Kind: event.Resize, Call: c.request.ID, Conversation: c.thread.Conversation,
			Model: c.body.Model, TokensBefore: was, TokensAfter: size})
	}
	return size
}

// tell emits events for what a view does differently from the last one.
func (c *Call) tell(shown *view.Result, pins []int, news []string) {
	e := event.Event{Call: c.request.ID, Conversation: c.thread.Conversation, Model: c.body.Model,
		TokensBefore: shown.Before, TokensAfter: shown.After, Budget: shown.Budget, Grown: shown.Grown}
	if shown.Cut != nil {
		e.Plan = shown.Cut.ID
	}
	say := func(kind string, items int, cost float64, err string) {
		e.Kind, e.Items, e.Cost, e.Error = kind, items, cost, err
		c.event(e)
	}
	refused := ""
	if shown.Refused != nil {
		refused = shown.Refused.Error()
	}
	if len(news) == 0 && (len(shown.Restored) > 0 || refused != "") {
		news = []string{event.Pin} // from before a restart
	}
	e.Back, e.Left = timeline.RangesOf(shown.Restored).String(), timeline.RangesOf(shown.Left).String()
	for _, kind := range news {
		say(kind, len(pins), 0, refused)
	}
	e.Back, e.Left = "", ""
	if shown.Unused.Error != "" {
		e.TokensBefore, e.TokensAfter = 0, 0
		say(event.Condensation, 0, shown.Unused.Cost, shown.Unused.Error)
		e.TokensBefore, e.TokensAfter = shown.Before, shown.After
	}
	if !shown.New {
		return
	}
	if shown.Folded {
		e.Plan = shown.Made[0].ID
		plan := &shown.Made[0].Plan
		e.Action = plan.Action
		say(event.Cut, len(plan.Blocks), 0, "")
		e.Action = ""
		// Summaries that are written in the background have events of their own.
		if shown.Asked || plan.Summary.Error != "" {
			e.TokensBefore, e.TokensAfter = condensed(shown.Made[0])
			say(event.Condensation, shown.Made[0].Dropped.Len(), plan.Summary.Cost, plan.Summary.Error)
			e.TokensBefore, e.TokensAfter = shown.Before, shown.After
		}
	}
	if shown.Recalled > 0 {
		e.Plan = shown.Cut.ID
		e.Recalled = shown.Recalled
		say(event.Recall, 0, 0, "")
	}
}

// condensed returns the tokens of the messages that a cut leaves out, and of the summary
// that represents them.
func condensed(cut *plan.Plan) (messages, summary int) {
	for _, b := range cut.Plan.Blocks {
		if cut.Dropped.Has(b.Index) {
			messages += b.Tokens
		}
	}
	for _, in := range cut.Plan.Inserted {
		if in.Kind == condense.KindSummary {
			summary += in.Tokens
		}
	}
	return messages, summary
}

// codexTurn is the header in which Codex describes the turn that a call belongs to.
const codexTurn = "X-Codex-Turn-Metadata"

// compacts reports that a client says that a call asks for the summary that replaces its
// history.
func compacts(h http.Header) bool {
	var turn struct {
		Kind string `json:"request_kind"`
	}
	return json.Unmarshal([]byte(h.Get(codexTurn)), &turn) == nil && turn.Kind == "compaction"
}

// betas returns the beta features that a request asks for, in its body or in a header.
func betas(h http.Header, body *wire.Body) []string {
	out := slices.Clone(body.Betas)
	for _, v := range h.Values("Anthropic-Beta") {
		for name := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return out
}

// Beta returns the provider's beta feature that the body needs, or "".
func (c *Call) Beta() string {
	if c.unrecorded || c.shown == nil || !c.shown.Changed && !c.fellBack {
		return ""
	}
	return c.shown.Beta
}

// Body returns the body to send, or nil for the client's own.
func (c *Call) Body() []byte {
	if c.unrecorded {
		return c.other
	}
	if c.shown == nil || !c.shown.Changed && !c.fellBack {
		return nil
	}
	return c.shown.Body
}
