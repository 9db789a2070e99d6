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

// agree makes a decision that of all processes, by compare and set: the store keeps a proposal
// of a new plan, unless another process has made a plan since this one read the plans of the
// conversation. The other plan is in the
// index then, if it applies to this request too. If the store cannot answer in time, or does
// not have the conversation yet, this process decides alone.
func (c *Call) agree(ctx context.Context, d view.Decision) view.Verdict {
	if s := c.engine.Spool(); s.Calls > s.Newer || c.engine.overLimit(c.request.Tenant) {
		return view.Agreed // the store accepts no calls
	}
	p := plan.Proposal{Now: c.engine.o.Now()}
	if d.Cut == nil || d.Recalled {
		p.Quiet = c.quietKey()
	}
	if d.Cut != nil {
		var err error
		p.ID = d.Cut.ID
		if p.Data, p.Raw, err = d.Cut.ToPropose(c.thread.Path); err != nil {
			return view.Agreed // it covers what this client no longer sends
		}
	}
	ctx, done := c.agreeing(ctx)
	defer done()
	seen := map[string]bool{} // plans of others that do not apply
	for {
		known := c.engine.index.KnownPlans(c.thread)
		if !slices.Equal(c.engine.index.PlansAt(c.thread), d.Before) {
			return view.Beaten // by another call of this process
		}
		notes, p := c.notes(), p
		p.Known = func(id string) bool { return seen[id] || known(id) }
		_, err := limit.Do(ctx, &c.engine.reads, func(ctx context.Context) (any, error) {
			return nil, plan.Propose(ctx, notes, p)
		})
		if others := (*plan.OthersError)(nil); errors.As(err, &others) {
			var read []string
			if read, err = c.takeOthers(ctx, others, p.Known); err == nil {
				if !slices.Equal(c.engine.index.PlansAt(c.thread), d.Before) {
					return view.Beaten
				}
				for _, id := range read {
					seen[id] = true
				}
				continue
			}
		}
		if p.ID == "" {
			c.quiet = p.Quiet // also after an error: the store may have it
		}
		switch {
		case errors.Is(err, plan.ErrQuiet):
			return view.Quiet
		case err == nil && p.ID == "":
		case err == nil:
			c.proposed = append(c.proposed, p.ID)
		case !errors.Is(err, timeline.ErrNoConversation) && c.engine.worthTelling(c.began):
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

// notes returns the notes of the conversation of the call, for the view that is made now.
func (c *Call) notes() timeline.Notes {
	return timeline.Notes{Store: c.stored, Tenant: c.request.Tenant, Conversation: c.thread.Conversation}
}

// quietKey returns the name of the request in notes of the kind timeline.KindQuiet: all its
// messages and who is asked.
func (c *Call) quietKey() string {
	path, _ := c.thread.Path(c.thread.Depth())
	return timeline.HashOf(append(path[:], c.thread.Audience...)).String()
}

// takeOthers reads the plans that other processes have made, and adds those to the index that
// apply to this request. ids are those that it has read.
func (c *Call) takeOthers(ctx context.Context, others *plan.OthersError,
	known func(id string) bool) (ids []string, err error) {
	th, stored := c.thread, c.stored
	if len(others.Stored) > 0 {
		_, err := limit.Do(ctx, &c.engine.reads, func(ctx context.Context) (any, error) {
			return nil, c.engine.index.Refresh(ctx, stored, th)
		})
		if err != nil && !errors.Is(err, plan.ErrNewer) { // pinned reports that one
			return nil, err
		}
		ids = slices.Clone(others.Stored)
	}
	if len(others.Proposed) == 0 {
		return ids, nil
	}
	type proposed struct {
		plans []*plan.Plan
		ids   []string
	}
	notes := c.notes()
	found, err := limit.Do(ctx, &c.engine.reads, func(ctx context.Context) (p proposed, err error) {
		p.plans, p.ids, err = plan.ReadProposed(ctx, notes, th.Path, known)
		if errors.Is(err, plan.ErrNewer) {
			err = nil // pinned reports it
		}
		return p, err
	})
	if err != nil {
		return nil, err
	}
	c.engine.index.TakePlans(th, found.plans)
	return append(ids, found.ids...), nil
}

// withdraw removes what this call has noted for other processes about plans that are never
// stored.
func (c *Call) withdraw(cuts []*plan.Plan) {
	var drop []timeline.Key
	for _, cut := range cuts {
		if slices.Contains(c.proposed, cut.ID) {
			drop = append(drop, plan.ProposalKey(cut.ID))
		}
	}
	if c.quiet != "" {
		drop = append(drop, timeline.Key{Kind: timeline.KindQuiet, Key: c.quiet})
	}
	if len(drop) == 0 {
		return
	}
	r, tenant, conversation := c.engine, c.request.Tenant, c.thread.Conversation
	_ = r.queue.add(queueKey(tenant, conversation), 0, func() { // without space in the queue they stay
		ctx, cancel := context.WithTimeout(context.Background(), r.o.Waits.Spool)
		defer cancel()
		found, err := r.o.Store.Conversation(ctx, tenant, conversation)
		if err == nil {
			_, err = r.o.Store.Apply(ctx, tenant, timeline.Change{Conversation: conversation,
				ExpectCreated: found.Created, Stay: true, Drop: drop, Now: r.o.Now()})
		}
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
			r.report(event.OpenStore, c.request, conversation, fmt.Errorf("withdraw plans: %w", err))
		}
	})
}
