package serve

import (
	"context"
	"github.com/oriel-context/oriel/embed/minilm"
	"github.com/oriel-context/oriel/embed/remote"
	"github.com/oriel-context/oriel/internal/settings"
	"log/slog"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/recall"
)

// openModel sets the engine's model for vectors. Without one, recall searches by words
// only.
func (g *Gateway) openModel(ctx context.Context, o *Options, config *oriel.Config) {
	// The model is there whatever the profile: a call may name another. One thread
	// leaves the machine to the agent.
	model, closeModel, err := OpenModel(o.Embed, 1)
	if err != nil {
		o.Proxy.Log.Warn("recall goes by words alone", "error", err)
		config.NoEmbed = true
		return
	}
	config.Embed = model
	g.onClose(closeModel)
	if o.Fill && o.Embed.URL == "" { // a server of vectors may cost money: it gets what searches need
		g.fill(ctx, model, o.Waits, o.Proxy.Log)
	}
}

// fill makes the vectors that the history lacks, such as those of imported conversations,
// until the gateway shuts down.
func (g *Gateway) fill(ctx context.Context, model embed.Model, w Waits, log *slog.Logger) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		recall.Fill(ctx, g.history, recall.FillOptions{Model: model, Tenants: g.history.Tenants, Every: w.Fill,
			Settle: w.Settle, Report: func(err error) {
				log.Warn("some of the history has no vectors", "error", term.OneLine(err.Error(), term.MaxError))
			}})
	}()
	g.onClose(func() {
		cancel()
		<-done
	})
}

// OpenModel opens the source of vectors: the server in the settings, else the
// built-in model with the given number of threads; 0 means all.
func OpenModel(e settings.Embed, threads int) (embed.Model, func(), error) {
	if e.URL != "" {
		m, err := remote.New(remote.Options{BaseURL: e.URL, Model: e.Model, Key: e.Key})
		if err != nil {
			return nil, nil, err
		}
		return m, m.Close, nil
	}
	m, err := minilm.Open(minilm.Options{Threads: threads})
	if err != nil {
		return nil, nil, err
	}
	return m, func() { m.Close() }, nil
}
