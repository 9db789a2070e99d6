package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oriel-context/oriel/internal/report"
	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/timeline"
	"github.com/oriel-context/oriel/window"
)

// showPlans prints the plans of a conversation, oldest first, and what one of them holds
// back.
func showPlans(cmd *cobra.Command, s tenantStore, c *timeline.Conversation, o *showFlags) error {
	plans, err := report.Plans(cmd.Context(), s, s.tenant, c)
	if err != nil {
		return &failure{err}
	}
	if len(plans) == 0 && o.plan == newest {
		if o.json {
			return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": c.Name, "plans": []report.Plan{}})
		}
		_, err := io.WriteString(cmd.OutOrStdout(), "no plans: nothing has left the view\n")
		return err
	}
	ids := make([]string, len(plans))
	for i := range plans {
		if ids[i] = plans[i].ID; plans[i].LongID == o.plan {
			o.plan = ids[i] // by the long id that logs have
		}
	}
	i, err := report.PlanOf(ids, o.plan)
	if err != nil {
		return err
	}
	spans, err := report.Spans(cmd.Context(), s, s.tenant, c, &plans[i])
	if err != nil {
		return &failure{err}
	}
	rows := plans
	if o.plan != newest {
		rows = plans[i : i+1]
	} else if o.last > 0 {
		rows = plans[max(0, len(plans)-int(o.last)):]
	}
	if o.json {
		holds, err := timeline.Notes{Store: s, Tenant: s.tenant, Conversation: c.Name}.Holds(cmd.Context())
		if err != nil {
			return &failure{err}
		}
		details := make([]report.Plan, len(rows))
		for k := range rows {
			if details[k] = rows[k].Detail(holds, nil); rows[k].ID == plans[i].ID {
				details[k].Spans = spans
			}
		}
		return printJSON(cmd.OutOrStdout(), map[string]any{"conversation": c.Name, "plans": details})
	}
	short, err := shortIDsFor(cmd.Context(), cmd.OutOrStdout(), s)
	if err != nil {
		return err
	}
	return term.Paged(cmd.OutOrStdout(), func(out io.Writer, sc term.Screen) error {
		var b bytes.Buffer
		planRows(&b, rows, sc)
		b.WriteString("\n")
		planDetails(&b, &plans[i], spans, sc, o.full)
		paragraph(&b, sc, "%s", wayBack(shellLine([]string{short.of(c.Name)}), plans[:i+1]))
		_, err := out.Write(b.Bytes())
		return err
	})
}

// planRows draws a row for each plan.
func planRows(b *bytes.Buffer, plans []report.Plan, sc term.Screen) {
	t := term.Table{Left: []bool{true, true, false, false, false, true}}
	t.Row("plan", "made", "came", "sent", "left", "why")
	for i := range plans {
		p := &plans[i]
		left := ""
		if n := p.LeftCount; n > 0 {
			left = fmt.Sprintf("%d (%s)", n, term.Roughly(p.LeftTokens))
		}
		t.Row(p.ID, p.Time.Local().Format("2 Jan 15:04"), term.Thousands(p.TokensBefore), term.Thousands(p.TokensAfter),
			left, whyOf(p))
	}
	if sc.Width > 0 {
		t.Fit(sc.Width, 24, 2, 1) // came, made
	}
	t.Draw(b)
}

// whyOf describes what a plan did, and whether that was undone.
func whyOf(p *report.Plan) string {
	if p.Held {
		return "undone: " + p.Why
	}
	return p.Why
}

// maxSpans is how many spans of a plan a terminal is shown, unless --full is given: the first
// and the last ones.
const maxSpans = 20

// besides lists what a plan changed apart from its messages, so that the figures add up.
func besides(p *report.Plan) (text string) {
	put := 0
	for _, in := range p.Inserted {
		put += in.Tokens
	}
	if put > 0 {
		text = fmt.Sprintf("; %s were put in", term.Plural(put, "token", "tokens"))
	}
	// A message counts a few tokens more or less than the sum of its parts.
	switch rest := put - p.AddedTokens; {
	case rest > 0:
		text += fmt.Sprintf("; another %s are not sent: thinking, the client's own notes, or rounding",
			term.Plural(rest, "token", "tokens"))
	case rest < 0:
		text += fmt.Sprintf("; rounding adds %s", term.Plural(-rest, "token", "tokens"))
	}
	return text
}

