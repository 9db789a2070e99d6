package serve

import (
	"context"
	"io"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/internal/metrics"
	"github.com/oriel-context/oriel/internal/metrics/tracing"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/timeline/postgres"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// Options are the options of Open.
type Options struct {
	// Proxy holds addresses, upstreams, tokens and the log; the engine is
	// added.
	Proxy proxy.Options
	// Place is where the history is.
	Place Place
	// Team admits the holders of stored tokens.
	Team  bool
	Sync  sqlite.Sync
	Spool string // that of the settings; see spoolFolder
	Calls oriel.CallOptions
	// Project is the project of new conversations, or ""; Alone is set if one agent uses
	// the proxy.
	Project string
	Alone   bool
	// Embed names the server that makes vectors; the zero value is the model in this
	// program.
	Embed settings.Embed
	// Fill has the model in this program embed the whole history in the background.
	Fill bool
	// Events is the file of events, or ""; OnEvent also receives them.
	Events  string
	OnEvent func(oriel.Event)
	// ErrOut receives a line if the history cannot be opened.
	ErrOut io.Writer
	// LogDropped returns how many log lines were dropped, SettingsHeld why
	// changed settings are not in use. Either may be nil.
	LogDropped   func() int64
	SettingsHeld func() string
	// Settings returns the settings in effect. It may be nil.
	Settings func() *settings.Loaded
	Waits    Waits
}

// Gateway is a proxy with its engine.
type Gateway struct {
	Server *proxy.Server
	Engine *oriel.Engine

	history *reopener
	events  *eventLog
	hub     *api.Hub
	metrics *metrics.Metrics
	tracer  *tracing.Tracer // nil: calls are not traced
	closers []func()
}

// Open opens the engine and the proxy. It reports a history that cannot
// be opened; calls then wait on disk, and are sent within what their models accept
// as far as that is known.
func Open(ctx context.Context, o Options) (_ *Gateway, err error) {
	g := &Gateway{hub: api.NewHub()}
	o.Waits = o.Waits.orDefaults()
	defer func() {
		if err != nil {
			g.Shutdown()
		}
	}()
	g.metrics = metrics.New(o.Proxy.Version, o.Calls.Models)
	g.openTracer(&o)
	if err := g.openEngine(ctx, &o); err != nil {
		return nil, err
	}
	o.Proxy.Engine, o.Proxy.ReplyTimeout = g.Engine, o.Waits.Reply
	o.Proxy.StoreTimeout = o.Waits.Health
	if o.Team {
		o.Proxy.Stored = g.history
	}
	o.Proxy.OnLimit = func(tenant, id string) { call.Of(g.Engine).Limited(tenant, id, event.LimitCalls) }
	o.Proxy.Store = func(ctx context.Context) error {
		if err := g.history.health(ctx); err != nil {
			return err
		}
		return call.Of(g.Engine).Err()
	}
	o.Proxy.Health = func() proxy.Health { return g.health(&o) }
	o.Proxy.Console = g.console(&o)
	boundMemory()
	if g.Server, err = proxy.New(o.Proxy); err != nil {
		return g, err
	}
	g.watch(&o)
	return g, nil
}

// openEngine opens the engine on a history that may become available later.
func (g *Gateway) openEngine(ctx context.Context, o *Options) error {
	g.openHistory(ctx, o)
	events, err := g.openEvents(o)
	if err != nil {
		return err
	}
	config := oriel.Config{Dir: o.Place.Dir, Store: g.history, Project: o.Project, Calls: o.Calls, Events: events,
		Log: o.Proxy.Log}
	if config.Spool, err = o.Place.spoolFolder(o.Spool); err != nil {
		o.Proxy.Log.Warn("calls that the history does not accept are lost", "error", err)
	}
	if o.Sync == sqlite.Full {
		config.Sync = "full"
	}
	if url := o.Place.URL; url != "" {
		config.Shared = true
		config.Learnt = sharedLearnt{postgres.Redact(url), g.history.documents}
	}
	g.openModel(ctx, o, &config)
	g.Engine, err = oriel.Open(call.With(ctx, call.Inside{Stages: g.stages(), Waits: o.Waits.Calls}), config)
	if err != nil {
		return err
	}
	g.onClose(func() {
		if err := g.Engine.Close(); err != nil {
			o.Proxy.Log.Error("close the engine", "error", err)
		}
	})
	return nil
}

// change applies new options to calls that begin from now on, as far as the
// proxy and the engine can change. After an error nothing is changed.
func (g *Gateway) change(o Options) error {
	if err := g.Server.Change(o.Proxy); err != nil {
		return err
	}
	g.metrics.SetModels(o.Calls.Models)
	return call.Of(g.Engine).Change(o.Calls)
}

func (g *Gateway) onClose(f func()) { g.closers = append(g.closers, f) }

// Shutdown closes everything in reverse order, so that calls are written before
// the store closes.
func (g *Gateway) Shutdown() {
	for len(g.closers) > 0 {
		last := len(g.closers) - 1
		g.closers[last]()
		g.closers = g.closers[:last]
	}
}

// Trouble returns what kept the history from recording, or "".
func (g *Gateway) Trouble() string { return g.history.trouble() }

// HistoryErr returns why the history is not open, or nil.
func (g *Gateway) HistoryErr() error { return g.history.err() }
