package serve

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

// LiveSettings makes the options of a gateway from settings, and applies changes of the
// settings to it while it runs.
type LiveSettings struct {
	// Open is set if others than programs of this machine are served.
	Open bool
	// Log, Version and Waits are those of the gateway. They are set before Begin.
	Log     *slog.Logger
	Version string
	Waits   Waits

	gateway *Gateway
	now     atomic.Pointer[settings.Loaded]
	held    atomic.Pointer[string] // why changed settings are not in use; nil if they are

	// condensing was made from condensed; done releases it.
	condensing *oriel.CondenseOptions
	condensed  *settings.Loaded
	done       func()
}

// options returns the gateway's options for settings.
func (s *LiveSettings) options(l *settings.Loaded) (Options, error) {
	o := Options{
		Proxy: proxy.Options{Listen: l.Listen, OpenAI: l.Upstream.OpenAI, Anthropic: l.Upstream.Anthropic,
			Gemini: l.Upstream.Gemini, Ollama: l.Upstream.Ollama, ChatGPT: l.Upstream.ChatGPT,
			Bedrock:   l.Upstream.Bedrock,
			NoSockets: l.Upstream.HTTPOnly, Origins: l.Origins, Version: s.Version, Log: s.Log},
		Calls: oriel.CallOptions{
			Profile: l.Profile, Profiles: l.ProfileTable, Models: l.Table, Margin: l.WindowMargin(),
			Thresholds: l.Thresholds.Percents(), LowMark: l.LowMark,
			KeepTools: l.KeepTools, RecallTokens: l.Recall.Tokens, RecallWait: l.Recall.Wait,
			RecallReach: recall.Reach(l.Recall.Scope), PlainCache: l.Upstream.PlainCache,
			MarkCache: l.Upstream.MarkCache,
		},
		Embed: l.Embed,
		Waits: s.Waits,
	}
	o.Spool = l.Spool
	o.Proxy.CallsPerMinute, o.Calls.StoredBytes = limitsOf(l.Tenants)
	if l.Token != "" {
		o.Proxy.Tokens = map[string]string{l.Token: timeline.Local}
	}
	// Do not give up summaries in progress without a reason.
	if old := s.condensed; old == nil || old.Condense != l.Condense || old.Instructions != l.Instructions ||
		!reflect.DeepEqual(old.Table.Lookup(l.Condense.Model), l.Table.Lookup(l.Condense.Model)) {
		condensing, done, err := openCondensing(l)
		if err != nil {
			return o, err
		}
		s.Stop()
		s.condensing, s.condensed, s.done = condensing, l, done
	}
	o.Calls.Condense = s.condensing
	return o, nil
}

// Begin returns the options of a gateway that is not open yet. It reports
// errors before anything is opened or created.
func (s *LiveSettings) Begin(l *settings.Loaded) (Options, error) {
	o, err := s.options(l)
	if err == nil {
		check := o.Proxy
		check.Stored = memory.New() // the history is not open yet
		var server *proxy.Server
		if server, err = proxy.New(check); err == nil {
			s.Open = !server.Loopback()
		}
	}
	if err == nil {
		o.Sync, err = SyncLevel(l.Sync)
	}
	return o, err
}

// Use follows the changes of settings with a gateway that was opened by l.
func (s *LiveSettings) Use(g *Gateway, l *settings.Loaded) {
	s.gateway = g
	s.now.Store(l)
	s.Warn(l)
}

// Stop gives up what the settings opened.
func (s *LiveSettings) Stop() {
	if s.done != nil {
		s.done()
	}
}

// Warn logs the warnings of settings.
func (s *LiveSettings) Warn(l *settings.Loaded) {
	for _, w := range l.Warnings {
		s.Log.Warn("check the settings", "warning", w)
	}
}

// Watch applies changes until end is called.
func (s *LiveSettings) Watch(sources settings.Sources) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ticker, ended := time.NewTicker(s.Waits.orDefaults().Settings), make(chan struct{})
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
func (s *LiveSettings) holdBack(l *settings.Loaded) error {
	lost := settings.Lost(s.Current(), l)
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf(
		"%s: no longer set: %s: put back what is missing, or restart oriel serve if that is what you want",
		s.Current().File, strings.Join(lost, ", "))
}

// Current returns the settings in effect.
func (s *LiveSettings) Current() *settings.Loaded { return s.now.Load() }

// Held returns why changed settings are not in use, or "".
func (s *LiveSettings) Held() string {
	if why := s.held.Load(); why != nil {
		return *why
	}
	return ""
}

// apply applies changed settings, as far as a running server can. Unusable
// settings change nothing.
func (s *LiveSettings) apply(l *settings.Loaded, err error) {
	var o Options
	if err == nil {
		err = s.holdBack(l)
	}
	if err == nil {
		if l.Data == "" {
			l.Data, err = UserFolder()
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
		s.Log.Error("the settings cannot be used as they are now, the earlier ones stay in effect", "error", err)
		return
	}
	s.held.Store(nil)
	s.Warn(l)
	keys, restart := settings.Changed(s.Current(), l)
	if len(keys) > 0 {
		s.Log.Info("settings changed", "keys", strings.Join(keys, ", "))
	} else { // restored, or only a file that they name has changed
		s.Log.Info("settings read again")
	}
	if len(restart) > 0 {
		s.Log.Warn("settings changed that need a restart", "keys", strings.Join(restart, ", "))
	}
	s.now.Store(l)
}
