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
	return paged(out, func(out io.Writer, sc screen) error {
		_, err := out.Write(drawQuality(r, sc))
		return err
	})
}

// drawQuality shows a report to a person.
func drawQuality(r *quality.Report, sc screen) []byte {
	var b bytes.Buffer
	row := func(figure, share, what string) {
		line := fmt.Sprintf("%9s %5s  %s", figure, share, what)
		for _, l := range wrap(line, cmp.Or(sc.width, cells(line)), len(line)-len(what)) {
			fmt.Fprintln(&b, l)
		}
	}
	fmt.Fprintf(&b, "%s, %s of them with something left out\n\n", sc.style.bold(plural(r.Calls, "call", "calls")), thousands(r.Cut))
	fmt.Fprintln(&b, "Was what left needed again?")
	row(thousands(r.Needed), "", "edits and reads of a file that was read before")
	row(thousands(r.Missing), percent(r.Missing, r.Needed), "of these without that file in the window")
	row(thousands(r.Back), percent(r.Back, r.Missing), "of the missing ones were in a recalled passage or another text")
	row(thousands(r.Again), "", "files read and commands run again, in calls with something left out")
	row(thousands(r.Again-r.Held), percent(r.Again-r.Held, r.Again), "of these because the window did not have the result")
	fmt.Fprintln(&b, "\nDo replies use what was recalled?")
	row(thousands(r.Passages), "", "passages were recalled")
	row(thousands(r.Used), percent(r.Used, r.Passages), "of these have words of their own in the reply")
	fmt.Fprintln(&b, "\nWhat of a window is of no use?")
	row(size(int64(r.Text)), "", "text was sent in all windows, of "+size(int64(r.CameText))+" that came")
	row(size(int64(r.Repeated)), percent(r.Repeated, r.Text), "of it is repeated word for word; "+percent(r.CameRepeated, r.CameText)+" of what came")
	row(size(int64(r.Stale)), percent(r.Stale, r.Text), "of it is out of date: read or run again, or changed since; "+percent(r.CameStale, r.CameText)+" of what came")
	if r.Skipped > 0 {
		paragraph(&b, sc, "\n%s could not be measured: without a reply, or on a branch that was left", plural(r.Skipped, "call", "calls"))
	}
	return b.Bytes()
}
