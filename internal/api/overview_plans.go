package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/timeline"
)

// decision is what a plan did that the one before it for the same model had not done.
type decision struct {
	at  time.Time
	cut bool // it changed what becomes of a message
	// passages is how many it recalled.
	passages int
	// done is what the last plan for each model does; nil for all plans but the newest.
	done map[string]inForce
}

// inForce is what a plan does.
type inForce struct {
	verdicts map[int]string
	recalled map[string]bool // texts
}

// dayPlans counts the plans of a conversation since a time that took something out of view,
// those that brought passages back, and these passages.
func (q *request) dayPlans(ctx context.Context, c *timeline.Conversation, t *today, since time.Time) error {
	made, err := q.made.get(q.tenant, c, func() ([]decision, error) { return q.readMade(ctx, c) })
	if errors.Is(err, timeline.ErrNoConversation) {
		err = nil
	}
	for _, p := range made {
		if p.at.Before(since) {
			continue
		}
		if p.cut {
			t.Cuts++
		}
		if p.passages > 0 {
			t.Recalls++
			t.Passages += p.passages
		}
	}
	return err
}

// readMade reads the plans of a conversation that are not known yet.
func (q *request) readMade(ctx context.Context, c *timeline.Conversation) ([]decision, error) {
	keys, err := q.Store.RecordKeys(ctx, q.tenant, c.Name, timeline.KindPlan)
	if err != nil {
		return nil, err
	}
	made := slices.Clone(q.made.last(q.tenant, c.Name))
	if len(made) > len(keys) { // it was begun again
		made = nil
	}
	done := map[string]inForce{}
	if n := len(made); n > 0 {
		maps.Copy(done, made[n-1].done)
		made[n-1].done = nil
	}
	for _, key := range keys[len(made):] {
		records, err := q.Store.Records(ctx, q.tenant, c.Name, timeline.KindPlan, key)
		if err != nil {
			return nil, err
		}
		p := decision{}
		for i := range records {
			p.read(&records[i], done)
		}
		made = append(made, p)
	}
	if n := len(made); n > 0 {
		made[n-1].done = done
	}
	return made, nil
}

// read compares a plan with what the one before it did, and takes its place.
func (p *decision) read(r *timeline.Record, done map[string]inForce) {
	var data struct {
		Blocks []struct {
			Index   int
			Verdict string
		}
		Inserted []struct{ Kind, Text, Block string }
		View     struct{ For string }
	}
	if json.Unmarshal(r.Data, &data) != nil {
		return
	}
	p.at = r.Time
	before, now := done[data.View.For], inForce{map[int]string{}, map[string]bool{}}
	for _, b := range data.Blocks {
		now.verdicts[b.Index] = b.Verdict
		p.cut = p.cut || before.verdicts[b.Index] != b.Verdict
	}
	for _, in := range data.Inserted {
		if in.Kind != "recall" {
			continue
		}
		now.recalled[in.Text] = true
		if !before.recalled[in.Text] {
			// What is quoted of one message is one passage, as for oriel usage --quality.
			// Standing instructions name no messages: they were not searched for.
			p.passages += len(slices.Compact(strings.Fields(in.Block)))
		}
	}
	done[data.View.For] = now
}
