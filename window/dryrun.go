package window

import (
	"context"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/dryrun"
)

func init() { dryrun.Policy = dryRun }

// dryRun implements dryrun.Policy.
func dryRun(ctx context.Context, in dryrun.Input) (out dryrun.Output, err error) {
	o := Options{
		Policy: in.Policy, Mode: Mode(in.Mode), Budget: in.Budget, Low: in.Low, MaxItems: in.MaxItems,
		Fraction:    in.Fraction,
		KeepResults: in.KeepResults, KeepTools: in.KeepTools, ClearInputs: in.ClearInputs, Condenser: in.Condenser,
	}
	d, err := decideCounted(ctx, counted(in.Messages, in.Rules, in.Tokens, 0, in.Count), o,
		Trigger{Over: in.Over, Condense: in.Condense})
	if err != nil {
		return out, err
	}
	out = dryrun.Output{
		Action: d.plan.Action, Shown: d.shown, Masked: d.masked, ClearedInputs: d.clearedInputs,
		Summary: d.plan.Summary.Text, Cost: d.plan.Summary.Cost, Failure: d.plan.Summary.Error,
	}
	for _, in := range d.plan.Inserted {
		if in.Kind == "marker" {
			out.Markers = append(out.Markers, in.Into)
		}
	}
	return out, nil
}

// counted returns a history whose sizes the caller has counted: tokens of each message,
// base for all the rest, and a counter for texts that are inserted.
func counted(msgs []chat.Message, rules chat.Rules, tokens []int, base int, count func(string) int) *History {
	return &History{
		Messages: msgs, Cuts: chat.NewCuts(msgs, rules), Tokens: tokens, Base: base,
		Pinned: make([]bool, len(msgs)), count: count,
	}
}

// decision is the decision of a policy on a history.
type decision struct {
	plan *Plan
	// shown has a flag for each message: whether it is sent, perhaps edited.
	shown []bool
	// masked are the messages whose results were replaced by stubs, clearedInputs the ids
	// of calls whose arguments were emptied.
	masked        []int
	clearedInputs []string
}

// decideCounted runs the policy that o names on a history whose sizes are known, for the
// reason t. Fit does the same before it writes bytes. Budget, Low and Mode have no defaults
// here.
func decideCounted(ctx context.Context, h *History, o Options, t Trigger) (*decision, error) {
	s := settings{o, t}
	d, err := decide(ctx, h, o.Policy, s)
	if err != nil {
		return nil, err
	}
	out := &decision{plan: d.plan(o.Policy, "", &s, d.tokens(), nil), shown: h.Cuts.Messages(d.keep)}
	for i := range h.Messages {
		if len(d.masked.of(&h.Messages[i], i)) > 0 {
			out.masked = append(out.masked, i)
		}
		for j := range h.Messages[i].Parts {
			if _, cleared := d.cleared[partAt{i, j}]; cleared {
				out.clearedInputs = append(out.clearedInputs, h.Messages[i].Parts[j].ID)
			}
		}
	}
	return out, nil
}
