package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/report/usage"
	"github.com/oriel-context/oriel/internal/term"
)

// usageFlags holds the flags of usage.
type usageFlags struct {
	by, since   string
	json, watch bool
	quality     bool
	cache       bool
	table       *string
	data        *history
}

func usageCommand() *cobra.Command {
	var o usageFlags
	cmd := &cobra.Command{
		Use:        "usage",
		SuggestFor: []string{"cost", "costs", "bill", "savings", "money"},
		Short:      "Show what calls used and cost, and what they would have cost without Oriel",
		Long: `Show the calls that went through Oriel: how many, their prompt tokens, how much of
these the provider read from its cache, their output, what they cost, and what they
would have cost if everything had been sent. Token counts are the provider's; if it
reported none, Oriel counts the prompt.

Costs are computed with the prices of the model table (oriel models), whose date is
shown. Models without a price are listed; their calls are counted but not priced. Days
are those of this machine's time zone. Calls of imported sessions did not go through
Oriel; oriel conversations shows what they cost.

The last column has a bar for each row: full for what was paid, light for what was
saved.`,
		Example: `  oriel usage
  oriel usage --by model --since 30d
  oriel usage --by conversation --since today
  oriel usage --watch
  oriel usage --by month --json
  oriel usage --cache --since 7d
  oriel usage --quality --since 7d`,
		Args: noArguments,
	}
	f := cmd.Flags()
	f.StringVar(&o.by, "by", "day", "rows: hour, day, week, month, model, project or conversation")
	f.StringVar(&o.since, "since", "", "only calls since "+sinceHelp)
	f.BoolVar(&o.watch, "watch", false, "show it again whenever a call has ended, until Ctrl-C")
	f.BoolVar(&o.quality, "quality", false,
		"show how good the windows were instead: what left and was needed again, what was recalled and used, what is repeated or out of date")
	f.BoolVar(&o.cache, "cache", false,
		"show instead what was read from the provider's cache, what could have been, and why it was not")
	f.BoolVar(&o.json, "json", false, "print one JSON object for each row")
	o.table, o.data = addModelTable(cmd), addTenantHistory(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case o.quality && o.cache:
			return fmt.Errorf("--quality and --cache are reports of their own: give one")
		case o.quality:
			return o.showQuality(cmd)
		case o.cache:
			return o.showCache(cmd)
		}
		return o.run(cmd)
	}
	return cmd
}

