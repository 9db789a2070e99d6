package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/oriel-context/oriel/timeline"
)

// proposed is the data of the record by which other processes can use a plan before the call
// that made it is stored.
type proposed struct {
	Data
	// Path is the hash of the identities of the messages that the plan covers. Not all
	// of them are stored yet.
	Path string `json:"path"`
}

// Path returns the hash of the identities of the first n messages of a history, or false if
// it has fewer.
type Path func(n int) (timeline.Hash, bool)

// ToPropose returns the data of a proposal of a plan that was made for the history of a path,
// and the contents that it refers to.
func (p *Plan) ToPropose(of Path) (data json.RawMessage, raw [][]byte, err error) {
	d, raw := p.data()
	path, ok := of(p.Covers)
	if !ok {
		return nil, nil, fmt.Errorf("propose plan %s: it covers %d messages, which are more than there are", p.ID,
			p.Covers)
	}
	data, err = json.Marshal(proposed{Data: *d, Path: path.String()})
	return data, raw, err
}

// ReadProposed returns the plans that other processes have proposed in a conversation and
// that apply to the history of a path, except those that known reports. ids are those of
// all plans that it has read. With an ErrNewer it returns the others all the same.
func ReadProposed(ctx context.Context, n timeline.Notes, of Path,
	known func(id string) bool) (plans []*Plan, ids []string, err error) {
	all, err := Proposed(ctx, n, known)
	if err != nil {
		return nil, nil, err
	}
	reader := reader{Notes: n}
	var newer error
	for i := range all {
		ids = append(ids, all[i].ID)
		var d proposed
		if json.Unmarshal(all[i].Data, &d) != nil || d.View == nil {
			continue // of an earlier version, or of a store that is not shared
		}
		if path, ok := of(d.View.Covers); !ok || path.String() != d.Path {
			continue // of another branch
		}
		err := reader.read(ctx, &all[i], &d.Data)
		if err != nil {
			err = fmt.Errorf("read the proposed plan %s of conversation %q: %w", all[i].ID, n.Conversation, err)
		}
		switch {
		case errors.Is(err, ErrNewer):
			newer = err
		case err != nil:
			return nil, nil, err
		default:
			plans = append(plans, all[i].Plan)
		}
	}
	return plans, ids, newer
}
