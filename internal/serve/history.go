package serve

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
func (g *Gateway) openHistory(ctx context.Context, o *Options) {
	ticker := time.NewTicker(o.Waits.Reopen)
	g.onClose(ticker.Stop)
	open := func(ctx context.Context) (timeline.Store, error) { return o.Place.Open(ctx, o.Sync, o.Proxy.Log) }
	where := filepath.Join(o.Place.Dir, "oriel.db")
	if o.Place.URL != "" {
		where = postgres.Redact(o.Place.URL)
	}
	g.history = newReopener(ctx, where, open, o.Proxy.Log, ticker.C)
	g.onClose(func() { g.history.Close() })
	if broken := g.history.err(); broken != nil {
		fmt.Fprintf(o.ErrOut, "oriel: THE HISTORY CANNOT BE OPENED, calls wait on disk until it can: %s\n",
			term.OneLine(broken.Error(), term.MaxError))
	}
}

// Place is where a history is: in a database, or in a data folder. A server has a data folder
// in both cases.
type Place struct{ Dir, URL string }

// Open opens the history for recording, and creates it if there is none.
func (p Place) Open(ctx context.Context, level sqlite.Sync, log *slog.Logger) (timeline.Store, error) {
	if p.URL != "" {
		store, err := postgres.Open(ctx, p.URL, postgres.Options{Log: log})
		if err != nil {
			return nil, err // not a store that is nil
		}
		return store, nil
	}
	if IsAnothers(p.Dir) {
		return nil, AnothersFolder(p.Dir)
	}
	store, err := sqlite.Open(ctx, p.Dir, sqlite.Options{Sync: level})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Clean(p.Dir), err)
	}
	return store, nil
}

// SyncLevel returns the level that --sync and the settings name.
func SyncLevel(name string) (sqlite.Sync, error) {
	switch name {
	case "normal":
		return sqlite.Normal, nil
	case "full":
		return sqlite.Full, nil
	}
	return 0, fmt.Errorf("--sync %s: use normal or full", name)
}
