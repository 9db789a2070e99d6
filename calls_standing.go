package oriel

import (
	"context"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// standing returns the standing instructions and preferences of the conversations of a
// project that are not dismissed, oldest first.
func (r *calls) standing(ctx context.Context, tenant, project string) ([]recall.Directive, error) {
	if r.o.Recall == nil {
		return nil, nil
	}
	said, err := r.o.Recall.Directives(ctx, recall.Where{Tenant: tenant, Project: project, Reach: recall.ReachProject})
	if err != nil {
		return nil, err
	}
	dismissed := map[string]map[string]bool{} // the ids of messages, by conversation
	var out []recall.Directive
	for _, d := range said {
		at := strings.LastIndexByte(d.Block, '#')
		if at < 0 {
			continue
		}
		name, id := d.Block[:at], d.Block[at+1:]
		ids, known := dismissed[name]
		if !known {
			notes, err := timeline.Notes{Store: r.o.Store, Tenant: tenant, Conversation: name}.Dismissed(ctx)
			if err != nil {
				return nil, err
			}
			ids = map[string]bool{}
			for i := range notes {
				ids[strconv.FormatInt(notes[i].ID, 10)] = true
			}
			dismissed[name] = ids
		}
		if !ids[id] {
			out = append(out, d)
		}
	}
	return out, nil
}
