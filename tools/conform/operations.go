package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
	"github.com/oriel-context/oriel/internal/dryrun"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// operations are the ops of cases, each by the engine's own mechanism.
var operations = map[string]func(json.RawMessage) (map[string]any, error){
	"truncate":             truncate,
	"truncate_twice":       truncateTwice,
	"manage":               manage,
	"will_manage":          willManage,
	"is_context_overflow":  isOverflow,
	"sliding_apply":        slidingApply,
	"sliding_reduce":       slidingApply,
	"sliding_new":          slidingNew,
	"truncate_tool_result": truncateResult,
	"manipulation_indices": legalIndices,
	"clear_tool_results":   clearResults,
}

const plenty = 1 << 40

// rules are the rules of the providers that the cases assume.
var rules = chat.Rules{ResultsFollow: true, RunsMerge: true}

// decide runs a policy on messages. A message whose size the case does not give has each
// tokens.
func decide(o dryrun.Input, in []message, each int) (dryrun.Output, error) {
	o.Messages, o.Rules, o.Tokens, o.Count = chatMessages(in), rules, sizes(in, each), words
	return dryrun.Policy(context.Background(), o)
}

func sizes(in []message, each int) []int {
	out := make([]int, len(in))
	for i := range in {
		out[i] = each
		if in[i].Tokens > 0 {
			out[i] = in[i].Tokens
		}
	}
	return out
}

// halve runs the policy once, whatever the size.
func halve(in []message, fraction float64) (dryrun.Output, error) {
	if fraction == 0 {
		fraction = math.SmallestNonzeroFloat64 // 0 means the default to us
	}
	return decide(dryrun.Input{Policy: "halve", Budget: plenty, Low: plenty, Mode: string(window.Hard),
		Fraction: fraction, Over: true}, in, 1)
}

func truncate(raw json.RawMessage) (map[string]any, error) {
	var in struct {
		Fraction float64
		Messages []message
	}
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	d, err := halve(in.Messages, in.Fraction)
	if err != nil {
		return nil, err
	}
	hidden := ids(in.Messages, d.Shown, false)
	got := map[string]any{"removed": len(hidden), "hidden_ids": hidden, "marker_role": nil, "marker_ts": nil}
	for _, into := range d.Markers {
		got["marker_role"] = in.Messages[into].Role
		got["marker_ts"] = markerTime(in.Messages, d.Shown)
	}
	return got, nil
}

// markerTime returns the time of a marker among messages ordered by time: just
// before the first message that is shown after the gap. Our marker is a part
// of a user's message next to the gap and has no time of its own.
func markerTime(in []message, shown []bool) any {
	gap := slices.Index(shown, false)
	after := gap + slices.Index(shown[gap:], true)
	if after < gap || in[after].TS == nil {
		return nil
	}
	return *in[after].TS - 1
}

func truncateTwice(raw json.RawMessage) (map[string]any, error) {
	var in struct {
		Fraction         float64
		Messages, Append []message
	}
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	one, err := halve(in.Messages, in.Fraction)
	if err != nil {
		return nil, err
	}
	var visible []message
	for i, m := range in.Messages {
		if one.Shown[i] {
			visible = append(visible, m)
		}
	}
	visible = append(visible, in.Append...)
	two, err := halve(visible, in.Fraction)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"first_removed":     len(ids(in.Messages, one.Shown, false)),
		"second_removed":    len(ids(visible, two.Shown, false)),
		"second_hidden_ids": ids(visible, two.Shown, false),
		"effective_ids":     ids(visible, two.Shown, true),
	}, nil
}

// managed is the input of manage and will_manage.
type managed struct {
	Messages          []message
	ContextWindow     int                `json:"context_window"`
	MaxTokens         *int               `json:"max_tokens"`
	AutoCondense      bool               `json:"auto_condense"`
	ThresholdPercent  float64            `json:"threshold_percent"`
	ProfileThresholds map[string]float64 `json:"profile_thresholds"`
	Profile           string
	LastMessageTokens int `json:"last_message_tokens"`
	TotalTokens       int `json:"total_tokens"`
	Summarizer        *struct {
		Text, Error string
		Cost        float64
	}
}

// trigger decides what is due. The warning says that a threshold was not usable, the
// error that the window leaves nothing after margin and reserve.
func (m *managed) trigger() (t window.Trigger, budget window.Budget, warning string, err error) {
	reserve := 0
	if m.MaxTokens != nil {
		reserve = *m.MaxTokens
	}
	budget, err = window.BudgetOf(window.Bounds{Window: m.ContextWindow, Output: reserve})
	threshold, warning := window.Thresholds{Global: m.ThresholdPercent,
		Profiles: m.ProfileThresholds}.For(window.Profile{Name: m.Profile})
	return window.WouldManage(m.TotalTokens+m.LastMessageTokens, budget, threshold, m.AutoCondense), budget, warning,
		err
}