// planDetails draws what a plan holds back, and what stands for it.
func planDetails(b *bytes.Buffer, p *report.Plan, spans []report.Span, sc term.Screen, full bool) {
	model := ""
	if p.Model != "" {
		model = " for " + term.OneLine(p.Model, 60)
	}
	paragraph(b, sc, "%s, made %s%s by policy %s: %s", p.ID, p.Time.Local().Format("2 Jan 2006 15:04:05"), model,
		p.Policy, whyOf(p))
	share := 0.0
	if p.TokensBefore > 0 {
		share = 100 * float64(p.TokensAfter) / float64(p.TokensBefore)
	}
	paragraph(b, sc, "%s of %s tokens are sent (%.0f%%), budget %s; the window lost %s of %s%s:\n",
		term.Thousands(p.TokensAfter), term.Thousands(p.TokensBefore), share, term.Thousands(p.Budget),
		term.Plural(p.HiddenTokens, "token", "tokens"), term.Plural(p.Hidden, "message", "messages"), besides(p))
	t := term.Table{Left: []bool{true, true, false, true, true}}
	t.Row("messages", "what became of them", "lost", "who", "how they begin")
	first, last := len(spans), len(spans) // those between them are counted
	if sc.Width > 0 && !full && len(spans) > maxSpans+1 {
		first, last = maxSpans/2, len(spans)-maxSpans/2
	}
	between := 0
	for i := range spans {
		n := &spans[i]
		if first <= i && i < last {
			if between += n.Tokens; i == last-1 {
				t.Row("…", fmt.Sprintf("%d more like these", last-first), term.Roughly(between), "",
					"--full shows them")
			}
			continue
		}
		ids := fmt.Sprint(n.First)
		if n.Last > n.First {
			ids = fmt.Sprintf("%d–%d", n.First, n.Last)
		}
		what := verdictWords[n.Verdict]
		if n.Messages > 1 {
			what = fmt.Sprintf("%d %s", n.Messages, strings.Replace(what, "result ", "results ", 1))
		}
		t.Row(ids, verdictLook[n.Verdict].sign+" "+what, term.Roughly(n.Tokens), term.OneLine(n.Role, 9),
			term.OneLine(n.Words, 120))
	}
	if sc.Width > 0 {
		t.Fit(sc.Width, 30, 3, 2) // who, tokens
	}
	t.Draw(b)
	for _, in := range p.Inserted {
		if in.Kind == "recall" {
			b.WriteString("\n")
			paragraph(b, sc, "recalled %s of messages %s, put into message %d",
				term.Plural(in.Tokens, "token", "tokens"), recalledIDs(in.Block), in.Into)
			continue
		}
		fmt.Fprintf(b, "\n%s\n",
			sc.Style.Bold(fmt.Sprintf("%s in message %d, %s", in.Kind, in.Into,
				term.Plural(in.Tokens, "token", "tokens"))))
		for _, line := range term.Markdown(in.Text, sc) {
			fmt.Fprintln(b, line)
		}
	}
	if p.Thinking != nil {
		b.WriteString("\n")
		paragraph(b, sc, "− %s", lostThinking(p.Thinking))
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(b, "! %s\n", term.OneLine(w, 400))
	}
	if p.Summary.Error != "" {
		fmt.Fprintf(b, "! %s\n", term.OneLine(p.Summary.Error, 400))
	}
	b.WriteString("\n")
}

// wayBack says how to bring back what left with the last of plans, or with the newest one
// before it if nothing left with that one.
func wayBack(conversation string, plans []report.Plan) string {
	asked := &plans[len(plans)-1]
	for i := len(plans) - 1; i >= 0; i-- {
		p := &plans[i]
		n := p.LeftCount
		switch {
		case n == 0:
		case p.Held && p == asked:
			return fmt.Sprintf("oriel release %s lets them leave again", conversation)
		case p.Held:
		case p == asked:
			return fmt.Sprintf("oriel undo %s %s brings back %s that left with it", conversation, p.ID,
				term.Plural(n, "message", "messages"))
		default:
			return fmt.Sprintf("nothing left with %s; oriel undo %s %s brings back %s that left with %s", asked.ID,
				conversation, p.ID, term.Plural(n, "message", "messages"), p.ID)
		}
	}
	return fmt.Sprintf("nothing left with %s", asked.ID)
}

// paragraph writes a text, wrapped to the screen.
func paragraph(b *bytes.Buffer, sc term.Screen, format string, args ...any) {
	for line := range strings.SplitSeq(term.Printable(fmt.Sprintf(format, args...)), "\n") {
		if sc.Width == 0 {
			fmt.Fprintln(b, line)
			continue
		}
		for _, l := range term.Wrap(line, sc.Width, 0) {
			fmt.Fprintln(b, l)
		}
	}
}

// recalledIDs writes the ids of recalled messages, each once.
func recalledIDs(blocks string) string {
	var out []string
	for _, b := range strings.Fields(blocks) {
		if len(out) == 0 || out[len(out)-1] != b {
			out = append(out, b)
		}
	}
	return strings.Join(out, " ")
}

// verdictWords are what became of messages, in words.
var verdictWords = map[window.Verdict]string{
	window.Keep:  "sent",
	window.Trim:  "shortened",
	window.Mask:  "result cleared",
	window.Fold:  "in the digest",
	window.Evict: "left out",
}
