package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/replay"
	webpage "github.com/oriel-context/oriel/internal/report/replay/page"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
)

// replayFlags holds what replay and tune have in common.
type replayFlags struct {
	mine          bool
	format, since string
	noRecall      bool
	table         *string
	config        string // the settings file, "" for the usual one
}

// mineSince is how far back --mine looks without --since.
const mineSince = "30d"

func (f *replayFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.mine, "mine", false, "take what agents keep in their usual places, as oriel import --mine does")
	flags.StringVar(&f.format, "format", "auto", "`form` of the files: auto, "+formatNames())
	flags.StringVar(&f.since, "since", "",
		"only files written since "+sinceHelp+"; all takes all (default all, with --mine "+mineSince+")")
	flags.BoolVar(&f.noRecall, "no-recall", false, "bring nothing back, which is faster")
	f.table = addModelTable(cmd)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 && !f.mine {
			return fmt.Errorf("no files: give files or folders of sessions, or --mine; see oriel %s --help", cmd.Name())
		}
		if len(args) > 0 && f.mine {
			return fmt.Errorf("--mine looks for files by itself: leave out %q", term.OneLine(args[0], 60))
		}
		return nil
	}
}

// options returns the options of a replay and the paths to replay.
func (f *replayFlags) options(cmd *cobra.Command, paths []string) (o replay.Options, _ []string, err error) {
	if o.Format, err = importer.ParseFormat(f.format); err != nil {
		return o, nil, err
	}
	since := f.since
	if since == "" && f.mine {
		since = mineSince
	}
	if since != "" && since != "all" {
		if o.Since, err = report.Since(since, time.Now()); err != nil {
			return o, nil, fmt.Errorf("--since: %w", err)
		}
	}
	o.NoRecall = f.noRecall
	if o.Models, err = modelTable(*f.table); err != nil {
		return o, nil, err
	}
	if o.Profiles, err = ownProfiles(f.config); err != nil {
		return o, nil, err
	}
	if f.mine {
		if paths, _, err = findMine(cmd.Context(), cmd.ErrOrStderr(), importer.Options{Format: o.Format}); err != nil {
			return o, nil, orInterrupted(cmd, err)
		}
	}
	return o, paths, nil
}

// ownProfiles returns the profiles of a settings file, by name; "" is the usual one. A file that
// is named may still have to be written.
func ownProfiles(config string) (own []window.Profile, err error) {
	sources := configSources(config)
	sources.Optional = sources.Optional || config != ""
	l, err := settings.Load(sources)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(l.Profiles)) {
		p, err := l.ProfileTable.Lookup(name)
		if err != nil {
			return nil, err
		}
		own = append(own, p)
	}
	return own, nil
}

func replayCommand() *cobra.Command {
	var f replayFlags
	var policies, windows, html string
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:        "replay PATH… | --mine",
		SuggestFor: []string{"simulate", "what-if", "forecast"},
		Short:      "Show what recorded sessions cost, and what they would have cost with each profile",
		Long: `Replay sessions that agents recorded, as every profile would have sent them, and show
what was paid, what pauses had written to the provider's cache again, what each profile
would have cost, what of that was needed again, and which one to choose, if any.

It reads all that oriel import reads, changes nothing, and nothing leaves this machine.
Prices, smallest sizes and lifetimes of caches are those of each model (oriel models), by
the clock of the recording. Where the recording has what the provider reported, the replay
follows it, and says how close it is. Recall is by words, and no model is asked.

With --policy or --window it compares those instead: append sends everything; profiles;
and the policies of oriel fit, at each window.`,
		Example: `  oriel replay --mine
  oriel replay ~/.claude/projects --since 7d --html replay.html
  oriel replay session.jsonl --policy append,slide,halve,ladder --window 64000,100000 --json`,
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&policies, "policy", "", "comma-separated `names`: "+strings.Join(replay.Names(nil), ", ")+
		", or your own profiles (default append,full,balanced,thrifty)")
	flags.StringVar(&windows, "window", "",
		"comma-separated `tokens` that a request may have (default: what a profile says; for policies 64000,100000)")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object for each session, policy and window")
	flags.StringVar(&html, "html", "", "write a page that needs no other file to `file`, too")
	flags.BoolVar(&verbose, "verbose", false, "list every session, and what could not be read")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer endBySignals(cmd)()
		wanted, err := replayPolicies(policies, windows)
		if err != nil {
			return err
		}
		o, paths, err := f.options(cmd, args)
		if err != nil {
			return err
		}
		o.Policies, o.Points = wanted, html != ""
		r, err := runReplay(cmd, "replaying", paths, o)
		if err != nil {
			return err
		}
		if html != "" {
			if err := writePage(html, r); err != nil {
				return err
			}
		}
		warnReplay(cmd, r, verbose)
		out := cmd.OutOrStdout()
		if asJSON {
			return printOutcomes(out, r, wanted)
		}
		return term.Paged(out, func(out io.Writer, sc term.Screen) error {
			_, err := out.Write(drawReplay(r, sc, verbose))
			return err
		})
	}
	return cmd
}

