package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/misses"
	"github.com/oriel-context/oriel/internal/term"
)

// showCache shows what was read from providers' caches, and why not more.
func (o *usageFlags) showCache(cmd *cobra.Command) error {
	if o.watch || cmd.Flags().Changed("by") {
		return fmt.Errorf("--cache is one sum over all calls: leave out --by and --watch; --since selects calls")
	}
	models, err := modelTable(*o.table)
	if err != nil {
		return err
	}
	options := misses.Options{Models: models}
	if o.since != "" {
		if options.Since, err = report.Since(o.since, time.Now()); err != nil {
			return fmt.Errorf("--since: %w", err)
		}
	}
	out, r := cmd.OutOrStdout(), new(misses.CacheReport)
	var short shortIDs
	err = o.data.with(cmd.Context(), func(s tenantStore) error {
		if r, err = misses.Read(cmd.Context(), s, s.tenant, options); err != nil {
			return &failure{err}
		}
		short, err = shortIDsFor(cmd.Context(), out, s)
		return err
	})
	if err := tolerateNone(cmd, err); err != nil {
		return err
	}
	if o.json {
		return printJSON(out, r)
	}
	return term.Paged(out, func(out io.Writer, sc term.Screen) error {
		_, err := out.Write(drawCache(r, short, sc))
		return err
	})
}

// drawCache shows a report to a person.
func drawCache(r *misses.CacheReport, short shortIDs, sc term.Screen) []byte {
	var b bytes.Buffer
	paragraph(&b, sc, "%s, %s prompt tokens: %s read from the provider's cache (%s), %s more could have been",
		term.Things(r.Calls-r.Unreported, "call"), term.Thousands(r.Input), term.Thousands(r.Read),
		term.Percent(r.Read, r.Input), term.Thousands(r.Unread))
	if r.Unread > 0 {
		b.WriteString("\n")
		t := term.Table{Left: []bool{true, false, false, false, true}}
		t.Row("reason", "calls", "tokens", "cost", "")
		for i := range r.Reasons {
			if s := &r.Reasons[i]; s.Calls > 0 {
				t.Row(string(s.Reason), term.Thousands(s.Calls), term.Thousands(s.Tokens), term.Money(s.Cost),
					s.Reason.About())
			}
		}
		t.DrawWrapped(&b, cmp.Or(sc.Width, t.Width()))
		fmt.Fprintln(&b, "\nlargest")
	}
	for i := range r.Largest {
		f := &r.Largest[i]
		line := fmt.Sprintf("%9s %7s  %s call %d, %s: %s", term.Thousands(f.Tokens), term.Money(f.Cost),
			short.of(f.Conversation), f.Call, f.Time.Local().Format("2 Jan 15:04"), why(&f.Miss))
		for _, l := range term.Wrap(line, cmp.Or(sc.Width, term.Cells(line)), 19) {
			fmt.Fprintln(&b, l)
		}
		drawChange(&b, f.Change, sc)
	}
	if r.Unreported > 0 {
		paragraph(&b, sc, "\nof %s the provider reported no usage: they are in no figure",
			term.Things(r.Unreported, "call"))
	}
	return b.Bytes()
}

// drawChange shows what stood where two prompts part.
func drawChange(b *bytes.Buffer, c *misses.Break, sc term.Screen) {
	if c == nil {
		return
	}
	for _, l := range []struct{ op, text string }{{"removed", c.Old}, {"added", c.New}} {
		if l.text == "" {
			continue
		}
		line := fmt.Sprintf("%21s %s", diffLook[l.op].sign, term.OneLine(l.text, 200))
		if sc.Width > 0 {
			line = term.Clip(line, sc.Width)
		}
		fmt.Fprintln(b, sc.Style.Code(diffLook[l.op].colour, line))
	}
}

// why says in a few words why a prompt was not read from the cache.
func why(m *misses.Miss) string {
	text := string(m.Reason)
	switch m.Reason {
	case misses.Pause:
		text = fmt.Sprintf("pause of %s, the cache lives %s", spanOf(m.Pause), spanOf(m.Lifetime))
	case misses.Client:
		text = "client: " + changed(m.Change)
	case misses.Cut:
		if text = "cut"; m.Plan != "" {
			text += " by plan " + m.Plan
		}
	case misses.Model:
		text = "model: it was " + term.OneLine(shortModel(m.Model), 40)
	case misses.Minimum:
		text = "minimum: prompts below " + term.Thousands(m.Minimum) + " tokens are not cached"
	case misses.Provider:
		text = "provider: no reason was found"
	}
	if m.Said != "" {
		text += "; the provider says " + term.OneLine(m.Said, 60)
	}
	return text
}

// changed says what the client changed.
func changed(c *misses.Break) string {
	switch {
	case c == nil:
		return "something that prompts are not compared by"
	case c.Where == misses.Marks:
		return "a cache was asked for not at all, or not for all of it"
	case c.Where == misses.Tools:
		return fmt.Sprintf("byte %s of tool %d, %s", term.Thousands(c.Byte), c.At, term.OneLine(c.Name, 60))
	case c.Where == misses.System:
		return fmt.Sprintf("byte %s of the system prompt, part %d", term.Thousands(c.Byte), c.At)
	}
	return fmt.Sprintf("byte %s of message %d, %s", term.Thousands(c.Byte), c.At, term.OneLine(c.Name, 20))
}

// spanOf is a time span for people, such as 5m, 1h20m or 3d.
func spanOf(seconds float64) string {
	switch d := time.Duration(seconds) * time.Second; {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour && d%time.Hour >= time.Minute:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + "d"
	}
}
