package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/oriel-context/oriel/timeline"
)

// proposed is the data of the record that reserves the number of a plan, so that
// other processes can use the plan before the call that made it is stored.
type proposed struct {
	Data
	// Path is the hash of the identities of the messages that the plan covers. Not all
	// of them are stored yet.
	Path string `json:"path"`
}

// Path returns the hash of the identities of the first n messages of a history, or false if
// it has fewer.
type Path func(n int) (timeline.Hash, bool)

// Propose returns the data of the record that reserves the number of a plan, and its
// contents. The plan was made for the history of a path.
func (p *Plan) Propose(of Path) (data []byte, contents [][]byte, err error) {
	s, contents := p.data()
	path, ok := of(p.Covers)
	if !ok {
		return nil, nil, fmt.Errorf("propose plan %s: it covers %d messages, which are more than there are", p.ID, p.Covers)
	}
	data, err = json.Marshal(proposed{Data: *s, Path: path.String()})
	return data, contents, err
}

// ReadProposed returns the plans that other processes have proposed in a conversation and
// that apply to the history of a path, except those that known reports. names are those of
// all plans that it has read. With an ErrNewer it returns the others all the same.
func ReadProposed(ctx context.Context, store timeline.Store, tenant, conversation string, of Path, known func(id, name string) bool) (plans []Stored, names []string, err error) {
	reserved, err := timeline.Notes{Store: store, Tenant: tenant, Conversation: conversation}.Reserved(ctx, known)
	if err != nil {
		return nil, nil, err
	}
	reader := reader{store: store, tenant: tenant, conversation: conversation}
	var newer error
	for i := range reserved {
		r := &reserved[i]
		names = append(names, r.Name)
		var s proposed
		if json.Unmarshal(r.Data, &s) != nil || s.View == nil {
			continue // of an earlier version, or of a store that is not shared
		}
		if path, ok := of(s.View.Covers); !ok || path.String() != s.Path {
			continue // of another branch
		}
		p, err := reader.read(ctx, r, &s.Data)
		if errors.Is(err, ErrNewer) {
			newer = fmt.Errorf("read the proposed plan %s of conversation %q: %w", r.ID, conversation, err)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the proposed plan %s of conversation %q: %w", r.ID, conversation, err)
		}
		number, _ := timeline.PlanNumber(r.ID)
		plans = append(plans, Stored{ID: p.ID, Number: number, Plan: p})
	}
	return plans, names, newer
}
