package engine

import (
	"context"
	"errors"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/event"
)

// summarise has a model write what a digest says, if one is configured, and nobody waits:
// the summary replaces the digest when more items have left. Inline, views wait for it; see
// awaitSummary.
func (e *Engine) summarise(conversation string, job *summaryJob) {
	if job == nil {
		return
	}
	condensing := e.calls.Condensing()
	if condensing == nil || condensing.Inline() {
		return
	}
	in := job.in
	in.Max = min(in.Max, condensing.Max())
	condensing.Follow("items\x00"+e.config.Tenant+"\x00"+conversation, in, func(out condense.Output, err error) {
		c, failed := e.Conversation(context.Background(), conversation)
		if failed == nil {
			_, failed = c.applySummary(context.Background(), job, out, err)
		}
		if failed != nil && !errors.Is(failed, fault.ErrClosed) {
			e.config.Log.Warn("a summary could not be stored; the digest stays", "conversation", conversation, "error",
				failed)
		}
	})
}

// awaitSummary waits for a model's summary if the settings ask for that, and has the view
// show it. Without one the view shows the digest.
func (c *Conversation) awaitSummary(ctx context.Context, s *viewInput, job *summaryJob) error {
	condensing := c.engine.calls.Condensing()
	if condensing == nil || !condensing.Inline() {
		return nil
	}
	in := job.in
	in.Max = min(in.Max, condensing.Max())
	out, err := condensing.Ask(ctx, in)
	if ctx.Err() != nil {
		return c.fail("make context", context.Cause(ctx), "")
	}
	now, failed := c.applySummary(ctx, job, out, err)
	if failed != nil {
		return failed
	}
	if err != nil {
		s.warnings = append(s.warnings, "no model's summary, and the view has a digest: "+err.Error())
	} else if now.body != "" {
		s.note, s.written, s.paid = now, true, out.Cost
	}
	return nil
}

// applySummary replaces what a model has summarised by its text, and reports the attempt. It
// returns what views show then, if they show the text at once: nothing else has left
// meanwhile, and inline.
func (c *Conversation) applySummary(ctx context.Context, job *summaryJob, out condense.Output,
	asked error) (now note, err error) {
	err = c.run(ctx, "take a summary", func(p *loaded) error {
		now = note{}
		f := &p.folding
		if p.stored.Revision == 0 {
			return nil // it was deleted
		}
		e := event.Event{Kind: event.Condensation, TokensBefore: job.before, Items: job.items, Cost: out.Cost}
		p.touch()
		var failed *condense.Error
		switch {
		case errors.As(asked, &failed):
			e.Cost, e.Error = failed.Cost, asked.Error()
		case asked != nil:
			e.Error = asked.Error()
		default:
			e.TokensAfter = job.in.Count(out.Text)
			since := f.covers.Minus(job.covers)
			if p.cleared != job.cleared || len(job.covers.Minus(f.covers)) > 0 || since.Len() > maxCatchUp {
				break // it is about items that the digest does not stand for any more
			}
			f.Model, _, _ = condense.Unmark(out.Text)
			f.Rules, f.covers, f.waits, f.changed = "", job.covers, f.waits.Union(since), true
			if condensing := p.engine.calls.Condensing(); len(since) == 0 && condensing != nil && condensing.Inline() {
				f.show()
				now = note{f.Body, f.Kind, f.Of}
			}
		}
		p.tellEvent(e)
		return nil
	})
	return now, err
}
