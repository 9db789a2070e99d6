package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// line is one measurement.
type line struct {
	Name string `json:"name"`
	// Kind is the operation: slide, trim, summary or ladder. Rivals name the
	// kind of ours to compare them with.
	Kind string `json:"kind"`
	// Counts is how tokens are counted.
	Counts string `json:"counts"`
	// Role is "ours" for a row of ours that rivals are compared with, "plain"
	// for others.
	Role     string    `json:"role"`
	Messages int       `json:"messages"`
	Out      string    `json:"out"`
	MS       []float64 `json:"ms"`
}

// least is the least processor time of one sample, so that the step of the
// clock and a single collection do not matter.
const least = 30e6

// measureAll measures Oriel's policies on one conversation, in turn.
func measureAll(folder string, size, budget, repeats int) error {
	data, err := os.ReadFile(inputFile(folder, size))
	if err != nil {
		return err
	}
	body, err := wire.Read(data, wire.Chat, wire.Limits{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	warm := token.NewCache(0)
	kinds := []struct {
		kind string
		o    window.Options
	}{
		{"slide", window.Options{Policy: "slide", MaxItems: window.DefaultSlide, Budget: math.MaxInt32}},
		{"trim", window.Options{Policy: "fifo", MaxItems: size, Budget: budget}},
		{"ladder", window.Options{Policy: "ladder", Budget: budget}},
		// Like the rivals' summaries, with a model that answers at once.
		{"summary", window.Options{Policy: "condense", Budget: budget, KeepRecent: 20, Condenser: condense.Func(
			func(context.Context, condense.Input) (condense.Output, error) {
				return condense.Output{Text: "They worked on it."}, nil
			})}},
	}
	type row struct {
		line
		fit func() ([]byte, *window.Plan, error)
	}
	var rows []row
	for _, k := range kinds {
		o := k.o
		o.Format, o.Cache = wire.Chat, warm
		name := "Oriel " + o.Policy
		rows = append(rows,
			row{line{Name: name + ", parsing too", Kind: k.kind, Counts: "BPE, cached", Role: "parse"},
				func() ([]byte, *window.Plan, error) { return window.Fit(ctx, data, o) }},
			row{line{Name: name, Kind: k.kind, Counts: "BPE, cached", Role: "fit"},
				func() ([]byte, *window.Plan, error) { return window.FitBody(ctx, body, o) }},
			row{line{Name: name + ", parsing too, first sight", Kind: k.kind, Counts: "BPE, cold", Role: "cold"},
				func() ([]byte, *window.Plan, error) {
					o := o
					o.Cache = token.NewCache(0)
					return window.Fit(ctx, data, o)
				}})
	}
	calls := make([]int, len(rows))
	for i := range rows {
		r := &rows[i]
		out, plan, err := r.fit()
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		if plan.Action == "none" {
			return fmt.Errorf("%s: it did nothing", r.Name)
		}
		r.Messages, r.Out = size, filepath.Join(folder, "out", fmt.Sprintf("oriel-%s-%s-%d.json", r.Kind, r.Role, size))
		if err := os.WriteFile(r.Out, out, 0o644); err != nil {
			return err
		}
		if calls[i], err = enough(r.fit); err != nil {
			return err
		}
	}
	for range repeats {
		for i := range rows {
			runtime.GC()
			t, err := spend(rows[i].fit, calls[i])
			if err != nil {
				return err
			}
			rows[i].MS = append(rows[i].MS, t/1e6)
		}
	}
	for _, r := range rows {
		if err := json.NewEncoder(os.Stdout).Encode(r.line); err != nil {
			return err
		}
	}
	return nil
}

// enough returns how many calls take at least least.
func enough(fit func() ([]byte, *window.Plan, error)) (int, error) {
	for calls := 1; ; calls *= 2 {
		t, err := spend(fit, calls)
		if err != nil {
			return 0, err
		}
		if t*float64(calls) >= least {
			return max(1, int(least/t)), nil
		}
	}
}

// spend returns the processor time of a call in nanoseconds, including
// collection.
func spend(fit func() ([]byte, *window.Plan, error), calls int) (float64, error) {
	before, err := cpu()
	if err != nil {
		return 0, err
	}
	for range calls {
		if _, _, err := fit(); err != nil {
			return 0, err
		}
	}
	after, err := cpu()
	return float64(after-before) / float64(calls), err
}

// cpu returns the processor time of the process so far.
func cpu() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, err
	}
	return t.Nano(), nil
}
