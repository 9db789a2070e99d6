package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/cmd/oriel/internal/trajectory"
	"github.com/oriel-context/oriel/internal/number"
	"github.com/oriel-context/oriel/internal/serve"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
	"github.com/oriel-context/oriel/wire"
)

// fitFlags holds the flags of fit.
type fitFlags struct {
	format, mode, pins, now, planFile, preset string
	wouldManage                               bool
	warnings                                  []string
	threshold                                 float64
	trajectory                                trajectory.Options
	embed                                     settings.Embed
	window.Options
}

func fitCommand() *cobra.Command {
	var o fitFlags
	cmd := &cobra.Command{
		Use:   "fit [FILE]",
		Short: "Make a request fit its model's context window",
		Long: `Read one request body (FILE or standard input) and write a valid one that fits.
If nothing has to change, the output is the input, byte for byte. What stays is never
re-encoded.

The budget is the most tokens that the whole request may have. By default it is the
model's window less --margin and less what is reserved for the reply. A cut goes down to
--low (default: the budget, so that as much stays as fits).

Your own profiles and the margin are read from the file of settings: see oriel config.

--plan FILE writes as JSON why each message was kept or removed. --plan - writes it to
standard error, as a drawing if that is a terminal.

Policies: ladder (default: mask stale tool results, then evict whole exchanges,
then fold them into a digest), mask, fifo, slide, halve, condense, relevance;
trajectory for --format trajectory.`,
		Example: `  oriel fit request.json > fitted.json
  oriel fit --budget 8000 --plan - request.json > fitted.json
  oriel fit --window 200000 --low 50000 --policy mask --pin 0,4 < request.json
  oriel fit --would-manage --model gpt-4o request.json
  oriel fit --format trajectory --preset demo run.json`,
		Args: oneFile,
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "auto", "`form` of the body: "+strings.Join(wire.FormatNames(), ", "))
	f.StringVar(&o.Model, "model", "", "`model` to fit to (default: the one that the body names)")
	f.IntVar(&o.Window, "window", 0, "the model's context window in `tokens` (default: from the model table)")
	f.IntVar(&o.Reserve, "reserve", 0, "`tokens` kept for the reply (default: the request's own limit, or 8192)")
	f.IntVar(&o.Budget, "budget", 0, "most `tokens` of the whole request (default: the window less margin and reserve)")
	f.Float64Var(&o.Margin, "margin", 0,
		"`share` of the window that is left free, from 0 up to, and less than, 1 (default: that of the settings, 0.1)")
	f.IntVar(&o.Low, "low", 0, "`tokens` that a cut goes down to (default: the budget)")
	f.StringVar(&o.Policy, "policy", "", "what is removed: "+strings.Join(window.Policies(), ", ")+
		", trajectory (default ladder)")
	f.StringVar(&o.mode, "mode", "hard",
		"soft (may decline), hard (must fit) or recovery (the provider refused: must get smaller)")
	f.StringVar(&o.Profile, "profile", "", "`name` of a profile: "+strings.Join(window.Profiles(), ", ")+
		", or one of [profiles] of the settings")
	f.StringVar(&o.Query, "query", "", "what it is about now, for relevance: messages are compared with it by meaning")
	f.StringVar(&o.pins, "pin", "", "`indices` of messages that stay, such as 0,4")
	f.StringVar(&o.now, "now", "", "the clock, as RFC 3339 `time` (default: now)")
	f.StringVar(&o.planFile, "plan", "", "`file` for the plan; - is standard error")
	f.Float64Var(&o.threshold, "threshold", 0,
		"`percent` of the window at which condense starts (5 to 100, default 100)")
	f.Float64Var(&o.Fraction, "fraction", 0, "share of messages that halve removes (default 0.5)")
	f.IntVar(&o.MaxItems, "max-items", 0, "most messages that fifo (default 50) and slide (default 40) keep")
	f.IntVar(&o.KeepRecent, "keep-recent", 0, "newest messages that condense keeps (default 3)")
	f.StringSliceVar(&o.KeepTools, "keep-tools", nil,
		"`names` of tools whose results mask and ladder leave alone, such as read_file,grep")
	f.BoolVar(&o.wouldManage, "would-manage", false, "print true or false and why, and change nothing")
	f.StringVar(&o.preset, "preset", "", "trajectory settings: demo, reasoning, debug, minimal")
	f.IntVar(&o.trajectory.MaxInteractions, "max-interactions", 0, "interactions that a trajectory keeps (default 10)")
	f.IntVar(&o.trajectory.ResultLimit, "result-limit", 0, "characters that a trajectory's result keeps (default 500)")
	f.IntVar(&o.trajectory.PreserveFirst, "preserve-first", 0,
		"first interactions that a trajectory keeps; 0 keeps none of them (default 1)")
	f.BoolVar(&o.trajectory.KeepResults, "keep-results", false,
		"leave a trajectory's results whole, however long they are")
	table := addModelTable(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if o.Models, err = modelTable(*table); err != nil {
			return err
		}
		if err := o.parse(cmd); err != nil {
			return err
		}
		if err := o.readSettings(cmd); err != nil {
			return err
		}
		data, err := readInput(cmd, args)
		if err != nil {
			return err
		}
		if o.Policy == "relevance" && o.Query != "" {
			if model, closeModel, err := serve.OpenModel(o.embed, 0); err == nil { // otherwise words are compared
				defer closeModel()
				o.Embed = model.Embed
			}
		}
		if err := o.run(cmd, data); err != nil {
			return fmt.Errorf("%s: %w", inputName(args), err)
		}
		return nil
	}
	return cmd
}

