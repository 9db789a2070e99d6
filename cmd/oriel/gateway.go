package main

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

// gatewayOptions are the options of openGateway.
type gatewayOptions struct {
	// proxy holds addresses, upstreams, tokens and the log; the engine is
	// added.
	proxy proxy.Options
	place Place
	// team admits the holders of stored tokens.
	team  bool
	sync  sqlite.Sync
	spool string // that of the settings; see spoolFolder
	calls oriel.CallOptions
	// project is the project of new conversations, or ""; alone is set if one agent uses
	// the proxy.
	project string
	alone   bool
	// embed names the server that makes vectors; the zero value is the model in this
	// program.
	embed settings.Embed
	// fill has the model in this program embed the whole history in the background.
	fill bool
	// events is the file of events, or ""; onEvent also receives them.
	events  string
	onEvent func(oriel.Event)
	errOut  io.Writer
	// logDropped returns how many log lines were dropped, settingsHeld why
	// changed settings are not in use. Either may be nil.
	logDropped   func() int64
	settingsHeld func() string
	// settings returns the settings in effect. It may be nil.
	settings func() *settings.Loaded
	waits    waits
}

// gateway is a proxy with its engine.
type gateway struct {
	server  *proxy.Server
	engine  *oriel.Engine
	history *reopener
	events  *eventLog
	hub     *api.Hub
	metrics *metrics.Metrics
	tracer  *tracing.Tracer // nil: calls are not traced
	closers []func()
}

// openGateway opens the engine and the proxy. It reports a history that cannot
// be opened; calls then wait on disk, and are sent within what their models accept
// as far as that is known.
func openGateway(ctx context.Context, o gatewayOptions) (_ *gateway, err error) {
	g := &gateway{hub: api.NewHub()}
	o.waits = o.waits.orDefaults()
	defer func() {
		if err != nil {
			g.shutdown()
		}
	}()
	g.metrics = metrics.New(o.proxy.Version, o.calls.Models)
	g.openTracer(&o)
	if err := g.openEngine(ctx, &o); err != nil {
		return nil, err
	}
	o.proxy.Engine, o.proxy.ReplyTimeout = g.engine, o.waits.reply
	o.proxy.StoreTimeout = o.waits.health
	if o.team {
		o.proxy.Stored = g.history
	}
	o.proxy.OnLimit = func(tenant, id string) { call.Of(g.engine).Limited(tenant, id, event.LimitCalls) }
	o.proxy.Store = func(ctx context.Context) error {
		if err := g.history.health(ctx); err != nil {
			return err
		}
		return call.Of(g.engine).Err()
	}
	o.proxy.Health = func() proxy.Health { return g.health(&o) }
	o.proxy.Console = g.console(&o)
	boundMemory()
	if g.server, err = proxy.New(o.proxy); err != nil {
		return g, err
	}
	g.watch(&o)
	return g, nil
}

// openEngine opens the engine on a history that may become available later.
func (g *gateway) openEngine(ctx context.Context, o *gatewayOptions) error {
	g.openHistory(ctx, o)
	events, err := g.openEvents(o)
	if err != nil {
		return err
	}
	config := oriel.Config{Dir: o.place.Dir, Store: g.history, Project: o.project, Calls: o.calls, Events: events, Log: o.proxy.Log}
	if config.Spool, err = o.place.spoolFolder(o.spool); err != nil {
		o.proxy.Log.Warn("calls that the history does not accept are lost", "error", err)
	}
	if o.sync == sqlite.Full {
		config.Sync = "full"
	}
	if url := o.place.URL; url != "" {
		config.Shared = true
		config.Learnt = sharedLearnt{postgres.Redact(url), g.history.documents}
	}
	g.openModel(ctx, o, &config)
	g.engine, err = oriel.Open(call.With(ctx, call.Inside{Stages: g.stages()}), config)
	if err != nil {
		return err
	}
	g.onClose(func() {
		if err := g.engine.Close(); err != nil {
			o.proxy.Log.Error("close the engine", "error", err)
		}
	})
	return nil
}

// change applies new options to calls that begin from now on, as far as the
// proxy and the engine can change. After an error nothing is changed.
func (g *gateway) change(o gatewayOptions) error {
	if err := g.server.Change(o.proxy); err != nil {
		return err
	}
	g.metrics.SetModels(o.calls.Models)
	return call.Of(g.engine).Change(o.calls)
}

func (g *gateway) onClose(f func()) { g.closers = append(g.closers, f) }

// shutdown closes everything in reverse order, so that calls are written before
// the store closes.
func (g *gateway) shutdown() {
	for len(g.closers) > 0 {
		last := len(g.closers) - 1
		g.closers[last]()
		g.closers = g.closers[:last]
	}
}

// trouble returns what kept the history from recording, or "".
func (g *gateway) trouble() string { return g.history.trouble() }

// historyErr returns why the history is not open, or nil.
func (g *gateway) historyErr() error { return g.history.err() }
