package main

import (
	"context"
	"errors"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/record"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// eitherConversation runs one of two on a conversation that exists: theirs on one that
// the proxy has recorded, ours on any other, through the engine. write says that theirs
// changes something.
func (h *history) eitherConversation(ctx context.Context, name string, write bool, theirs func(*record.Conversation) error, ours func(*oriel.Conversation) error) error {
	proxied := false
	look := func(s timeline.Store, do func(*record.Conversation) error) error {
		if _, err := findConversation(ctx, s, name); err != nil {
			return err
		}
		c, ok, err := record.OpenConversation(ctx, s, timeline.Local, name)
		if err != nil {
			return &failure{err}
		}
		if proxied = ok; ok && do != nil {
			return byProxyCause(do(c))
		}
		return nil
	}
	first := theirs
	if write {
		first = nil // looking changes nothing
	}
	err := h.with(ctx, func(s timeline.Store) error { return look(s, first) })
	switch {
	case err != nil:
		return err
	case !proxied:
		return h.withConversation(ctx, name, ours)
	case write:
		return h.change(ctx, func(s timeline.Store) error { return look(s, theirs) })
	}
	return nil
}

// byProxyCause makes errors that are not about what a person asked for failures.
func byProxyCause(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{record.ErrNoMessage, record.ErrNoPlan, window.ErrCannotFit} {
		if errors.Is(err, known) {
			return err
		}
	}
	return &failure{err}
}