func (o *usageFlags) run(cmd *cobra.Command) error {
	by := usage.By(o.by)
	if !slices.Contains(usage.Groupings, by) {
		return fmt.Errorf("--by %q: give hour, day, week, month, model, project or conversation",
			term.OneLine(o.by, 60))
	}
	models, err := modelTable(*o.table)
	if err != nil {
		return err
	}
	options := func() (usage.Options, error) {
		u := usage.Options{By: by, Models: models, Zone: time.Local}
		if o.since != "" {
			if u.Since, err = report.Since(o.since, time.Now()); err != nil {
				return u, fmt.Errorf("--since: %w", err)
			}
		}
		return u, nil
	}
	if _, err := options(); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if o.watch {
		if o.json || !term.IsTerminal(out) {
			return fmt.Errorf("--watch draws on a terminal: leave it out for --json, a file or a pipe")
		}
		return watch(cmd.Context(), o.data, out, func(ctx context.Context, s tenantStore) ([]byte, error) {
			u, err := options()
			if err != nil {
				return nil, err
			}
			r, err := usage.Read(ctx, s, s.tenant, u)
			if err != nil {
				return nil, err
			}
			people, err := screenOfUsage(ctx, out, s, r)
			if err != nil {
				return nil, err
			}
			return people.draw(term.StyleOf(out), term.Width(out)), nil
		})
	}
	r := &usage.Report{By: by}
	people := &usageScreen{Report: r}
	err = o.data.with(cmd.Context(), func(s tenantStore) error {
		u, err := options()
		if err != nil {
			return err
		}
		if r, err = usage.Read(cmd.Context(), s, s.tenant, u); err != nil {
			return &failure{err}
		}
		if o.json {
			return nil
		}
		people, err = screenOfUsage(cmd.Context(), out, s, r)
		return err
	})
	if err := tolerateNone(cmd, err); err != nil {
		return err
	}
	if !o.json {
		return term.Paged(out, func(out io.Writer, sc term.Screen) error {
			_, err := out.Write(people.draw(sc.Style, cmp.Or(sc.Width, max(80, people.wholeWidth()))))
			return err
		})
	}
	for i := range r.Rows {
		if err := printJSON(out, &r.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// usageScreen is a report as people are shown it: the keys of conversations are short ids,
// and beside them are titles, which are empty for others.
type usageScreen struct {
	*usage.Report
	titles []string // of the rows; nil unless they are conversations
}

// screenOfUsage makes a report one for people.
func screenOfUsage(ctx context.Context, out io.Writer, s tenantStore, r *usage.Report) (*usageScreen, error) {
	if r.By != usage.Conversation {
		return &usageScreen{Report: r}, nil
	}
	short, err := shortIDsFor(ctx, out, s)
	if err != nil {
		return nil, err
	}
	return nameConversations(ctx, s, r, short)
}

// nameConversations adds titles to a report by conversation, and shortens the ids.
func nameConversations(ctx context.Context, s tenantStore, r *usage.Report, short shortIDs) (*usageScreen, error) {
	named := &usageScreen{r, make([]string, len(r.Rows))}
	for i := range r.Rows {
		title, err := titleOf(ctx, s, r.Rows[i].Key)
		if err != nil {
			return nil, err
		}
		r.Rows[i].Key, named.titles[i] = short.of(r.Rows[i].Key), term.Clip(title, maxUsageTitle)
	}
	return named, nil
}

// maxUsageTitle is how many columns of a title stand in the rows of a report.
const maxUsageTitle = 40

// key returns the key of the i-th row, or of the total after them, in at most room columns.
// It shortens no id of a conversation.
func (r *usageScreen) key(i, room int) string {
	if i == len(r.Rows) {
		return r.Total.Key
	}
	key := keyOf(r.By, &r.Rows[i])
	if r.By != usage.Conversation {
		return clipName(key, room, r.By == usage.Project)
	}
	if i < len(r.titles) {
		return titled(key, r.titles[i], room)
	}
	return key
}

// keyWidth returns the width of the column of keys if they have so much room.
func (r *usageScreen) keyWidth(room int) int {
	longest := len(r.By)
	for i := range len(r.Rows) + 1 {
		longest = max(longest, term.Cells(r.key(i, room)))
	}
	return longest
}

// wholeWidth returns the width at which no key is shortened.
func (r *usageScreen) wholeWidth() int {
	return widest(r.lay(r.keyWidth(1<<20), term.Thousands)) + leastBar
}

// draw shows a report to a person, in lines of at most width columns.
func (r *usageScreen) draw(s term.Style, width int) []byte {
	var b bytes.Buffer
	if r.Total.Calls == 0 {
		paragraph(&b, term.Screen{Width: width},
			"no calls were recorded in this time: oriel run -- COMMAND and oriel serve record them; oriel conversations shows what imported sessions cost")
		return b.Bytes()
	}
	rows := r.rows(width)
	most, largest := 0.0, 0
	for i := range r.Rows {
		most, largest = max(most, r.Rows[i].Without, r.Rows[i].Cost), max(largest, r.Rows[i].Input)
	}
	columns := widest(rows)
	room := min(30, width-columns-2)
	for i, line := range rows {
		switch {
		case i == 0 || i == len(rows)-1:
			line = s.Bold(line)
		case room >= 5 && most > 0:
			line = term.Pad(line, columns) + "  " + costBar(&r.Rows[i-1], most, room, s)
		case room >= 5:
			line = term.Pad(line, columns) + "  " + term.Bar(r.Rows[i-1].Input, largest, room)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("\n")
	var notes bytes.Buffer
	usageNotes(&notes, r.Report)
	for line := range strings.SplitSeq(strings.TrimSuffix(notes.String(), "\n"), "\n") {
		hang := 0
		if strings.HasPrefix(line, warned) {
			hang = len(warned)
		}
		for _, l := range term.Wrap(term.Printable(line), width, hang) {
			fmt.Fprintln(&b, l)
		}
	}
	return b.Bytes()
}

// rows returns the head, the rows and the total, without bars: with short figures where
// whole ones leave too little room for the keys and a bar.
func (r *usageScreen) rows(width int) []string {
	if r.wholeWidth() <= width {
		return r.lay(width, term.Thousands)
	}
	others := widest(r.lay(1, term.Compact)) - r.keyWidth(1)
	rows := r.lay(max(leastKey, width-others-leastBar), term.Compact)
	for drop := 1; widest(rows) > width && drop <= len(usageSpare); drop++ {
		rows = r.lay(leastKey, term.Compact, usageSpare[:drop]...)
	}
	return rows
}

// usageSpare are the columns that a narrow terminal does without, in this order: output,
// cached, calls.
var usageSpare = []int{4, 3, 1}

const (
	leastKey = 12 // columns of a key
	leastBar = 7  // columns of a bar, with the space before it
)

// lay lays out the rows, with keys of at most room columns.
func (r *usageScreen) lay(room int, figure func(int) string, drop ...int) []string {
	t := term.Table{Left: []bool{true, false, false, false, false, false, false}}
	t.Row(string(r.By), "calls", "input", "cached", "output", "cost", "without")
	for i, row := range append(slices.Clip(r.Rows), r.Total) {
		cost, without := term.Money(row.Cost), term.Money(row.Without)
		if row.Cost == 0 && len(row.UnknownModels) > 0 {
			cost, without = "?", "?"
		}
		t.Row(r.key(i, room), term.Thousands(row.Calls), figure(row.Input), term.Percent(row.CacheRead, row.Input),
			figure(row.Output), cost, without)
	}
	t.Narrow(0, drop...)
	var b bytes.Buffer
	t.Draw(&b)
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// keyOf returns the key of a row for people.
func keyOf(by usage.By, r *usage.Row) string {
	switch {
	case r.Key != "":
		return wholeID(r.Key)
	case by == usage.Project:
		return "(no project)"
	}
	return "(no name)"
}

func widest(lines []string) (n int) {
	for _, line := range lines {
		n = max(n, term.Cells(line))
	}
	return n
}

// clipName cuts a name to at most room columns: at its end, or of a path at its beginning.
func clipName(name string, room int, path bool) string {
	if !path || term.Cells(name) <= room {
		return term.Clip(name, max(1, room))
	}
	for term.Cells(name) > max(0, room-1) {
		_, n := utf8.DecodeRuneInString(name)
		name = name[n:]
	}
	return "…" + name
}

// costBar draws a bar of a row's cost followed, lighter, by a bar of what it
// saved.
func costBar(r *usage.Row, most float64, width int, s term.Style) string {
	scaled := func(d float64) int { return int(d/most*float64(width) + .5) }
	paid, all := scaled(r.Cost), scaled(max(r.Cost, r.Without))
	if r.Cost > 0 {
		paid = max(1, paid)
	}
	return s.Code("36", strings.Repeat("█", paid)) + s.Code("2", strings.Repeat("░", max(0, all-paid)))
}

// warned begins a note about something that is wrong.
const warned = "  ! "

// usageNotes explains what the sums mean, a line for each note.
func usageNotes(b *bytes.Buffer, r *usage.Report) {
	t := &r.Total
	switch saved := t.Without - t.Cost; {
	case t.Cost == 0 && t.Without == 0:
	case t.LeftOut == 0:
		fmt.Fprintln(b, "everything was sent; costs are estimates")
	case saved < 0:
		fmt.Fprintf(b, "%s tokens were not sent, which cost about %s more\n", term.Thousands(t.LeftOut),
			term.Money(-saved))
	default:
		fmt.Fprintf(b, "%s tokens were not sent, which saved about %s (%.0f%%)\n", term.Thousands(t.LeftOut),
			term.Money(saved), 100*saved/t.Without)
	}
	for _, tier := range slices.Sorted(maps.Keys(t.Services)) {
		fmt.Fprintf(b, "%s at the price of service tier %s\n", term.Things(t.Services[tier], "call"),
			term.OneLine(tier, 32))
	}
	if t.Summaries > 0 {
		fmt.Fprintf(b, "summaries cost %s more\n", term.Money(t.Summaries))
	}
	if r.Oldest != "" {
		when := r.Newest
		if r.Oldest != r.Newest {
			when = r.Oldest + " to " + r.Newest
		}
		fmt.Fprintf(b, "prices of %s: oriel models lists them\n", when)
	}
	observedNotes(b, t.Observed)
	if n := len(t.UnknownModels); n > 0 {
		fmt.Fprintln(b, warned+"no price is known of "+strings.Join(named3(t.UnknownModels), ", ")+
			": their calls are in no sum of money; --models adds prices")
	}
	if t.Failed > 0 {
		fmt.Fprintln(b, warned+term.Things(t.Failed, "call")+" failed")
	}
	if t.Unreported > 0 {
		fmt.Fprintln(b, warned+"of "+term.Things(t.Unreported, "call")+
			" the provider reported no usage: their prompts are counted here, their output is unknown")
	}
}

// observedNotes says what other profiles would have sent and cost, a line for each.
func observedNotes(b *bytes.Buffer, o *usage.Observed) {
	if o == nil {
		return
	}
	fmt.Fprintf(b, "%s under observe: %s tokens, %s; others would be, without recall:\n",
		term.Things(o.Calls, "call"), term.Compact(o.Input), term.Money(o.Cost))
	for i := range o.Would {
		fmt.Fprintf(b, "  %-8s  %s\n", o.Would[i].Profile, wouldHave(o, &o.Would[i]))
	}
}

// wouldHave says what a profile would have sent and cost.
func wouldHave(o *usage.Observed, w *usage.WouldRow) string {
	line := fmt.Sprintf("%s tokens, %s", term.Compact(w.Input), term.Money(w.Cost))
	if o.Cost > 0 && w.Cost != o.Cost && w.Cost < 10*o.Cost {
		line += fmt.Sprintf(" (%+.0f%%)", 100*(w.Cost-o.Cost)/o.Cost)
	}
	if w.Cuts > 0 {
		line += ", " + term.Things(w.Cuts, "cut")
	}
	return line
}

// named3 names a few models, and says how many more there are.
func named3(models []string) (out []string) {
	for i, m := range models {
		if i == 3 {
			return append(out, fmt.Sprintf("and %d more", len(models)-i))
		}
		if m == "" {
			m = "(no name)"
		}
		out = append(out, term.OneLine(m, 60))
	}
	return out
}
