package main

import (
	"cmp"
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
		args := []any{"id", e.Call, "model", e.Model, "action", cmp.Or(e.Action, "none"), "before", e.TokensBefore, "after", e.TokensAfter}
		if e.Plan != "" {
			args = append(args, "plan", e.Plan)
		}
		if e.Usage != nil {
			args = append(args, "output", e.Usage.Output)
			cost := "unknown"
			if m := models.Lookup(e.Model); m.Known && m.Prices.Known() {
				cost = money(m.Prices.Cost(*usage.OfProvider(e.Usage)))
			}
			args = append(args, "cost", cost)
		}
		if e.Error != "" {
			args = append(args, "error", oneLine(e.Error, maxError))
		}
		log.Info("recorded", args...)
	}
}