// readSettings takes profiles and the margin from the settings.
func (o *fitFlags) readSettings(cmd *cobra.Command) error {
	sources := configSources("")
	sources.Env = envOf(func(name string) bool { // the rest is for servers
		return name == "ORIEL_MARGIN" || strings.HasPrefix(name, "ORIEL_EMBED_")
	})
	l, err := settings.Load(sources)
	if err != nil {
		return err
	}
	o.Profiles, o.embed = l.ProfileTable, l.Embed
	switch {
	case !cmd.Flags().Changed("margin"):
		o.Margin = l.WindowMargin()
	case o.Margin == 0:
		o.Margin = window.NoMargin
	case o.Margin == window.NoMargin:
		return errors.New("--margin -1: give a share of the window from 0 up to, and less than, 1")
	}
	return nil
}

// parse parses the flags that are more than a number or a word.
func (o *fitFlags) parse(cmd *cobra.Command) error {
	var err error
	if o.Format, err = wire.ParseFormat(o.format); err != nil {
		return err
	}
	o.Mode = window.Mode(o.mode)
	if cmd.Flags().Changed("budget") && o.Budget <= 0 {
		return fmt.Errorf("--budget %d: give a number of tokens above 0", o.Budget)
	}
	if o.pins != "" {
		for _, s := range strings.Split(o.pins, ",") {
			i, err := strconv.Atoi(strings.TrimSpace(s))
			if err != nil {
				return fmt.Errorf("--pin %s: %q is not an index: give indices such as 0,4", o.pins, s)
			}
			o.Pins = append(o.Pins, i)
		}
	}
	o.Now = time.Now()
	if o.now != "" {
		if o.Now, err = time.Parse(time.RFC3339, o.now); err != nil {
			return fmt.Errorf("--now %s: give a time such as 2026-11-15T10:00:00Z", o.now)
		}
	}
	if cmd.Flags().Changed("threshold") && o.threshold != -1 { // -1 inherits
		if number.Within(o.threshold, 5, 100) {
			o.Thresholds.Global = o.threshold
		} else {
			o.warnings = append(o.warnings, fmt.Sprintf("threshold %g%% is outside 5…100: 100%% is used", o.threshold))
		}
	}
	return nil
}

