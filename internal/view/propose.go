package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
)

// proposed is the data of the record that reserves the number of a plan, so that
// other processes can use the plan before the call that made it is stored.
type proposed struct {
	PlanData
	// Path is thread.Thread.Path of the messages that the cut covers. Not all of
	// them are stored yet.
	Path string `json:"path"`
}

// Propose returns the data of the record that reserves the number of a cut,
// and its contents. The cut was made for a request of a thread.
func (c *Cut) Propose(th *thread.Thread) (data []byte, contents [][]byte, err error) {
	s, contents := c.data()
	path, ok := th.Path(c.Covers)
	if !ok {
		return nil, nil, fmt.Errorf("propose plan %s: it covers %d messages of %d", c.ID, c.Covers, th.Depth())
	}
	data, err = json.Marshal(proposed{PlanData: *s, Path: path.String()})
	return data, contents, err
}

// ReadProposed returns the cuts that other processes have proposed in the
// conversation of a thread and that apply to it, except those that known
// reports. names are those of all cuts that it has read. With an ErrNewerPlan it
// returns the others all the same. It uses only fields of the
// thread that never change.
func ReadProposed(ctx context.Context, store timeline.Store, th *thread.Thread, known func(id, name string) bool) (cuts []thread.ProposedPlan, names []string, err error) {
	notes := timeline.Notes{Store: store, Tenant: th.Tenant, Conversation: th.Conversation}
	plans, err := notes.Reserved(ctx, known)
	if err != nil {
		return nil, nil, err
	}
	reader := cutReader{store: store, tenant: th.Tenant, conversation: th.Conversation}
	var newer error
	for i := range plans {
		r := &plans[i]
		names = append(names, r.Name)
		var s proposed
		if json.Unmarshal(r.Data, &s) != nil || s.View == nil {
			continue // of an earlier version, or of a store that is not shared
		}
		if path, ok := th.Path(s.View.Covers); !ok || path.String() != s.Path {
			continue // of another branch
		}
		c, err := reader.read(ctx, r, &s.PlanData)
		if errors.Is(err, thread.ErrNewerPlan) {
			newer = fmt.Errorf("read the proposed plan %s of conversation %q: %w", r.ID, th.Conversation, err)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the proposed plan %s of conversation %q: %w", r.ID, th.Conversation, err)
		}
		number, _ := timeline.PlanNumber(r.ID)
		cuts = append(cuts, thread.ProposedPlan{Name: c.ID, Number: number, Depth: c.Covers, Audience: c.For, Value: c})
	}
	return cuts, names, newer
}
