package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/importer"
	"github.com/oriel-context/oriel/internal/report/replay"
	"github.com/oriel-context/oriel/internal/settings"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
)

func tuneCommand() *cobra.Command {
	var f replayFlags
	var write string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tune PATH… | --mine",
		Short: "Find the profile that fits your own sessions",
		Long: `Find budget, low mark and recall for the sessions that agents recorded here. They are
chosen on half of the sessions, by what the prompts would have cost with a call more for
each thing that was needed again and had left the window, and judged on the other half.
Where no profile is worth it, it says so.

--write NAME adds the profile to the settings file, as [profiles.NAME]: oriel run
--profile NAME uses it. Nothing else is changed, and nothing leaves this machine.`,
		Example: `  oriel tune --mine
  oriel tune ~/.claude/projects --since 30d --write mine`,
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&write, "write", "", "add the profile to the settings file under this `name`")
	flags.StringVar(&f.config, "config", "", "settings `file` (default $ORIEL_CONFIG, else oriel/config.toml in the user's configuration folder)")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer endBySignals(cmd)()
		if write != "" {
			if _, err := window.NewProfiles(window.Profile{Name: write}); err != nil {
				return fmt.Errorf("--write: %w", err)
			}
		}
		o, paths, err := f.options(cmd, args)
		if err != nil {
			return err
		}
		if write != "" && slices.ContainsFunc(o.Profiles, func(p window.Profile) bool { return p.Name == write }) {
			return fmt.Errorf("--write %s: the settings have a profile of this name: choose another, or remove it there",
				write)
		}
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(replayMemory))
		p := term.NewProgress(cmd.ErrOrStderr(), "replaying")
		o.Progress = p.Update
		t, err := replay.Tune(cmd.Context(), paths, o)
		p.End()
		switch {
		case cmd.Context().Err() != nil:
			return orInterrupted(cmd, err)
		case errors.Is(err, replay.ErrFew), errors.Is(err, importer.ErrInput):
			return err
		case err != nil:
			return &failure{err}
		}
		wrote := ""
		if write != "" && !t.Off {
			if wrote, err = writeProfile(f.config, write, t); err != nil {
				return err
			}
		}
		out := cmd.OutOrStdout()
		if asJSON {
			return printJSON(out, t)
		}
		return term.Paged(out, func(out io.Writer, sc term.Screen) error {
			_, err := out.Write(drawTuning(t, cmp.Or(write, "mine"), wrote, &f, sc))
			return err
		})
	}
	return cmd
}

// profileText returns the profile as the settings file has it.
func profileText(name string, t *replay.Tuning) string {
	text := fmt.Sprintf("[profiles.%s]\nbudget = %d\nlow_mark = %g\n", name, t.Budget, t.Low)
	if t.NoRecall {
		text += "recall = -1\n"
	}
	return text
}

// writeProfile adds the profile to the settings file and returns its path.
func writeProfile(config, name string, t *replay.Tuning) (path string, err error) {
	sources := configSources(config)
	if path = sources.File; path == "" {
		return "", errors.New(
			"--write: there is no place for a settings file, because $HOME is not set: name one with --config or $ORIEL_CONFIG")
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("--write: %w", err)
	}
	text := profileText(name, t)
	if len(before) > 0 {
		text = string(bytes.TrimRight(before, "\n")) + "\n\n" + text
	}
	target := path // or the file that it is a link to
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return "", &failure{fmt.Errorf("--write: %w", err)}
	}
	temporary, err := os.CreateTemp(filepath.Dir(target), ".config-*.toml")
	if err != nil {
		return "", &failure{fmt.Errorf("--write: %w", err)}
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.WriteString(text)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return "", &failure{fmt.Errorf("--write: %w", err)}
	}
	sources.File = temporary.Name()
	if _, err := settings.Load(sources); err != nil {
		return "", fmt.Errorf("--write: %s stays as it was, because it could not be read with the profile: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil {
		_ = os.Chmod(temporary.Name(), info.Mode().Perm()) // else only its owner reads it
	}
	if err := os.Rename(temporary.Name(), target); err != nil {
		return "", &failure{fmt.Errorf("--write: %w", err)}
	}
	return path, nil
}

// drawTuning shows a tuning to a person.
func drawTuning(t *replay.Tuning, name, wrote string, f *replayFlags, sc term.Screen) []byte {
	var b bytes.Buffer
	s := sc.Style
	money := term.Money
	if !t.Priced {
		money = func(x float64) string { return fmt.Sprintf("%.2fM", x) }
	}
	paragraph(&b, sc, "chosen on %s, judged on %s that it did not see", term.Things(t.Learnt, "session"),
		term.Thousands(t.Judged))
	if t.Off {
		fmt.Fprintf(&b, "\n%s\n", s.Bold("No profile is worth it: leave it off"))
		paragraph(&b, sc, "%s", t.Reason)
		return b.Bytes()
	}
	recall := "on"
	switch {
	case f.noRecall:
		recall = "on, and not tried: --no-recall"
	case t.NoRecall:
		recall = "off: it gave nothing back that was needed again, and cost more than 2%"
	}
	fmt.Fprintf(&b, "\n%s\n", s.Bold(fmt.Sprintf("A budget of %s tokens, cut down to %.0f%% of it", term.Thousands(t.Budget),
		100*t.Low)))
	paragraph(&b, sc, "recall %s", recall)
	paragraph(&b, sc, "%s", t.Reason)
	fmt.Fprintf(&b, "\n%s\n", s.Bold("What to expect: the sessions that it did not see"))
	table := term.Table{Left: []bool{true, false, false, false, false, false}}
	table.Row("", "prompts", "saved", "cuts", "missing", "given back")
	for i, o := range t.Judge {
		title := o.Policy
		switch i {
		case 0:
			title = "as they came"
		case 3:
			title = name
		}
		row := []string{"  " + title, money(o.Cost), "", "", "", ""}
		if i > 0 {
			row[2] = fmt.Sprintf("%.0f%%", 100*(1-o.CostRatio))
			row[3], row[5] = term.Thousands(o.Cuts), term.Thousands(o.Back)
			row[4] = fmt.Sprintf("%s of %s", term.Thousands(o.Missing), term.Thousands(o.Needed))
		}
		table.Row(row...)
	}
	if sc.Width > 0 {
		table.Narrow(sc.Width, 5, 3)
	}
	table.Draw(&b)
	if wrote == "" {
		fmt.Fprintf(&b, "\n%s\n%s", s.Bold("In the settings (--write NAME adds it)"), profileText(name, t))
	} else {
		with := "" // another settings file than the usual one
		if f.config != "" {
			with = " --config " + term.OneLine(f.config, 200)
		}
		fmt.Fprintf(&b, "\n%s has it now: oriel run%s --profile %s -- claude\n", term.OneLine(wrote, 200), with, name)
	}
	return b.Bytes()
}
