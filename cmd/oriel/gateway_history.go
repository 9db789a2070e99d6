package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// openHistory opens the history of the engine. One that cannot be opened is reported, and
// tried again until it can.
func (g *gateway) openHistory(ctx context.Context, o *gatewayOptions, dir string) {
	ticker := time.NewTicker(reopenEvery)
	g.onClose(ticker.Stop)
	open := func(ctx context.Context) (timeline.Store, error) { return o.data.serve(ctx, o.sync, o.proxy.Log) }
	place := filepath.Join(dir, "oriel.db")
	if url, err := o.data.database(); err == nil && url != "" {
		place = postgres.Redact(url)
	}
	g.history = newReopener(ctx, place, open, o.proxy.Log, ticker.C)
	g.onClose(func() { g.history.Close() })
	if broken := g.history.err(); broken != nil {
		fmt.Fprintf(o.errOut, "oriel: THE HISTORY CANNOT BE OPENED, calls wait on disk until it can: %s\n", term.OneLine(broken.Error(), maxError))
	}
}

// serve opens the history for recording, and creates it if there is none.
func (h *history) serve(ctx context.Context, level sqlite.Sync, log *slog.Logger) (timeline.Store, error) {
	url, err := h.database()
	if err != nil {
		return nil, err
	}
	if url != "" {
		store, err := postgres.Open(ctx, url, postgres.Options{Log: log})
		if err != nil {
			return nil, err // not a store that is nil
		}
		return store, nil
	}
	dir, err := h.folder()
	if err != nil {
		return nil, err
	}
	if isAnothers(dir) {
		return nil, anothersFolder(dir)
	}
	store, err := sqlite.Open(ctx, dir, sqlite.Options{Sync: level})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Clean(dir), err)
	}
	return store, nil
}
