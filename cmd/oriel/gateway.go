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

	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/proxy"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/record"
	"github.com/oriel-context/oriel/settings"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/sqlite"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/view"
	"github.com/oriel-context/oriel/window"
)

// gatewayOptions are what a gateway is made of.
type gatewayOptions struct {
	// proxy has addresses, upstreams, tokens and the log; what records is added.
	proxy      proxy.Options
	data       *history
	sync       sqlite.Sync
	profile    string
	thresholds window.Thresholds
	condensing *view.CondenseOptions
	// models, recall, lowMark, keepTools, plainCache, profiles and margin are those of
	// settings; the zero values are the defaults.
	models     *token.Models
	recall     settings.Recall
	lowMark    float64
	keepTools  []string
	plainCache bool
	profiles   *window.ProfileTable
	margin     float64
	// events is the file of events, "" for none; onEvent is told of them, too.
	events  string
	onEvent func(record.Event)
	errOut  io.Writer
	// logDropped returns how many lines of the log were dropped, settingsHeld why changed
	// settings are not in use; nil: not known.
	logDropped   func() int64
	settingsHeld func() string
}

// gateway is a proxy with all that it uses.
type gateway struct {
	server   *proxy.Server
	recorder *record.Recorder
	history  *reopener
	events   *record.EventFile
	closers  []func()
}

// openGateway opens the history and makes the proxy. A history that cannot be opened is
// reported, and the calls go through all the same: within what their models take, as far
// as that can be told without it.
func openGateway(ctx context.Context, o gatewayOptions) (_ *gateway, err error) {
	g := new(gateway)
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if err := g.openHistory(ctx, &o); err != nil {
		return nil, err
	}
	if err := g.record(&o); err != nil {
		return nil, &failure{err}
	}
	g.server, err = proxy.New(o.proxy)
	return g, err
}

// openHistory opens the history, or reports that it cannot be opened yet.
func (g *gateway) openHistory(ctx context.Context, o *gatewayOptions) error {
	dir, err := o.data.folder()
	if err != nil {
		return err
	}
	open := func(ctx context.Context) (timeline.Store, error) { return o.data.serve(ctx, o.sync) }
	ticker := time.NewTicker(reopenEvery)
	g.onClose(ticker.Stop)
	g.history = newReopener(ctx, filepath.Join(dir, "oriel.db"), open, o.proxy.Log, ticker.C)
	g.onClose(func() { g.history.Close() })
	if broken := g.history.err(); broken != nil {
		fmt.Fprintf(o.errOut, "oriel: THE HISTORY CANNOT BE OPENED, calls go through unrecorded until it can: %s\n", oneLine(broken.Error(), maxError))
	}
	return nil
}

// record adds what records calls and decides what is sent of them.
func (g *gateway) record(o *gatewayOptions) error {
	log := o.proxy.Log
	r := o.recording()
	r.Store, r.Log, r.Events = g.history, log, o.onEvent
	library, closeLibrary := openLibrary(g.history, log)
	g.onClose(closeLibrary)
	r.Recall = library
	if o.events != "" {
		file, err := record.OpenEvents(o.events, 0)
		if err != nil {
			return err
		}
		g.events = file
		g.onClose(func() { closeEvents(file, log) })
		r.Events = func(e record.Event) {
			file.Write(e)
			if o.onEvent != nil {
				o.onEvent(e)
			}
		}
	}
	learnt, err := token.OpenLearnt(filepath.Join(filepath.Dir(g.history.path), learntFile))
	if err != nil {
		log.Warn("what was learnt of providers is lost", "error", err)
	}
	g.onClose(func() { saveLearnt(learnt, log) })
	r.Limits, r.Calibration, r.Learnt, r.Refresh = learnt.Limits, learnt.Calibration, learnt.Save, learnt.Refresh
	g.recorder = record.New(r)
	g.onClose(func() { closeRecorder(g.recorder, log) })
	o.proxy.Recorder = g.recorder
	o.proxy.BeginTimeout, o.proxy.RecordTimeout = o.wait(), observeWait
	o.proxy.Store = func(ctx context.Context) error {
		if err := g.history.health(ctx); err != nil {
			return err
		}
		return g.recorder.Err()
	}
	o.proxy.Health = func() proxy.Health { return g.health(o) }
	boundMemory()
	return nil
}

