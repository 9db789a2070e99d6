package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/embed"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/recall"
)

// openModel sets the engine's model for vectors. Without one, recall searches by words
// only.
func (g *gateway) openModel(ctx context.Context, o *gatewayOptions, config *oriel.Config) {
	// The model is there whatever the profile: a call may name another. One thread
	// leaves the machine to the agent.
	model, closeModel, err := openModel(o.embed, 1)
	if err != nil {
		o.proxy.Log.Warn("recall goes by words alone", "error", err)
		config.NoEmbed = true
		return
	}
	config.Embed = model
	g.onClose(closeModel)
	if o.fill && o.embed.URL == "" { // a server of vectors may cost money: it gets what searches need
		g.fill(ctx, model, o.proxy.Log)
	}
}

// fill makes the vectors that the history lacks, such as those of imported conversations,
// until the gateway shuts down.
func (g *gateway) fill(ctx context.Context, model embed.Model, log *slog.Logger) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		recall.Fill(ctx, g.history, recall.FillOptions{Model: model, Tenants: g.history.Tenants, Every: fillEvery, Settle: fillSettle, Report: func(err error) {
			log.Warn("some of the history has no vectors", "error", term.OneLine(err.Error(), maxError))
		}})
	}()
	g.onClose(func() {
		cancel()
		<-done
	})
}

// The waits of recall.Fill: its defaults. Tests do not wait.
var fillEvery, fillSettle time.Duration
