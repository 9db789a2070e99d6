package main

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/proxy"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/timeline/memory"
)

// liveSettings applies changed settings to a running gateway.
type liveSettings struct {
	// open is set if others than programs of this machine are served.
	open    bool
	log     *slog.Logger
	version string
	waits   waits
	gateway *gateway
	now     atomic.Pointer[settings.Loaded]
	held    atomic.Pointer[string] // why changed settings are not in use; nil if they are

	// condensing was made from condensed; done releases it.
	condensing *oriel.CondenseOptions
	condensed  *settings.Loaded
	done       func()
}

// options returns the gateway's options for settings.
func (s *liveSettings) options(l *settings.Loaded) (gatewayOptions, error) {
	o := gatewayOptions{
		proxy: proxy.Options{Listen: l.Listen, OpenAI: l.Upstream.OpenAI, Anthropic: l.Upstream.Anthropic, Origins: l.Origins, Version: s.version, Log: s.log},
		calls: oriel.CallOptions{
			Profile: l.Profile, Profiles: l.ProfileTable, Models: l.Table, Margin: l.WindowMargin(), Thresholds: l.Thresholds.Percents(), LowMark: l.LowMark,
			KeepTools: l.KeepTools, RecallTokens: l.Recall.Tokens, RecallWait: l.Recall.Wait, RecallReach: recall.Reach(l.Recall.Scope), PlainCache: l.Upstream.PlainCache,
		},
		embed: l.Embed,
		waits: s.waits,
	}
	o.spool = l.Spool
	o.proxy.CallsPerMinute, o.calls.StoredBytes = limitsOf(l.Tenants)
	if l.Token != "" {
		o.proxy.Tokens = map[string]string{l.Token: timeline.Local}
	}
	// Do not give up summaries in progress without a reason.
	if old := s.condensed; old == nil || old.Condense != l.Condense || old.Instructions != l.Instructions ||
		!reflect.DeepEqual(old.Table.Lookup(l.Condense.Model), l.Table.Lookup(l.Condense.Model)) {
		condensing, done, err := openCondensing(l)
		if err != nil {
			return o, err
		}
		s.stop()
		s.condensing, s.condensed, s.done = condensing, l, done
	}
	o.calls.Condense = s.condensing
	return o, nil
}

// begin returns the options of a gateway that is not open yet. It reports
// errors before anything is opened or created.
func (s *liveSettings) begin(l *settings.Loaded) (gatewayOptions, error) {
	o, err := s.options(l)
	if err == nil {
		check := o.proxy
		check.Stored = memory.New() // the history is not open yet
		var server *proxy.Server
		if server, err = proxy.New(check); err == nil {
			s.open = !server.Loopback()
		}
	}
	if err == nil {
		o.sync, err = syncLevel(l.Sync)
	}
	return o, err
}

// use follows the changes of settings with a gateway that was opened by l.
func (s *liveSettings) use(g *gateway, l *settings.Loaded) {
	s.gateway = g
	s.now.Store(l)
	s.warn(l)
}

// stop gives up what the settings opened.
func (s *liveSettings) stop() {
	if s.done != nil {
		s.done()
	}
}

// warn logs the warnings of settings.
func (s *liveSettings) warn(l *settings.Loaded) {
	for _, w := range l.Warnings {
		s.log.Warn("check the settings", "warning", w)
	}
}

// watch applies changes until end is called.
func (s *liveSettings) watch(sources settings.Sources) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ticker, ended := time.NewTicker(s.waits.orDefaults().settings), make(chan struct{})
	go func() {
		defer close(ended)
		settings.Watch(ctx, sources, s.now.Load(), ticker.C, s.apply)
	}()
	return func() {
		cancel()
		<-ended
		ticker.Stop()
	}
}

// holdBack returns an error for settings that have lost protected keys, as
// from a file that was emptied or truncated: they need a restart.
func (s *liveSettings) holdBack(l *settings.Loaded) error {
	lost := settings.Lost(s.current(), l)
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%s: no longer set: %s: put back what is missing, or restart oriel serve if that is what you want", s.current().File, strings.Join(lost, ", "))
}

// current returns the settings in effect.
func (s *liveSettings) current() *settings.Loaded { return s.now.Load() }

// settingsHeld returns why changed settings are not in use, or "".
func (s *liveSettings) settingsHeld() string {
	if why := s.held.Load(); why != nil {
		return *why
	}
	return ""
}

// apply applies changed settings, as far as a running server can. Unusable
// settings change nothing.
func (s *liveSettings) apply(l *settings.Loaded, err error) {
	var o gatewayOptions
	if err == nil {
		err = s.holdBack(l)
	}
	if err == nil {
		if l.Data == "" {
			l.Data, err = userFolder()
		}
	}
	if err == nil {
		o, err = s.options(l)
	}
	if err == nil {
		err = s.gateway.change(o)
	}
	if err != nil {
		why := err.Error()
		s.held.Store(&why)
		s.log.Error("the settings cannot be used as they are now, the earlier ones stay in effect", "error", err)
		return
	}
	s.held.Store(nil)
	s.warn(l)
	keys, restart := settings.Changed(s.current(), l)
	if len(keys) > 0 {
		s.log.Info("settings changed", "keys", strings.Join(keys, ", "))
	} else { // restored, or only a file that they name has changed
		s.log.Info("settings read again")
	}
	if len(restart) > 0 {
		s.log.Warn("settings changed that need a restart", "keys", strings.Join(restart, ", "))
	}
	s.now.Store(l)
}