// defaultWindows are those of policies without --window.
const defaultWindows = "64000,100000"

// replayPolicies returns the product of policies and windows; nil means the default.
func replayPolicies(policies, windows string) (all []replay.Policy, err error) {
	if policies == "" && windows == "" {
		return nil, nil
	}
	sizes := []int{0}
	if windows != "" {
		if sizes, err = windowSizes(windows); err != nil {
			return nil, err
		}
	}
	for name := range strings.SplitSeq(cmp.Or(policies, "append,ladder"), ",") {
		own := sizes
		if name = strings.TrimSpace(name); windows == "" && slices.Contains(window.Policies(), name) {
			own, _ = windowSizes(defaultWindows)
		}
		for _, n := range own {
			if p := (replay.Policy{Name: name, Window: n}); !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

func windowSizes(list string) (sizes []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("--window %q: give numbers of tokens, such as %s", term.OneLine(list, 60),
				defaultWindows)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// replayMemory is from how many bytes on garbage is collected more often than otherwise.
const replayMemory = 200 << 20

// runReplay replays with a bar.
func runReplay(cmd *cobra.Command, what string, paths []string, o replay.Options) (*replay.Report, error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(replayMemory))
	p := term.NewProgress(cmd.ErrOrStderr(), what)
	o.Progress = p.Update
	r, err := replay.Run(cmd.Context(), paths, o)
	p.End()
	switch {
	case err == nil && len(r.Sessions) == 0 && !o.Since.IsZero():
		return nil, fmt.Errorf("no session in files written since %s: give an earlier --since, or all",
			o.Since.Format(time.DateOnly))
	case err == nil && len(r.Sessions) == 0 && r.Broken > 0:
		return nil, fmt.Errorf("no session with a reply of a model can be read, first %s",
			term.OneLine(r.Problems[0].String(), maxError))
	case err == nil && len(r.Sessions) == 0:
		return nil, errors.New("no session with a reply of a model: there is nothing to replay")
	case err == nil, cmd.Context().Err() != nil:
		return r, orInterrupted(cmd, err)
	case errors.Is(err, importer.ErrInput), errors.Is(err, replay.ErrPolicy):
		return nil, err
	}
	return nil, &failure{err}
}

// warnReplay notes what could not be read, which does not spoil the rest.
func warnReplay(cmd *cobra.Command, r *replay.Report, verbose bool) {
	w := cmd.ErrOrStderr()
	if verbose {
		for _, p := range r.Problems {
			fmt.Fprintf(w, "oriel: note: %s\n", term.OneLine(p.String(), maxError))
		}
	}
	if n := r.Broken; n > 0 {
		fmt.Fprintf(w, "oriel: note: %s not be read and %s left out, first %s\n",
			term.Plural(n, "line or call could", "lines or calls could"), were(n),
			term.OneLine(r.Problems[0].String(), maxError))
	}
}

// printOutcomes prints an object for each session and policy.
func printOutcomes(out io.Writer, r *replay.Report, wanted []replay.Policy) error {
	whole := len(wanted) == 0 || slices.Contains(wanted, replay.Policy{Name: replay.Append})
	for _, s := range r.Sessions {
		for i, o := range s.Outcomes {
			if i == 0 && !whole {
				continue
			}
			if err := printJSON(out, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// writePage writes the page of a replay.
func writePage(path string, r *replay.Report) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	if err := errors.Join(webpage.Write(f, r), f.Close()); err != nil {
		return &failure{fmt.Errorf("write %s: %w", path, err)}
	}
	return nil
}