func (o *fitFlags) run(cmd *cobra.Command, data []byte) error {
	if o.Format == wire.Auto {
		f, err := wire.Detect(data, wire.Limits{})
		if err != nil {
			return err
		}
		o.Format = f
	}
	var out []byte
	var plan *window.Plan
	switch {
	case o.Format == wire.Trajectories || o.Policy == "trajectory":
		var err error
		if out, plan, err = o.fitTrajectory(cmd, data); err != nil {
			return err
		}
	default:
		b, err := wire.Read(data, o.Format, wire.Limits{})
		if err != nil {
			return err
		}
		if o.wouldManage {
			t, err := window.WouldFit(b, o.Options)
			if err != nil {
				return err
			}
			warn(cmd, o.warnings)
			fmt.Fprintf(cmd.OutOrStdout(), "%t %s\n", t.Manages(), t.Reason)
			return nil
		}
		if out, plan, err = window.FitBody(cmd.Context(), b, o.Options); err != nil {
			return err
		}
	}
	plan.Warnings = append(o.warnings, plan.Warnings...)
	if o.planFile != "-" {
		warn(cmd, plan.Warnings)
	}
	if o.planFile != "" && o.planFile != "-" {
		raw, err := json.MarshalIndent(plan, "", " ")
		if err != nil {
			return &failure{err}
		}
		if err := writePrivate(o.planFile, append(raw, '\n')); err != nil {
			return fmt.Errorf("write the plan: %w", err)
		}
	}
	if _, err := cmd.OutOrStdout().Write(out); err != nil {
		return err
	}
	if o.planFile == "-" {
		return showPlan(cmd.ErrOrStderr(), plan)
	}
	return nil
}

// warn prints warnings.
func warn(cmd *cobra.Command, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "oriel: warning: %s\n", term.OneLine(w, maxError))
	}
}

// showPlan draws the plan on a terminal and writes JSON elsewhere.
func showPlan(out io.Writer, plan *window.Plan) error {
	if s := term.StyleOf(out); s.On || term.IsTerminal(out) {
		return drawPlan(out, plan, s)
	}
	return printJSON(out, plan)
}

// fitTrajectory cuts a trajectory by its own rules: interactions and
// characters, not tokens.
func (o *fitFlags) fitTrajectory(cmd *cobra.Command, data []byte) ([]byte, *window.Plan, error) {
	if o.Policy != "" && o.Policy != "trajectory" {
		return nil, nil,
			fmt.Errorf("policy %q is for requests: a trajectory has --policy trajectory, with --preset, --max-interactions, --result-limit, --preserve-first, --keep-results", o.Policy)
	}
	t, err := wire.ReadTrajectory(data, wire.Limits{})
	if err != nil {
		return nil, nil, err
	}
	opts, err := trajectory.Preset(o.preset)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range []struct {
		name         string
		value, least int
		into         *int
	}{
		{"max-interactions", o.trajectory.MaxInteractions, 1, &opts.MaxInteractions},
		{"result-limit", o.trajectory.ResultLimit, 1, &opts.ResultLimit},
		{"preserve-first", o.trajectory.PreserveFirst, 0, &opts.PreserveFirst},
	} {
		if !cmd.Flags().Changed(f.name) {
			continue
		}
		if f.value < f.least {
			return nil, nil, fmt.Errorf("--%s %d: give %d or more", f.name, f.value, f.least)
		}
		*f.into = f.value
	}
	if opts.KeepResults = o.trajectory.KeepResults; opts.KeepResults && cmd.Flags().Changed("result-limit") {
		return nil, nil, fmt.Errorf("--keep-results and --result-limit exclude each other: give one of them")
	}
	for _, name := range []string{"budget", "low", "window", "reserve", "pin"} {
		if cmd.Flags().Changed(name) {
			o.warnings = append(o.warnings,
				"--"+name+" is for requests: a trajectory is cut by interactions and characters")
		}
	}
	out, report, plan := trajectory.Fit(t, opts)
	if o.wouldManage {
		fmt.Fprintf(cmd.OutOrStdout(), "%t %d of %s would be removed, and %s shortened\n", plan.Action != "none",
			report.Removed,
			term.Plural(len(t.Steps), "interaction", "interactions"),
			term.Plural(report.Truncated, "result", "results"))
		return nil, plan, nil
	}
	return out, plan, nil
}
