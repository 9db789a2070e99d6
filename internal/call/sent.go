package call

import (
	"cmp"
	"context"
	"fmt"

	"github.com/oriel-context/oriel/internal/plan"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
)

// SentOptions are the options of ReadSent.
type SentOptions struct {
	// Models is the table in which models are looked up. Default: the built-in one.
	Models *token.Models
	// Profiles are those of the settings. Default: the built-in ones.
	Profiles *window.ProfileTable
}

// ReadSent reads a record of kind "call". It returns the call with SentIDs set, and the
// body that was sent, as [Stored.Body] has the one that came.
func ReadSent(ctx context.Context, store timeline.Store, tenant, conversation string, r *timeline.Record,
	o SentOptions) (*Stored, []byte, error) {
	e, err := decodeEntry(r)
	if err != nil {
		return nil, nil, err
	}
	c, err := Read(ctx, store, tenant, r)
	if err != nil {
		return nil, nil, err
	}
	var cut *plan.Plan
	if c.Plan != "" {
		cut, err = plan.Find(ctx, timeline.Notes{Store: store, Tenant: tenant, Conversation: conversation}, c.Plan)
		if err == nil && cut == nil {
			err = ErrPlanGone
		}
		if err != nil {
			return c, nil, fmt.Errorf("read call %s: %w", r.Key, err)
		}
	}
	in, err := e.input(c)
	if err != nil {
		return c, nil, fmt.Errorf("read call %s: %w", r.Key, err)
	}
	in.Thread.Tenant, in.Thread.Conversation, in.Now = tenant, conversation, r.Time
	if _, err := o.Profiles.Lookup(in.Profile); err != nil {
		in.Profile = "" // it is no longer in the settings; in.Room says what it allowed
	}
	shown, depths, err := view.New(view.Options{Models: o.Models, Profiles: o.Profiles}).ApplyCut(in, cut)
	if err != nil {
		return c, nil, fmt.Errorf("read call %s: %w", r.Key, err)
	}
	for _, d := range depths {
		c.SentIDs = append(c.SentIDs, int64(d))
	}
	return c, shown.Body, nil
}

// input returns the call as the input of a viewer.
func (e *entry) input(c *Stored) (*view.Input, error) {
	body, err := c.ReadBody(c.Body)
	if err != nil {
		return nil, err
	}
	body.Model = cmp.Or(body.Model, c.Model) // some protocols name it in the path
	_, chain := thread.Chain(body.Messages)
	in := &view.Input{
		Body: body, Profile: e.Profile, MarkCache: e.Marked, AskDrop: e.Drops,
		Thread: &thread.Thread{From: len(chain) - e.Messages, Head: e.Head, Before: make([]timeline.Hash, e.Before)},
	}
	if e.Hard > 0 {
		in.Room = &view.Room{Wish: e.Wish, Hard: e.Hard}
	}
	return in, nil
}
