package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/oriel-context/oriel/internal/term"
	"github.com/oriel-context/oriel/window"
)

// drawPlan draws a plan for people: a bar for each message, coloured by its
// verdict, and the sizes before and after.
func drawPlan(out io.Writer, p *window.Plan, s term.Style) error {
	var b bytes.Buffer
	largest := 1
	for _, k := range p.Blocks {
		largest = max(largest, k.Tokens)
	}
	digits := len(strconv.Itoa(len(p.Blocks)))
	b.WriteString("\n")
	for _, k := range p.Blocks {
		look := verdictLook[k.Verdict]
		fill := term.Bar(k.Tokens, largest, 24)
		fill = s.Code(look.colour, fill) + strings.Repeat(" ", 24-len([]rune(term.Bar(k.Tokens, largest, 24))))
		pin := " "
		if k.Pinned {
			pin = "*"
		}
		fmt.Fprintf(&b, "%*d %-9s%s %s %7s  %s %s\n", digits, k.Index, term.OneLine(string(k.Role), 9), pin, fill,
			term.Thousands(k.Tokens),
			s.Code(look.colour, look.sign+" "+string(k.Verdict)), s.Code("2", k.Reason))
	}
	for _, in := range p.Inserted {
		fmt.Fprintf(&b, "%*s + %s in message %d, %s tokens: %s\n", digits, "", s.Bold(in.Kind), in.Into,
			term.Thousands(in.Tokens), s.Code("2", term.OneLine(in.Text, 72)))
	}
	if t := p.Thinking; t != nil {
		fmt.Fprintf(&b, "%*s − %s\n", digits, "", lostThinking(t))
	}
	if t := p.Trajectory; t != nil {
		fmt.Fprintf(&b, "%*s %s removed (%s in all), %s truncated\n", digits, "",
			term.Plural(t.Removed, "interaction", "interactions"), term.Thousands(t.RemovedTotal),
			term.Plural(t.Truncated, "result", "results"))
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "%*s ! %s\n", digits, "", w)
	}
	if p.Summary.Error != "" {
		fmt.Fprintf(&b, "%*s ! %s\n", digits, "", p.Summary.Error)
	}
	share := 0.0
	if p.TokensBefore > 0 {
		share = 100 * float64(p.TokensAfter) / float64(p.TokensBefore)
	}
	fmt.Fprintf(&b, "\n%s → %s tokens (%.0f%%), budget %s, policy %s: %s\n", term.Thousands(p.TokensBefore),
		s.Bold(term.Thousands(p.TokensAfter)),
		share, term.Thousands(p.Budget), p.Policy, p.Action)
	_, err := out.Write(b.Bytes())
	return err
}

// lostThinking says what thinking messages lost although they are sent.
func lostThinking(t *window.LostThinking) string {
	return fmt.Sprintf("%s of thinking, %s, not sent: the model accepts it only behind what it saw (%s)",
		term.Plural(t.Blocks, "block", "blocks"), term.Plural(t.Tokens, "token", "tokens"),
		term.Plural(t.Messages, "message", "messages"))
}

// verdictLook is how each verdict is drawn: an ANSI colour, and a sign that
// also works without colours.
var verdictLook = map[window.Verdict]struct{ colour, sign string }{
	window.Keep:  {"32", "●"},
	window.Trim:  {"33", "◐"},
	window.Mask:  {"36", "◌"},
	window.Fold:  {"35", "▽"},
	window.Evict: {"31", "×"},
}
