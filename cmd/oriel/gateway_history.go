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
func (g *gateway) openHistory(ctx context.Context, o *gatewayOptions) {
	ticker := time.NewTicker(o.waits.reopen)
	g.onClose(ticker.Stop)
	open := func(ctx context.Context) (timeline.Store, error) { return o.place.open(ctx, o.sync, o.proxy.Log) }
	where := filepath.Join(o.place.Dir, "oriel.db")
	if o.place.URL != "" {
		where = postgres.Redact(o.place.URL)
	}
	g.history = newReopener(ctx, where, open, o.proxy.Log, ticker.C)
	g.onClose(func() { g.history.Close() })
	if broken := g.history.err(); broken != nil {
		fmt.Fprintf(o.errOut, "oriel: THE HISTORY CANNOT BE OPENED, calls wait on disk until it can: %s\n", term.OneLine(broken.Error(), maxError))
	}
}

// Place is where a history is: in a database, or in a data folder. A server has a data folder
// in both cases.
type Place struct{ Dir, URL string }

// open opens the history for recording, and creates it if there is none.
func (p Place) open(ctx context.Context, level sqlite.Sync, log *slog.Logger) (timeline.Store, error) {
	if p.URL != "" {
		store, err := postgres.Open(ctx, p.URL, postgres.Options{Log: log})
		if err != nil {
			return nil, err // not a store that is nil
		}
		return store, nil
	}
	if isAnothers(p.Dir) {
		return nil, anothersFolder(p.Dir)
	}
	store, err := sqlite.Open(ctx, p.Dir, sqlite.Options{Sync: level})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Clean(p.Dir), err)
	}
	return store, nil
}

// syncLevel returns the level that --sync and the settings name.
func syncLevel(name string) (sqlite.Sync, error) {
	switch name {
	case "normal":
		return sqlite.Normal, nil
	case "full":
		return sqlite.Full, nil
	}
	return 0, fmt.Errorf("--sync %s: use normal or full", name)
}
