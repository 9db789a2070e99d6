package window

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
)

// Rules for the first message in condense.
const (
	FirstKeep       = "keep"
	FirstDirectives = "directives"
	FirstSummarise  = "summarise"
)

// condenseMiddle replaces the middle by a summary: the first message and the
// newest KeepRecent (default 3) stay. The summary is added to the first
// message that stays, with a marker. If condensing fails, or its result is
// still over budget, it halves the history if the request exceeds what is
// allowed; otherwise it leaves the history unchanged and reports the error
// (SPEC B3).
func condenseMiddle(ctx context.Context, d *draft, s *settings) error {
	try := d.clone()
	err := try.summarise(ctx, s)
	switch {
	case err == nil && try.tokens() > s.Budget:
		err = fmt.Errorf("the summary leaves %d tokens, over the budget of %d", try.tokens(), s.Budget)
	case err == nil && try.tokens() >= d.tokens():
		err = condense.ErrLarger
	}
	if err == nil {
		*d = *try
		return nil
	}
	d.summary = Summary{Cost: try.summary.Cost, Error: err.Error()}
	if s.Trigger.Over {
		return halve(ctx, d, s)
	}
	return nil
}

func (d *draft) summarise(ctx context.Context, s *settings) error {
	recent := s.KeepRecent
	if recent <= 0 {
		recent = 3
	}
	h := d.h
	first := h.firstPrompt()
	var span []chat.Message
	// The cut is moved to a legal one, which may keep everything: then it is
	// moved the other way.
	for ; recent > 0 && len(span) == 0; recent-- {
		d.drop(func(e int) bool {
			x := h.Cuts.Exchanges[e]
			if h.pinnedExchange(e) || x.End > len(h.Messages)-recent {
				return false
			}
			holdsFirst := first >= x.Start && first < x.End
			return !holdsFirst || s.First == FirstSummarise || s.First == FirstDirectives
		}, "condensed")
		span = d.leaving()
	}
	if len(span) == 0 {
		return condense.ErrNothing
	}
	c := s.Condenser
	if c == nil {
		c = condense.Extractive{}
	}
	message, part, previous := d.earlier()
	out, err := condense.Run(ctx, c, condense.Input{Messages: span, Previous: previous, Max: s.summaryMax(),
		Count: h.Count, Tool: h.recallTool, Omit: s.Omit})
	d.pay(out, err)
	if err != nil {
		return err
	}
	text := out.Text
	if s.First == FirstDirectives && first >= 0 {
		text += directives(&h.Messages[first])
	}
	d.summary.Text = text
	d.folded, d.byModel = true, writtenByModel(c, out)
	if message >= 0 {
		d.replace(message, part, "summary", text)
	} else {
		d.insert("summary", text)
	}
	return nil
}

// directives returns the lines of a message that say how to work rather than
// what to do.
func directives(m *chat.Message) string {
	var b strings.Builder
	for i := range m.Parts {
		if m.Parts[i].Kind != chat.Text {
			continue
		}
		for line := range strings.Lines(m.Parts[i].Text.String()) {
			if directive.MatchString(line) {
				b.WriteString("\n" + strings.TrimSpace(line))
			}
		}
	}
	return b.String()
}

var directive = regexp.MustCompile(
	`(?i)\b(always|never|must(?: not)?|do not|don't|from now on|make sure|prefer|only use|call me)\b|<command`)
