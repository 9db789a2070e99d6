package call

import (
	"context"

	"github.com/oriel-context/oriel/internal/view"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// standing returns the standing instructions and preferences of the conversations of a
// project that are not dismissed, oldest first.
func (r *Engine) standing(ctx context.Context, tenant, project string) ([]recall.Directive, error) {
	if r.o.Recall == nil {
		return nil, nil
	}
	said, _, err := r.o.Recall.Directives(ctx, recall.Where{Tenant: tenant, Project: project, Reach: recall.ReachProject})
	return said, err
}

// dismissed returns the notes about standing instructions in a conversation.
func (r *Engine) dismissed(ctx context.Context, tenant, conversation string) ([]view.Dismissed, error) {
	notes, err := timeline.Notes{Store: r.o.Store, Tenant: tenant, Conversation: conversation}.Dismissed(ctx)
	if err != nil {
		return nil, err
	}
	var out []view.Dismissed
	for i := range notes {
		d := view.Dismissed{Depth: int(notes[i].ID), Text: notes[i].Text}
		if d.Identity, err = identityAt(ctx, r.o.Store, tenant, notes[i].At); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}
