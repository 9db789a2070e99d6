package quality

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/token"
)

// Options select calls.
type Options struct {
	// Since leaves out calls before it. The zero value is all.
	Since time.Time
	// Models is the model table. Default: the built-in one.
	Models *token.Models
}

// Report is the measures of a history.
type Report struct {
	Measures
	// Skipped counts calls that cannot be measured: their plan is gone, they failed, or
	// their branch was left or deleted meanwhile.
	Skipped int `json:"skipped"`
}

// Read measures the recorded calls of a tenant. Each call is read whole, so that a long
// history takes a while: it ends with ctx.
func Read(ctx context.Context, store timeline.Store, tenant string, o Options) (*Report, error) {
	all, err := store.Conversations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	for i := range all {
		if all[i].Updated.Before(o.Since) {
			continue
		}
		records, err := store.Records(ctx, tenant, all[i].Name, "call", "")
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) { // deleted meanwhile
			return nil, err
		}
		known := map[string]bool{}
		for k := range records {
			if strings.HasPrefix(records[k].Key, usage.Imported) {
				continue
			}
			if records[k].Time.Before(o.Since) {
				known = nil // what they recalled is not read
				continue
			}
			m, err := measure(ctx, store, tenant, &all[i], &records[k], &o, known)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case errors.Is(err, errSkipped), errors.Is(err, timeline.ErrNoConversation),
				errors.Is(err, timeline.ErrNoPlace):
				r.Skipped++
			case err != nil:
				return nil, err
			default:
				r.Add(m)
			}
		}
	}
	return r, nil
}

// Call measures one recorded call, or returns nil if it cannot be measured.
func Call(ctx context.Context, store timeline.Store, tenant, conversation, id string, o Options) (*Measures, error) {
	c, err := store.Conversation(ctx, tenant, conversation)
	if err != nil {
		return nil, err
	}
	records, err := store.Records(ctx, tenant, conversation, "call", id)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	m, err := measure(ctx, store, tenant, &c, &records[0], &o, nil)
	if errors.Is(err, errSkipped) {
		return nil, nil
	}
	return m, err
}

// errSkipped: a call cannot be measured.
var errSkipped = errors.New("not measured")

// measure measures the call of a record.
func measure(ctx context.Context, store timeline.Store, tenant string, c *timeline.Conversation,
	record *timeline.Record, o *Options, known map[string]bool) (*Measures, error) {
	reply, err := replyTo(ctx, store, tenant, c, record)
	if err != nil {
		return nil, err
	}
	if len(reply) == 0 {
		return nil, errSkipped
	}
	stored, data, err := call.ReadSent(ctx, store, tenant, c.Name, record, call.SentOptions{Models: o.Models})
	if errors.Is(err, call.ErrPlanGone) {
		return nil, errSkipped
	} else if err != nil {
		return nil, err
	}
	sent, err := stored.ReadBody(data)
	if err != nil {
		return nil, fmt.Errorf("read call %s: %w", record.Key, err)
	}
	came, err := stored.ReadBody(stored.Body)
	if err != nil {
		return nil, fmt.Errorf("read call %s: %w", record.Key, err)
	}
	m := Look(came, sent, reply, stored.Plan != "", known)
	return &m, nil
}

// replyTo returns the messages of the model that follow a call's request; none if the
// conversation has left its branch.
func replyTo(ctx context.Context, store timeline.Store, tenant string, c *timeline.Conversation,
	record *timeline.Record) (reply []chat.Message, err error) {
	last := record.At.Depth
	on, err := timeline.Passes(ctx, store, tenant, c.Head, record.At)
	if err != nil || !on || last >= c.Head.Depth {
		return nil, err
	}
	// A reply in OpenAI's format Responses has several items; 64 are enough to judge it.
	over := false
	err = store.Messages(ctx, tenant, c.Head, last+1, min(last+64, c.Head.Depth), false, func(e *timeline.Entry) error {
		m, err := e.Chat()
		if over = over || err != nil || e.Ref == ""; !over { // what clients send has no reference to a reply
			reply = append(reply, m)
		}
		return nil
	})
	return reply, err
}
