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
	return Paged(out, func(out io.Writer, sc Screen) error {
		_, err := out.Write(drawQuality(r, sc))
		return err
	})
}

// drawQuality shows a report to a person.
func drawQuality(r *quality.Report, sc Screen) []byte {
	var b bytes.Buffer
	row := func(figure, share, what string) {
		line := fmt.Sprintf("%9s %5s  %s", figure, share, what)
		for _, l := range Wrap(line, cmp.Or(sc.Width, Cells(line)), len(line)-len(what)) {
			fmt.Fprintln(&b, l)
		}
	}
	fmt.Fprintf(&b, "%s, %s of them with something left out\n\n", sc.Style.Bold(Plural(r.Calls, "call", "calls")), Thousands(r.Cut))
	fmt.Fprintln(&b, "Was what left needed again?")
	row(Thousands(r.Needed), "", "edits and reads of a file that was read before")
	row(Thousands(r.Missing), Percent(r.Missing, r.Needed), "of these without that file in the window")
	row(Thousands(r.Back), Percent(r.Back, r.Missing), "of the missing ones were in a recalled passage or another text")
	row(Thousands(r.Again), "", "files read and commands run again, in calls with something left out")
	row(Thousands(r.Again-r.Held), Percent(r.Again-r.Held, r.Again), "of these because the window did not have the result")
	fmt.Fprintln(&b, "\nDo replies use what was recalled?")
	row(Thousands(r.Passages), "", "passages were recalled")
	row(Thousands(r.Used), Percent(r.Used, r.Passages), "of these have words of their own in the reply")
	fmt.Fprintln(&b, "\nWhat of a window is of no use?")
	row(Bytes(int64(r.Text)), "", "text was sent in all windows, of "+Bytes(int64(r.CameText))+" that came")
	row(Bytes(int64(r.Repeated)), Percent(r.Repeated, r.Text), "of it is repeated word for word; "+Percent(r.CameRepeated, r.CameText)+" of what came")
	row(Bytes(int64(r.Stale)), Percent(r.Stale, r.Text), "of it is out of date: read or run again, or changed since; "+Percent(r.CameStale, r.CameText)+" of what came")
	if r.Skipped > 0 {
		paragraph(&b, sc, "\n%s could not be measured: without a reply, or on a branch that was left", Plural(r.Skipped, "call", "calls"))
	}
	return b.Bytes()
}
