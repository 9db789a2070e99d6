package call

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/limit"
	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
)

// agree makes a decision that of all processes; see timeline.Decide. If another process was
// first, what that has decided is in the index then, if it applies to this request too. If the
// store cannot answer in time, or does not have the conversation yet, this process decides
// alone.
func (c *Call) agree(ctx context.Context, d view.Decision) view.Agreement {
	if s := c.engine.Spool(); s.Calls > s.Newer || c.engine.overLimit(c.request.Tenant) {
		return view.Agreed // the store accepts no calls
	}
	quiet := c.quietKey()
	own := timeline.Decision{Conversation: c.thread.Conversation, Key: quiet, Plans: plan.Most, Now: c.engine.o.Now()}
	if d.Cut != nil {
		var err error
		own.Key = d.Cut.ID
		if own.Data, err = d.Cut.ToDecide(c.thread.Path); err != nil {
			return view.Agreed // it covers what this client no longer sends
		}
	}
	ctx, done := c.agreeing(ctx)
	defer done()
	for {
		known := append(c.engine.index.KnownPlans(c.thread), c.met...)
		if !slices.Equal(c.engine.index.PlansAt(c.thread), d.Before) {
			return view.Beaten // by another call of this process
		}
		if d.Recalled {
			known = slices.DeleteFunc(known, func(key string) bool { return key == quiet })
		}
		own, store := own, c.engine.o.Store
		own.Known = known
		others, err := limit.Do(ctx, &c.engine.reads, func(ctx context.Context) ([]timeline.Record, error) {
			return timeline.Decide(ctx, store, c.request.Tenant, own)
		})
		if len(others) > 0 {
			if d.Recalled && slices.ContainsFunc(others, func(r timeline.Record) bool { return r.Key == quiet }) {
				return view.Quiet
			}
			if err = c.adoptOthers(ctx, others); err == nil {
				continue
			}
		} else if !errors.Is(err, timeline.ErrNoConversation) {
			c.decided = append(c.decided, plan.DecisionKey(own.Key)) // also after an error: the store may have it
		}
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) && c.engine.worthTelling(c.began) {
			c.engine.report(event.OpenStore, c.request, c.thread.Conversation,
				fmt.Errorf("share what is sent with other servers: %w; they may decide otherwise", err))
		}
		return view.Agreed
	}
}

// agreeing returns a context for agreeing on plans, which ends with what is left of
// Waits.Agree. The caller must call done.
func (c *Call) agreeing(ctx context.Context) (agrees context.Context, done func()) {
	began := time.Now()
	agrees, cancel := context.WithTimeout(ctx, c.agreeLeft)
	return agrees, func() {
		cancel()
		c.agreeLeft -= time.Since(began)
	}
}

// quietKey returns the key of the decision that nothing is recalled for a request: of all its
// messages and who is asked.
func (c *Call) quietKey() string {
	path, _ := c.thread.Path(c.thread.Depth())
	return "quiet-" + timeline.HashOf(append(path[:], c.thread.Audience...)).String()
}

// adoptOthers adds the plans of other processes to the index that apply to this request.
func (c *Call) adoptOthers(ctx context.Context, others []timeline.Record) error {
	th := c.thread
	notes := timeline.Notes{Store: c.engine.o.Store, Tenant: c.request.Tenant, Conversation: th.Conversation}
	known := c.engine.index.KnownPlans(th)
	plans, err := plan.ReadDecisions(ctx, notes, others, th.Path, known)
	if err != nil && !errors.Is(err, plan.ErrNewer) { // pinned reports that one
		return err
	}
	c.engine.index.TakePlans(th, plans)
	if slices.ContainsFunc(others, func(r timeline.Record) bool { return r.Kind == timeline.KindPlan }) {
		c.stored = c.engine.index.Snapshot(th)
		stored := c.stored
		_, err := limit.Do(ctx, &c.engine.reads, func(ctx context.Context) (any, error) {
			return nil, c.engine.index.Refresh(ctx, stored, th)
		})
		if err != nil && !errors.Is(err, plan.ErrNewer) {
			return err
		}
	}
	for i := range others {
		c.met = append(c.met, plan.IDOf(others[i].Key))
	}
	return nil
}

// leaveNothing deletes the decisions of a call that leaves no record.
func (c *Call) leaveNothing() {
	if len(c.decided) == 0 {
		return
	}
	r, tenant, conversation, drop := c.engine, c.request.Tenant, c.thread.Conversation, c.decided
	_ = r.queue.add(nil, queueKey(tenant, conversation), 0, func() { // without space in the queue they stay for a while
		ctx, cancel := context.WithTimeout(context.Background(), r.o.Waits.Spool)
		defer cancel()
		found, err := r.o.Store.Conversation(ctx, tenant, conversation)
		if err == nil {
			_, err = r.o.Store.Apply(ctx, tenant, timeline.Change{Conversation: conversation,
				ExpectCreated: found.Created, Stay: true, Drop: drop, Now: r.o.Now()})
		}
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
			r.report(event.OpenStore, c.request, conversation, fmt.Errorf("delete what was decided: %w", err))
		}
	})
}
