package recall

import (
	"context"

	"github.com/oriel-context/oriel/timeline"
)

// Directives returns the directives of all users, like Scope.Directives, as people have
// edited them, and the blocks of messages whose directives are dismissed. It waits like
// Recall.
func (l *Library) Directives(ctx context.Context, w Where) (said []Directive, dismissed []string, err error) {
	a, err := l.ready(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	defer l.finish(a)
	var scope *Scope
	switch {
	case a.stored:
		if scope, err = l.found(ctx, w.Tenant, a.view, timeline.PassageQuery{Words: []string{directiveWord},
			Messages: maxDirectives}); err != nil {
			return nil, nil, err
		}
	case a.holds == nil:
		return nil, nil, nil
	default:
		scope = a.holds.scope
	}
	l.searching.Add(1)
	defer l.searching.Add(-1)
	notes := dismissals{view: a.view, store: l.store, tenant: w.Tenant, read: map[string][]timeline.Dismissal{}}
	edited := map[timeline.Place]int{} // where the text of a message is in said
	var last timeline.Place            // of the dismissed
	for _, d := range scope.Directives() {
		p := placeOf(d.Block)
		if !a.view.has(p) {
			continue
		}
		note, err := notes.of(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		d.Block = a.view.block(p)
		switch at, before := edited[p]; {
		case note == nil:
			said = append(said, d)
		case note.Text == "":
			if p != last {
				dismissed = append(dismissed, d.Block)
			}
			last = p
		case before:
			one := &said[at]
			one.Original += " " + d.Text
			if d.Kind == Instruction {
				one.Kind = Instruction
			}
		default:
			d.Original, d.Text = d.Text, note.Text
			edited[p] = len(said)
			said = append(said, d)
		}
	}
	return said, dismissed, nil
}

// dismissals reads the notes about directives of the conversations of a view.
type dismissals struct {
	view   *view
	store  timeline.Store
	tenant string
	read   map[string][]timeline.Dismissal // by conversation
}

// of returns the note about the directives of a message, or nil. A message may belong to
// several conversations, and the note of any of them counts.
func (n *dismissals) of(ctx context.Context, p timeline.Place) (*timeline.Dismissal, error) {
	for i := range n.view.members {
		m := &n.view.members[i]
		if !m.has(p) {
			continue
		}
		all, known := n.read[m.name]
		if !known {
			var err error
			if all, err = (timeline.Notes{Store: n.store, Tenant: n.tenant,
				Conversation: m.name}).Dismissed(ctx); err != nil {
				return nil, err
			}
			n.read[m.name] = all
		}
		for j := range all {
			if all[j].Of(p) {
				return &all[j], nil
			}
		}
	}
	return nil, nil
}
