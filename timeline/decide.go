package timeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Decision is what a process has decided about a conversation and is about to send, before the
// conversation has the call that it was decided for. It becomes a record of KindDecision.
type Decision struct {
	Conversation string
	// Key names the decision: the id of a plan, or another key. A decision replaces one with
	// the same key.
	Key  string
	Data []byte
	// Known are the ids of plans of calls and the keys of decisions that the process has taken
	// into account. Plans is the number of newest plans that count; older ones need not be known.
	Known []string
	Plans int
	// Now is the time. Decisions older than DecisionAge are deleted: their processes have died.
	Now time.Time
}

// DecisionAge is how long a decision is kept whose call is not stored.
const DecisionAge = time.Hour

// Deciding is a store that decides in one round trip. A wrapper of a store that may or may not
// do so returns errors.ErrUnsupported.
type Deciding interface {
	// Decide does what the function Decide does. The answer may be lost if the process or the
	// store dies; the next process then decides anew.
	Decide(ctx context.Context, tenant string, d Decision) (others []Record, err error)
}

// Decide writes a decision if its process knows all other decisions about the conversation and
// all its plans, and otherwise returns those that the process does not know and writes nothing:
// of processes that decide at the same moment all but the first learn what that has decided.
// Records of plans may have no data. It returns ErrNoConversation if there is no such
// conversation yet.
func Decide(ctx context.Context, s Store, tenant string, d Decision) (others []Record, err error) {
	if n, ok := s.(Deciding); ok {
		if others, err = n.Decide(ctx, tenant, d); !errors.Is(err, errors.ErrUnsupported) {
			return others, err
		}
	}
	for {
		c, err := s.Conversation(ctx, tenant, d.Conversation)
		if err != nil {
			return nil, err
		}
		others, change, err := d.against(ctx, s, tenant)
		if err != nil || len(others) > 0 {
			return others, err
		}
		change.Expect, change.ExpectCreated = &c.Revision, c.Created
		if _, err = s.Apply(ctx, tenant, change); !errors.Is(err, ErrChanged) {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// against returns what the conversation has that is not known, or the change that writes the
// decision.
func (d *Decision) against(ctx context.Context, s Store, tenant string) (others []Record, change Change, err error) {
	plans, err := s.RecordKeys(ctx, tenant, d.Conversation, KindPlan)
	if err != nil {
		return nil, change, err
	}
	for _, key := range plans[max(0, len(plans)-d.Plans):] {
		// Earlier programs put the number of a plan before its id. Plans of items have only that.
		if _, call, ok := strings.Cut(key, "-"); ok && !d.knows(key) && !d.knows("p-"+call) {
			others = append(others, Record{Kind: KindPlan, Key: key})
		}
	}
	decided, err := s.Records(ctx, tenant, d.Conversation, KindDecision, "")
	if err != nil {
		return nil, change, err
	}
	change = Change{Conversation: d.Conversation, Stay: true, Now: d.Now,
		Put: []Record{{Kind: KindDecision, Key: d.Key, Data: d.Data}}}
	for _, r := range decided {
		switch {
		case d.Now.Sub(r.Time) > DecisionAge:
			change.Drop = append(change.Drop, Key{KindDecision, r.Key})
		case !d.knows(r.Key):
			others = append(others, r)
		}
	}
	return others, change, nil
}

func (d *Decision) knows(key string) bool { return key == d.Key || slices.Contains(d.Known, key) }
