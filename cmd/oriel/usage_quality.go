package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/quality"
	"github.com/oriel-context/oriel/internal/term"
)

// showQuality shows how good the windows of calls were.
func (o *usageFlags) showQuality(cmd *cobra.Command) error {
	if o.watch || cmd.Flags().Changed("by") {
		return fmt.Errorf("--quality is one sum over all calls: leave out --by and --watch; --since selects calls")
	}
	models, err := modelTable(*o.table)
	if err != nil {
		return err
	}
	options := quality.Options{Models: models}
	if o.since != "" {
		if options.Since, err = report.Since(o.since, time.Now()); err != nil {
			return fmt.Errorf("--since: %w", err)
		}
	}
	r := new(quality.Report)
	err = o.data.with(cmd.Context(), func(s tenantStore) error {
		if r, err = quality.Read(cmd.Context(), s, s.tenant, options); err != nil {
			return &failure{err}
		}
		return nil
	})
	if err := tolerateNone(cmd, err); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if o.json {
		return printJSON(out, r)
	}
	return term.Paged(out, func(out io.Writer, sc term.Screen) error {
		_, err := out.Write(drawQuality(r, sc))
		return err
	})
}

// drawQuality shows a report to a person.
func drawQuality(r *quality.Report, sc term.Screen) []byte {
	var b bytes.Buffer
	row := func(figure, share, what string) {
		line := fmt.Sprintf("%9s %5s  %s", figure, share, what)
		for _, l := range term.Wrap(line, cmp.Or(sc.Width, term.Cells(line)), len(line)-len(what)) {
			fmt.Fprintln(&b, l)
		}
	}
	fmt.Fprintf(&b, "%s, %s of them with something left out\n\n", sc.Style.Bold(term.Plural(r.Calls, "call", "calls")),
		term.Thousands(r.Cut))
	fmt.Fprintln(&b, "Was what left needed again?")
	row(term.Thousands(r.Needed), "", "edits and reads of a file that was read before")
	row(term.Thousands(r.Missing), term.Percent(r.Missing, r.Needed), "of these without that file in the window")
	row(term.Thousands(r.Back), term.Percent(r.Back, r.Missing),
		"of the missing ones were in a recalled passage or another text")
	row(term.Thousands(r.Again), "", "files read and commands run again, in calls with something left out")
	row(term.Thousands(r.Again-r.Held), term.Percent(r.Again-r.Held, r.Again),
		"of these because the window did not have the result")
	fmt.Fprintln(&b, "\nDo replies use what was recalled?")
	row(term.Thousands(r.Passages), "", "passages were recalled")
	row(term.Thousands(r.Used), term.Percent(r.Used, r.Passages), "of these have words of their own in the reply")
	fmt.Fprintln(&b, "\nWhat of a window is of no use?")
	row(term.Bytes(int64(r.Text)), "", "text was sent in all windows, of "+term.Bytes(int64(r.CameText))+" that came")
	row(term.Bytes(int64(r.Repeated)), term.Percent(r.Repeated, r.Text), "of it is repeated word for word; "+
		term.Percent(r.CameRepeated, r.CameText)+" of what came")
	row(term.Bytes(int64(r.Stale)), term.Percent(r.Stale, r.Text),
		"of it is out of date: read or run again, or changed since; "+term.Percent(r.CameStale, r.CameText)+
			" of what came")
	if r.Skipped > 0 {
		paragraph(&b, sc, "\n%s could not be measured: without a reply, or on a branch that was left",
			term.Plural(r.Skipped, "call", "calls"))
	}
	return b.Bytes()
}
