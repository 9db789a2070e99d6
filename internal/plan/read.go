package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/timeline"
)

// Stored is a plan in a conversation.
type Stored struct {
	// ID is the plan's, Number its number in the conversation, by which people call it.
	ID     string
	Number int64
	// At is the place of the last message that it covers; zero while that is not stored.
	At timeline.Place
	// Plan is nil if it was not read, or is not one of calls.
	Plan *Plan
}

// Name returns what people call a plan in its conversation: "p3".
func (s *Stored) Name() string { return timeline.PlanID(s.Number) }

// Is reports whether a plan has this id, or this name in its conversation.
func (s *Stored) Is(id string) bool { return id == s.ID || id == s.Name() }

// ErrNewer: a newer version of this program has made a plan in a form of its own.
var ErrNewer = errors.New("a newer version of Oriel has made the plan")

// Read reads the plans of a conversation, in the order in which they were made. Those that
// known reports are not read; known may be nil. With an ErrNewer it returns all the same the
// other plans.
func Read(ctx context.Context, store timeline.Store, tenant, conversation string, known func(id, name string) bool) ([]Stored, error) {
	plans, err := timeline.Notes{Store: store, Tenant: tenant, Conversation: conversation}.PlansExcept(ctx, known)
	if err != nil {
		return nil, err
	}
	reader := reader{store: store, tenant: tenant, conversation: conversation}
	var out []Stored
	var newer error
	for i := range plans {
		r := &plans[i]
		number, _ := timeline.PlanNumber(r.ID)
		stored := Stored{ID: r.Name, Number: number, At: r.At}
		if r.Name == "" || r.Data == nil || known != nil && known(r.ID, r.Name) { // one of items, or known
			out = append(out, stored)
			continue
		}
		var s Data
		if err := json.Unmarshal(r.Data, &s); err != nil {
			return nil, fmt.Errorf("read plan %s of conversation %q: %w", r.ID, conversation, err)
		}
		if s.View == nil {
			continue // not one of calls
		}
		p, err := reader.read(ctx, r, &s)
		switch {
		case errors.Is(err, ErrNewer):
			newer = fmt.Errorf("read plan %s of conversation %q: %w", r.ID, conversation, err)
		case err != nil:
			return nil, fmt.Errorf("read plan %s of conversation %q: %w", r.ID, conversation, err)
		default:
			p.MarkStored()
			stored.Plan = p
		}
		out = append(out, stored)
	}
	return out, newer
}

// reader reads the plans of a conversation.
type reader struct {
	store                timeline.Store
	tenant, conversation string
	folds                map[string]*Fold // by plan; nil: not read yet
}

// read returns the plan whose data is s.
func (d *reader) read(ctx context.Context, r *timeline.Plan, s *Data) (p *Plan, err error) {
	if s.View.V > 1 {
		return nil, fmt.Errorf("%w: it has format %d, this program knows 1", ErrNewer, s.View.V)
	}
	s.Undo = r.ID
	p = &Plan{
		Plan: s.Plan, ID: r.Name, For: s.View.For, Covers: s.View.Covers, Replaced: map[int][]byte{}, Budget: s.View.Budget,
		ExceptNewest: s.View.Open, ThinkingStripped: s.View.Bare, Recalled: s.View.Recalled,
	}
	if s.View.Reused != nil {
		p.Reused = *s.View.Reused
	}
	if p.Dropped, err = timeline.ParseRanges(s.View.Gone); err != nil || s.View.V != 1 || len(s.View.Instead)+len(s.View.Own) != len(r.Contents) {
		return nil, timeline.ErrDamaged
	}
	for k, depth := range s.View.Instead {
		if p.Replaced[depth], err = d.store.Content(ctx, d.tenant, r.Contents[k]); err != nil {
			return nil, err
		}
	}
	if p.ClientOwn, err = readOwn(ctx, d.store, d.tenant, s.View, r.Contents[len(s.View.Instead):]); err != nil {
		return nil, err
	}
	if s.View.Fold != "" {
		p.Fold, err = d.fold(ctx, s.View.Fold)
	}
	return p, err
}

// fold returns what a plan left out, with its summary if there is one.
func (d *reader) fold(ctx context.Context, plan string) (*Fold, error) {
	if d.folds == nil {
		summaries, err := readSummaries(ctx, d.store, d.tenant, d.conversation)
		if err != nil {
			return nil, err
		}
		d.folds = map[string]*Fold{}
		for name, s := range summaries {
			f := &Fold{Plan: name}
			f.Summary.Store(s)
			d.folds[name] = f
		}
	}
	f := d.folds[plan]
	if f == nil {
		f = &Fold{Plan: plan}
		d.folds[plan] = f
	}
	return f, nil
}

// readOwn reads what a plan does to the client's own messages.
func readOwn(ctx context.Context, store timeline.Store, tenant string, s *repeat, contents []timeline.Hash) (map[timeline.Hash][]byte, error) {
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
			if own[says], err = store.Content(ctx, tenant, contents[i]); err != nil {
				return nil, err
			}
		}
	}
	return own, nil
}
