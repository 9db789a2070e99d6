package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/token"
)

// callLog is how a server logs its calls: for programs, or in short for a person at a
// terminal, who may have an agent on the same screen.
type callLog struct {
	out             io.Writer
	screen          io.Writer // what out writes to, whose width lines have
	terminal, quiet bool
	style           term.Style
	models          *token.Models
}

// log returns the log of calls and requests.
func (c *callLog) log() *slog.Logger {
	level := slog.LevelInfo
	if c.terminal || c.quiet {
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(c.out, &slog.HandlerOptions{Level: level}))
}

// recorded returns the function that logs recorded calls.
func (c *callLog) recorded() func(oriel.Event) {
	switch {
	case c.quiet:
		return func(oriel.Event) {}
	case c.terminal:
		return c.short
	}
	return logRecorded(c.log(), c.models)
}

// short writes a line for a recorded call.
func (c *callLog) short(e oriel.Event) {
	if e.Kind != oriel.EventCall {
		return
	}
	sizes := term.Compact(e.TokensAfter) + " tokens"
	if e.TokensAfter < e.TokensBefore {
		sizes = term.Compact(e.TokensBefore) + " → " + sizes
	}
	stamp := e.Time.Local().Format("15:04:05")
	parts := []string{term.Column(term.OneLine(shortModel(e.Model), maxError), 18) + sizes, term.Seconds(e.MS)}
	if cost := reportedCost(&e, c.models); cost != "" && cost != unknownCost {
		parts = append(parts, cost)
	}
	if e.Plan != "" {
		parts = append(parts, term.OneLine(e.Plan, maxError))
	}
	figures := strings.Join(parts, "  ")
	line := c.style.Code("2", stamp) + "  " + figures
	if e.Error != "" {
		room := term.Width(c.screen) - term.Cells(stamp+figures) - len("    ")
		line += "  " + c.style.Code("31", term.Clip(term.OneLine(e.Error, maxError), max(room, leastError)))
	}
	fmt.Fprintln(c.out, line)
}

// unknownCost stands for the cost of a call to a model without a price.
const unknownCost = "unknown"

// reportedCost returns the cost of a call; empty if the provider reported no usage.
func reportedCost(e *oriel.Event, models *token.Models) string {
	if e.Usage == nil {
		return ""
	}
	if m := models.Lookup(e.Model); m.Known && m.Prices.Known() {
		return term.Money(m.Prices.Cost(*usage.OfProvider(e.Usage)))
	}
	return unknownCost
}

// logRecorded returns a function that logs a line for each recorded call, with the figures
// that are known only after its answer has ended.
func logRecorded(log *slog.Logger, models *token.Models) func(oriel.Event) {
	return func(e oriel.Event) {
		if e.Kind != oriel.EventCall {
			return
		}
		args := []any{"id", e.Call, "model", e.Model, "action", cmp.Or(e.Action, "none"), "before", e.TokensBefore,
			"after", e.TokensAfter}
		if e.Plan != "" {
			args = append(args, "plan", e.Plan)
		}
		if e.Usage != nil {
			args = append(args, "output", e.Usage.Output, "cost", reportedCost(&e, models))
		}
		if e.Error != "" {
			args = append(args, "error", term.OneLine(e.Error, maxError))
		}
		log.Info("recorded", args...)
	}
}