func willManage(raw json.RawMessage) (map[string]any, error) {
	var in managed
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	t, _, warning, err := in.trigger()
	got := map[string]any{"result": t.Manages(), "effective_threshold": t.Threshold, "warning": warning != "",
		"warning_text": warning}
	if err != nil {
		got["detail"] = err.Error()
	}
	return got, nil
}

func manage(raw json.RawMessage) (map[string]any, error) {
	var in managed
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	t, budget, warning, err := in.trigger()
	if err != nil {
		return map[string]any{"error": refused, "detail": err.Error()}, nil
	}
	total := in.TotalTokens + in.LastMessageTokens
	each := total / max(1, len(in.Messages))
	for i := range in.Messages { // texts as long as the figures say
		in.Messages[i].Text = strings.Repeat(in.Messages[i].Text+" ", each)
		if in.Messages[i].Tokens = each; i == 0 {
			in.Messages[i].Tokens += total % len(in.Messages)
		}
	}
	o := dryrun.Input{Policy: "halve", Budget: budget.Allowed, Low: budget.Allowed, Mode: string(window.Hard),
		Over: t.Over, Condense: t.Condense}
	asked := false
	if in.AutoCondense {
		o.Policy = "condense"
		o.Condenser = condense.Func(func(context.Context, condense.Input) (condense.Output, error) {
			asked = true
			if in.Summarizer == nil {
				return condense.Output{}, errors.New("no summarizer")
			}
			out := condense.Output{Text: in.Summarizer.Text, Cost: in.Summarizer.Cost}
			if in.Summarizer.Error != "" {
				return out, errors.New(in.Summarizer.Error)
			}
			return out, nil
		})
	}
	d, err := decide(o, in.Messages, each)
	if err != nil {
		return nil, err
	}
	got := map[string]any{
		"action": map[string]string{"evict": "truncate", "trim": "truncate"}[d.Action], "prev_context_tokens": total,
		"removed": len(ids(in.Messages, d.Shown, false)), "cost": d.Cost, "summary": d.Summary,
		"effective_threshold": t.Threshold, "model_called": asked, "warning": warning != "", "warning_text": warning,
		"error": nil,
	}
	if got["action"] == "" {
		got["action"] = d.Action
	}
	if e := d.Failure; e != "" {
		got["error"] = strings.TrimPrefix(e, "condense: ")
	}
	return got, nil
}

func isOverflow(raw json.RawMessage) (map[string]any, error) {
	var in struct{ Error json.RawMessage }
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	_, overflow := wire.ReadOverflow(0, in.Error)
	return map[string]any{"result": overflow}, nil
}

func legalIndices(raw json.RawMessage) (map[string]any, error) {
	var in struct{ Events []json.RawMessage }
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	var msgs []chat.Message
	for _, e := range in.Events {
		var ev struct{ Action, Obs string }
		if json.Unmarshal(e, &ev) != nil { // a word: a message
			msgs = append(msgs,
				chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: chat.Quote("m")}}})
			continue
		}
		if ev.Action != "" {
			msgs = append(msgs, chat.Message{Role: chat.Assistant,
				Parts: []chat.Part{{Kind: chat.Call, ID: ev.Action}}})
		} else {
			msgs = append(msgs, chat.Message{Role: chat.Tool, Parts: []chat.Part{{Kind: chat.Result, ID: ev.Obs}}})
		}
	}
	exchanges, _ := chat.Split(msgs, chat.Rules{})
	indices := []int{0}
	for _, x := range exchanges {
		indices = append(indices, x.End)
	}
	return map[string]any{"indices": indices}, nil
}

func clearResults(raw json.RawMessage) (map[string]any, error) {
	var in struct {
		Messages []message
		Params   struct {
			Trigger      int
			Keep         *int
			ClearAtLeast int      `json:"clear_at_least"`
			ClearInputs  bool     `json:"clear_inputs"`
			ExcludeTools []string `json:"exclude_tools"`
			Placeholder  string   // what relatives put in place of a result; ours names the tool
		}
	}
	if err := read(raw, &in); err != nil {
		return nil, err
	}
	total := 0
	for _, n := range sizes(in.Messages, 1) {
		total += n
	}
	o := dryrun.Input{Policy: "mask", Budget: plenty, Mode: string(window.Soft), Over: total > in.Params.Trigger,
		KeepResults: 3, ClearInputs: in.Params.ClearInputs, KeepTools: in.Params.ExcludeTools}
	if in.Params.Keep != nil {
		if o.KeepResults = *in.Params.Keep; o.KeepResults == 0 {
			o.KeepResults = -1
		}
	}
	if in.Params.ClearAtLeast > 0 {
		o.Low = total - in.Params.ClearAtLeast
	}
	d, err := decide(o, in.Messages, 1)
	if err != nil {
		return nil, err
	}
	cleared := []string{}
	for _, i := range d.Masked {
		cleared = append(cleared, in.Messages[i].ID)
	}
	return map[string]any{"cleared": cleared, "cleared_inputs": append([]string{}, d.ClearedInputs...)}, nil
}
