package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
)

// printFound draws what was found for people.
func (o *recallFlags) printFound(cmd *cobra.Command, s tenantStore, r *found) error {
	hits := o.people(r)
	if len(hits) == 0 {
		text := "nothing found"
		if r.result.Tokens == 0 && cmd.Flags().Changed("budget") && o.budget < 200 {
			text = fmt.Sprintf("nothing found that fits in %d tokens", o.budget)
		}
		var b bytes.Buffer
		paragraph(&b, term.ScreenOf(cmd.OutOrStdout()), "%s\n%s", text, r.howFound())
		_, err := cmd.OutOrStdout().Write(b.Bytes())
		return err
	}
	groups := report.Groups(hits, time.Local)
	titles, err := titlesOf(cmd.Context(), s, groups)
	if err != nil {
		return err
	}
	short, err := shortIDsFor(cmd.Context(), cmd.OutOrStdout(), s)
	if err != nil {
		return err
	}
	return term.Paged(cmd.OutOrStdout(), func(out io.Writer, sc term.Screen) error {
		d := hitDrawing{screen: sc, words: report.NewMatcher(r.result.Query), titles: titles, short: short,
			full:  o.full,
			spare: spareLines}
		for i := range groups {
			if err := d.group(cmd.Context(), s, &groups[i], o.around); err != nil {
				return err
			}
		}
		paragraph(&d.b, sc, "%s, %s", term.Plural(len(hits), "message", "messages"), r.howFound())
		_, err := out.Write(d.b.Bytes())
		return err
	})
}

// titlesOf returns the titles of the conversations of groups.
func titlesOf(ctx context.Context, s tenantStore, groups []report.HitGroup) (map[string]string, error) {
	titles := map[string]string{}
	for _, g := range groups {
		if _, known := titles[g.Conversation]; known {
			continue
		}
		title, err := titleOf(ctx, s, g.Conversation)
		if err != nil {
			return nil, err
		}
		titles[g.Conversation] = title
	}
	return titles, nil
}

// hitDrawing draws hits.
type hitDrawing struct {
	b      bytes.Buffer
	screen term.Screen
	words  *report.Matcher
	titles map[string]string
	short  shortIDs
	full   bool // all that was found of each hit
	spare  int  // lines that are left for other passages of the next hits
}

// typed returns the id of a conversation for a command line.
func (d *hitDrawing) typed(name string) string { return shellLine([]string{d.short.of(name)}) }

// margin precedes the lines of a hit.
const margin = "  "

func (d *hitDrawing) group(ctx context.Context, s tenantStore, g *report.HitGroup, around int) error {
	head := d.short.of(g.Conversation)
	if !g.Day.IsZero() {
		head = g.Day.Format("2 January 2006") + "  " + head
	}
	fmt.Fprintln(&d.b, d.screen.Style.Bold(titled(head, d.titles[g.Conversation], cmp.Or(d.screen.Width, math.MaxInt))))
	for i := range g.Hits {
		if err := d.hit(ctx, s, &g.Hits[i], around); err != nil {
			return err
		}
	}
	if g.More > 0 {
		fmt.Fprintln(&d.b,
			d.screen.Style.Code("2", fmt.Sprintf("%s… %s: --conversation %s", margin,
				term.Plural(g.More, "more message", "more messages"), d.typed(g.Conversation))))
	}
	d.b.WriteString("\n")
	return nil
}

// hit draws a message, with the messages around it.
func (d *hitDrawing) hit(ctx context.Context, s tenantStore, h *report.Hit, around int) error {
	before, after, err := d.neighbours(ctx, s, h, around)
	if err != nil {
		return &failure{err}
	}
	d.b.WriteString(before)
	clock := ""
	if !h.Time.IsZero() {
		clock = h.Time.Local().Format("15:04") + "  "
	}
	fmt.Fprintf(&d.b, "%s%s  %s%s\n", margin, d.screen.Style.Code("36", strconv.FormatInt(h.ID, 10)), clock,
		d.screen.Style.Code(byColour(h.Role), term.OneLine(h.Role, 20)))
	d.text(h)
	d.b.WriteString(after)
	return nil
}

const (
	// passageLines limits the lines of a hit's best passage on a terminal.
	passageLines = 20
	// spareLines is how many lines of other passages a terminal is shown: those of the
	// first hits, so that the next ones are on the same screen.
	spareLines = 8
)

// text draws the text of a hit, with the words of the query marked. A terminal is shown its
// best passage, and more of it while there are spare lines.
func (d *hitDrawing) text(h *report.Hit) {
	lines := d.lines(h.Text[:h.Best])
	first := len(lines)
	lines = append(lines, d.lines(h.Text[h.Best:])...)
	more := 0
	if d.screen.Width > 0 && !d.full {
		shown := d.shown(lines, first, len(d.lines(h.Text[h.Best:h.BestEnd])))
		more = len(lines) - len(shown)
		lines = shown
	}
	for _, l := range lines {
		fmt.Fprintf(&d.b, "%s%s%s\n", margin, margin, d.marked(l))
	}
	if more > 0 {
		fmt.Fprintln(&d.b,
			d.screen.Style.Code("2", fmt.Sprintf("%s%s… %s: oriel show %s %d", margin, margin,
				term.Plural(more, "line more", "lines more"), d.typed(h.Conversation), h.ID)))
	}
}

// shown returns the lines of a hit that a terminal is shown; its best passage begins at first
// and has best lines.
func (d *hitDrawing) shown(lines []string, first, best int) []string {
	if best > passageLines {
		first += d.densest(lines[first:first+best], passageLines)
		return lines[first : first+passageLines]
	}
	other := len(lines) - best
	if other > 1 { // a line that says so takes no less
		other = min(other, d.spare)
		d.spare -= other
	}
	last := min(len(lines), first+best+other)
	return lines[last-best-other : last]
}

// densest returns where the n lines begin that have the most words of the query, with as many
// lines before the words as after them.
func (d *hitDrawing) densest(lines []string, n int) int {
	words := make([][]string, len(lines))
	for i, l := range lines {
		for _, w := range d.words.Find(l) {
			words[i] = append(words[i], strings.ToLower(l[w[0]:w[1]]))
		}
	}
	most, first, last := 0, 0, 0
	for i := range len(lines) - n + 1 {
		found := map[string]bool{}
		for _, w := range slices.Concat(words[i : i+n]...) {
			found[w] = true
		}
		switch {
		case len(found) > most:
			most, first, last = len(found), i, i
		case most > 0 && len(found) == most && last == i-1:
			last = i
		}
	}
	return (first + last) / 2
}

// lines returns the lines of a text as they are drawn, without empty ones: passages stand
// close.
func (d *hitDrawing) lines(text string) (lines []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(term.Printable(text), "\t", "    "), "\n") {
		switch line = strings.TrimRight(line, " "); {
		case line == "":
		case d.screen.Width == 0:
			lines = append(lines, line)
		default:
			lines = append(lines, term.Wrap(line, d.screen.Width-2*len(margin), 0)...)
		}
	}
	return lines
}

// marked marks the words of the query.
func (d *hitDrawing) marked(line string) string {
	if !d.screen.Style.On {
		return line
	}
	var b strings.Builder
	at := 0
	for _, w := range d.words.Find(line) {
		b.WriteString(line[at:w[0]] + "\x1b[1;33m" + line[w[0]:w[1]] + "\x1b[0m")
		at = w[1]
	}
	return b.String() + line[at:]
}

func two(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
