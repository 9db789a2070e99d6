package main

import (
	"log/slog"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/usage"
	"github.com/oriel-context/oriel/token"
)

// logRecorded returns a function that logs a line for each recorded call, with the figures
// that are known only after its answer has ended.
func logRecorded(log *slog.Logger, models *token.Models) func(oriel.Event) {
	return func(e oriel.Event) {
		if e.Kind != oriel.EventCall {
			return
		}
		args := []any{"id", e.Call, "model", e.Model, "before", e.TokensBefore, "after", e.TokensAfter}
		if e.Plan != "" {
			args = append(args, "plan", e.Plan)
		}
		if e.Usage != nil {
			args = append(args, "output", e.Usage.Output)
			if m := models.Lookup(e.Model); m.Known && m.Prices.Known() {
				args = append(args, "cost", money(m.Prices.Cost(*usage.OfProvider(e.Usage))))
			}
		}
		log.Info("recorded", args...)
	}
}
