package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// decided is the data of the decision by which other processes can use a plan before the call
// that made it is stored.
type decided struct {
	Data
	// Path is the hash of the identities of the messages that the plan covers. Not all
	// of them are stored yet.
	Path string `json:"path"`
	// Raw are the contents that the plan refers to.
	Raw [][]byte `json:"raw,omitempty"`
}

// Path returns the hash of the identities of the first n messages of a history, or false if
// it has fewer.
type Path func(n int) (timeline.Hash, bool)

// ToDecide returns the data of the decision for a plan that was made for the history of a path.
func (p *Plan) ToDecide(of Path) (json.RawMessage, error) {
	d, raw := p.data()
	path, ok := of(p.Covers)
	if !ok {
		return nil, fmt.Errorf("decide on plan %s: it covers %d messages, which are more than there are", p.ID,
			p.Covers)
	}
	return json.Marshal(decided{Data: *d, Path: path.String(), Raw: raw})
}

// ReadDecisions returns the plans among the decisions of other processes that apply to the
// history of a path, except those that known reports. With an ErrNewer it returns the others
// all the same.
func ReadDecisions(ctx context.Context, n timeline.Notes, decisions []timeline.Record, of Path,
	known []string) (plans []*Plan, err error) {
	reader := reader{Notes: n}
	var newer error
	for i := range decisions {
		r := &decisions[i]
		var d decided
		if slices.Contains(known, r.Key) || json.Unmarshal(r.Data, &d) != nil || d.View == nil {
			continue // not a plan
		}
		if path, ok := of(d.View.Covers); !ok || path.String() != d.Path {
			continue // of another branch
		}
		p := Stored{ID: r.Key, Raw: d.Raw}
		err := reader.read(ctx, &p, &d.Data)
		if err != nil {
			err = fmt.Errorf("read plan %s of another server, of conversation %q: %w", p.ID, n.Conversation, err)
		}
		switch {
		case errors.Is(err, ErrNewer):
			newer = err
		case err != nil:
			return nil, err
		default:
			plans = append(plans, p.Plan)
		}
	}
	return plans, newer
}

// DecisionKey returns the key of the record of the decision for a plan.
func DecisionKey(id string) timeline.Key { return timeline.Key{Kind: timeline.KindDecision, Key: id} }
