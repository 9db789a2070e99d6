package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/internal/api"
	"github.com/oriel-context/oriel/internal/metrics"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/tracing"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
)

// gatewayOptions are the options of openGateway.
type gatewayOptions struct {
	// proxy holds addresses, upstreams, tokens and the log; the engine is
	// added.
	proxy proxy.Options
	data  *history
	// team admits the holders of stored tokens.
	team  bool
	sync  sqlite.Sync
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
// be opened; calls then go through unrecorded, within what their models accept
// as far as that is known.
func openGateway(ctx context.Context, o gatewayOptions) (_ *gateway, err error) {
	g := &gateway{hub: api.NewHub()}
	defer func() {
		if err != nil {
			g.shutdown()
		}
	}()
	g.metrics = metrics.New(version(), o.calls.Models)
	g.openTracer(&o)
	if err := g.openEngine(ctx, &o); err != nil {
		return nil, err
	}
	o.proxy.Engine, o.proxy.ReplyTimeout = g.engine, replyTimeout
	o.proxy.StoreTimeout = healthWait
	if o.team {
		o.proxy.Stored = g.history
	}
	o.proxy.Store = func(ctx context.Context) error {
		if err := g.history.health(ctx); err != nil {
			return err
		}
		return g.engine.CallError()
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
	dir, err := o.data.folder()
	if err != nil {
		return err
	}
	ticker := time.NewTicker(reopenEvery)
	g.onClose(ticker.Stop)
	open := func(ctx context.Context) (*sqlite.Store, error) { return o.data.serve(ctx, o.sync) }
	g.history = newReopener(ctx, filepath.Join(dir, "oriel.db"), open, o.proxy.Log, ticker.C)
	g.onClose(func() { g.history.Close() })
	if broken := g.history.err(); broken != nil {
		fmt.Fprintf(o.errOut, "oriel: THE HISTORY CANNOT BE OPENED, calls go through unrecorded until it can: %s\n", oneLine(broken.Error(), maxError))
	}
	events, err := g.openEvents(o)
	if err != nil {
		return &failure{err}
	}
	config := oriel.Config{Dir: dir, Store: g.history, Project: o.project, Calls: o.calls, Events: events, Stages: g.stages(), Log: o.proxy.Log}
	// The model is there whatever the profile: a call may name another. One thread
	// leaves the machine to the agent.
	if model, closeModel, err := openModel(o.embed, 1); err != nil {
		o.proxy.Log.Warn("recall goes by words alone", "error", err)
		config.NoEmbed = true
	} else {
		config.Embed = model
		g.onClose(closeModel)
		if o.fill && o.embed.URL == "" { // a server of vectors may cost money: it gets what searches need
			g.fill(ctx, model, o.proxy.Log)
		}
	}
	g.engine, err = oriel.Open(ctx, config)
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

// fill makes the vectors that the history lacks, such as those of imported conversations,
// until the gateway shuts down.
func (g *gateway) fill(ctx context.Context, model embed.Model, log *slog.Logger) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		recall.Fill(ctx, g.history, recall.FillOptions{Model: model, Tenant: timeline.Local, Every: fillEvery, Settle: fillSettle, Report: func(err error) {
			log.Warn("some of the history has no vectors", "error", oneLine(err.Error(), maxError))
		}})
	}()
	g.onClose(func() {
		cancel()
		<-done
	})
}

// The waits of recall.Fill: its defaults. Tests do not wait.
var fillEvery, fillSettle time.Duration

// openEvents returns the function that receives events.
func (g *gateway) openEvents(o *gatewayOptions) (func(oriel.Event), error) {
	receivers := []func(oriel.Event){g.hub.Publish, g.metrics.Event}
	if o.onEvent != nil {
		receivers = append(receivers, o.onEvent)
	}
	if g.tracer != nil {
		receivers = append(receivers, g.tracer.Event)
	}
	if o.events != "" {
		file, err := openEventLog(o.events, 0)
		if err != nil {
			return nil, err
		}
		g.events = file
		g.onClose(func() {
			if err := file.Close(outputWait); err != nil {
				o.proxy.Log.Error("events were lost", "error", err)
			}
		})
		receivers = append(receivers, file.Write)
	}
	return func(e oriel.Event) {
		for _, receive := range receivers {
			receive(e)
		}
	}, nil
}

// health returns what the proxy does not know itself.
func (g *gateway) health(o *gatewayOptions) (h proxy.Health) {
	if o.logDropped != nil {
		h.DroppedLogLines = o.logDropped()
	}
	if o.settingsHeld != nil {
		h.SettingsHeld = o.settingsHeld()
	}
	if g.events != nil {
		h.DroppedEvents = g.events.Dropped()
	}
	return h
}

// change applies new options to calls that begin from now on, as far as the
// proxy and the engine can change. After an error nothing is changed.
func (g *gateway) change(o gatewayOptions) error {
	if err := g.server.Change(o.proxy); err != nil {
		return err
	}
	g.metrics.SetModels(o.calls.Models)
	return g.engine.SetCallOptions(o.calls)
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

// replyTimeout is proxy.Options.ReplyTimeout: the default. Tests wait longer.
var replyTimeout time.Duration

// Memory limits of the process, so that the bodies of past calls do not pile
// up between two collections: for calls alone, and with the recall library,
// which has a limit of its own. Unused memory is not taken.
const (
	serverMemory  = 128 << 20
	libraryMemory = serverMemory + recall.DefaultMemory + recall.DefaultMemory/2
)

// boundMemory sets the collector's memory limit, unless the user has set one.
func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(libraryMemory)
	}
}

// healthWait is how long the history may take to answer a health check.
var healthWait = time.Second

// leftWait is how long calls may continue after the program of a run has
// ended: processes that it left behind make them.
var leftWait = 2 * time.Second

// outputWait is how long the last log lines and events may take to be written
// when the server ends, even if nobody reads them.
var outputWait = 2 * time.Second

// serve opens the history for recording, and creates it if there is none.
func (h *history) serve(ctx context.Context, level sqlite.Sync) (*sqlite.Store, error) {
	dir, err := h.folder()
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, dir, sqlite.Options{Sync: level})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Clean(dir), err)
	}
	return store, nil
}