// health returns what the proxy does not know of itself.
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

// recording are the options of the recorder that may change while it runs.
func (o *gatewayOptions) recording() record.Options {
	return record.Options{
		Profile: o.profile, Thresholds: o.thresholds, Condense: o.condensing, Models: o.models,
		RecallTokens: o.recall.Tokens, RecallWait: o.recall.Wait, LowMark: o.lowMark, KeepTools: o.keepTools, PlainCache: o.plainCache,
		Profiles: o.profiles, Margin: o.margin,
	}
}

// wait is the longest that a call waits for what is to be sent of it: twice for the
// store, which is asked for its conversation and then for its plans, and for the view.
func (o *gatewayOptions) wait() time.Duration {
	wait := 2*record.DefaultStoreWait + viewWait
	if o.condensing != nil && o.condensing.Inline {
		wait += o.condensing.Wait
	}
	return wait
}

// change has calls that come from now on treated by other options: those that the proxy
// and the recorder can change. Where there is an error nothing is changed.
func (g *gateway) change(o gatewayOptions) error {
	o.proxy.BeginTimeout, o.proxy.RecordTimeout = o.wait(), observeWait
	if err := g.server.Change(o.proxy); err != nil {
		return err
	}
	g.recorder.Change(o.recording())
	return nil
}

func (g *gateway) onClose(f func()) { g.closers = append(g.closers, f) }

// close ends what was opened, the last first: calls are written before the store closes.
func (g *gateway) close() {
	for len(g.closers) > 0 {
		last := len(g.closers) - 1
		g.closers[last]()
		g.closers = g.closers[:last]
	}
}

// viewWait is the longest that a view may be in the making, also on a busy machine: it
// ends what never would. What a view asks others for has shorter limits of its own.
const viewWait = 30 * time.Second

// observeWait is the longest that a call waits for its recorder where nothing depends on
// it.
const observeWait = 2 * time.Second

// openLibrary makes what finds in the history what views no longer show. It is there
// whatever the profile: a call may name another. Without its model it goes by words.
func openLibrary(store timeline.Store, log *slog.Logger) (*recall.Library, func()) {
	model, err := minilm.Open(minilm.Options{Threads: 1})
	if err != nil {
		log.Warn("recall goes by words alone", "error", err)
		library := recall.NewLibrary(store, recall.LibraryOptions{})
		return library, func() { library.Close() }
	}
	library := recall.NewLibrary(store, recall.LibraryOptions{Model: model})
	return library, func() {
		library.Close()
		model.Close()
	}
}

func saveLearnt(l *token.Learnt, log *slog.Logger) {
	if err := l.Save(); err != nil {
		log.Error("what was learnt of providers is lost", "error", err)
	}
}

func closeEvents(f *record.EventFile, log *slog.Logger) {
	if err := f.Close(outputWait); err != nil {
		log.Error("events were lost", "error", err)
	}
}

// Memory that the process should stay within, so that bodies which came and went do not
// pile up between two collections: for calls, and with the library, which has a limit of
// its own. What is not used is not taken.
const (
	serverMemory  = 128 << 20
	libraryMemory = serverMemory + recall.DefaultMemory + recall.DefaultMemory/2
)

// boundMemory makes the collector work for it, unless the user has said something else.
func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(libraryMemory)
	}
}

// outputWait is how long the last lines of the log, and the last events, may take to be
// written when the server ends. A reader that does not read holds nothing longer.
const outputWait = 2 * time.Second

// recordWait is how long the last calls may take to be written when the server ends.
const recordWait = 30 * time.Second

// closeRecorder waits for the last calls to be written.
func closeRecorder(r *record.Recorder, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), recordWait)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		log.Error("calls were lost at the end", "error", err)
	}
}

// serve opens the history to record into, and makes it where there is none.
func (h *history) serve(ctx context.Context, level sqlite.Sync) (timeline.Store, error) {
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
