package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// ErrNewer: a newer version of this program has made a plan in a form of its own.
var ErrNewer = errors.New("a newer version of Oriel has made the plan")

// Read is [List] with Plan set for the plans of calls that were read. With an ErrNewer it
// returns all the same the other plans.
func Read(ctx context.Context, n timeline.Notes, known func(id string) bool) ([]Stored, error) {
	listed, err := List(ctx, n, known)
	if err != nil {
		return nil, err
	}
	reader := reader{Notes: n}
	var all []Stored
	var newer error
	for i := range listed {
		p := &listed[i]
		if _, items := NumberOf(p.ID); items || p.Data == nil || known != nil && known(p.ID) {
			all = append(all, *p)
			continue
		}
		var d Data
		err := json.Unmarshal(p.Data, &d)
		if err == nil && d.View == nil {
			continue // not one of calls
		}
		if err == nil {
			err = reader.read(ctx, p, &d)
		}
		switch {
		case errors.Is(err, ErrNewer):
			newer = fmt.Errorf("read plan %s of conversation %q: %w", p.Name(), n.Conversation, err)
		case err != nil:
			return nil, fmt.Errorf("read plan %s of conversation %q: %w", p.Name(), n.Conversation, err)
		default:
			p.Plan.MarkStored()
		}
		all = append(all, *p)
	}
	return all, newer
}

// Find reads the plan of calls with this id, or returns nil if there is none.
func Find(ctx context.Context, n timeline.Notes, id string) (*Plan, error) {
	keys, err := keysOf(ctx, n, timeline.KindPlan)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if IDOf(key) != id {
			continue
		}
		records, err := recordsOf(ctx, n, timeline.KindPlan, key)
		if err != nil || len(records) == 0 {
			return nil, err
		}
		p := listed(records)[0]
		var d Data
		if err = json.Unmarshal(p.Data, &d); err != nil || d.View == nil {
			return nil, err
		}
		reader := reader{Notes: n}
		if err := reader.read(ctx, &p, &d); err != nil {
			return nil, fmt.Errorf("read plan %s of conversation %q: %w", id, n.Conversation, err)
		}
		p.Plan.MarkStored()
		return p.Plan, nil
	}
	return nil, nil
}

// reader reads the plans of a conversation.
type reader struct {
	timeline.Notes
	folds map[string]*Fold // by plan; nil: not read yet
}

// read sets the Plan of a plan whose data is d.
func (r *reader) read(ctx context.Context, stored *Stored, d *Data) (err error) {
	v := d.View
	if v.V > 1 {
		return fmt.Errorf("%w: it has format %d, this program knows 1", ErrNewer, v.V)
	}
	d.Undo = stored.ID
	if stored.Number > 0 {
		d.Undo = stored.Name()
	}
	p := &Plan{
		Plan: d.Plan, ID: stored.ID, For: v.For, Covers: v.Covers, Replaced: map[int][]byte{}, Budget: v.Budget,
		ExceptNewest: v.Open, ThinkingStripped: v.Bare, Recalled: v.Recalled,
	}
	if v.Reused != nil {
		p.Reused = *v.Reused
	}
	raw := stored.Raw
	for _, h := range stored.Contents {
		content, err := r.Store.Content(ctx, r.Tenant, h)
		if err != nil {
			return err
		}
		raw = append(raw, content)
	}
	if p.Dropped, err = timeline.ParseRanges(v.Gone); err != nil || v.V != 1 || len(v.Instead)+len(v.Own) != len(raw) {
		return timeline.ErrDamaged
	}
	for k, depth := range v.Instead {
		p.Replaced[depth] = raw[k]
	}
	if p.ClientOwn, err = readOwn(v, raw[len(v.Instead):]); err != nil {
		return err
	}
	if v.Fold != "" {
		if p.Fold, err = r.fold(ctx, v.Fold); err != nil {
			return err
		}
	}
	stored.Plan, stored.Covers = p, p.Covers
	return nil
}

// fold returns what a plan left out, with its summary if there is one.
func (r *reader) fold(ctx context.Context, plan string) (*Fold, error) {
	if r.folds == nil {
		summaries, err := readSummaries(ctx, r.Notes)
		if err != nil {
			return nil, err
		}
		r.folds = map[string]*Fold{}
		for name, s := range summaries {
			f := &Fold{Plan: name}
			f.Summary.Store(s)
			r.folds[name] = f
		}
	}
	f := r.folds[plan]
	if f == nil {
		f = &Fold{Plan: plan}
		r.folds[plan] = f
	}
	return f, nil
}

// readOwn reads what a plan does to the client's own messages.
func readOwn(s *repeat, contents [][]byte) (map[timeline.Hash][]byte, error) {
	if len(s.Own)+len(s.OwnGone) == 0 {
		return nil, nil
	}
	own := map[timeline.Hash][]byte{}
	for i, text := range slices.Concat(s.Own, s.OwnGone) {
		says, err := timeline.ParseHash(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", timeline.ErrDamaged, err)
		}
		own[says] = nil
		if i < len(contents) {
			own[says] = contents[i]
		}
	}
	return own, nil
}
