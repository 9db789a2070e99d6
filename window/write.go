package window

import (
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/token"
	"github.com/oriel-context/oriel/wire"
)

// write makes the messages of a draft and its plan. The sizes in a draft are
// sums of parts; write counts the result again, and clips a little more if
// that exceeds the budget.
func (f *fitting) write(d *draft) (*View, error) {
	if !d.changed() {
		whole := make([]wire.Piece, len(d.h.Messages))
		for i := range whole {
			whole[i].Index = i
		}
		return &View{whole, f.plan(d, f.history.Total())}, nil
	}
	tight := f.settings
	for try := 0; ; try++ {
		view, tokens, err := f.view(d)
		if err != nil {
			return nil, err
		}
		over := tokens - f.settings.Budget
		if over <= 0 || f.settings.Mode == Soft {
			return &View{view, f.plan(d, tokens)}, nil
		}
		before := d.tokens()
		tight.Budget = min(tight.Budget, before) - over - clipSlack
		if err := fitWithin(d, &tight); err != nil || try == 8 || d.tokens() >= before {
			return nil, d.cannotFit(tokens, f.settings.Budget)
		}
	}
}

// plan returns the plan of a draft of a request.
func (f *fitting) plan(d *draft, tokens int) *Plan {
	p := d.plan(f.policy, f.settings.model(&f.request.Request), &f.settings, tokens, f.warnings)
	p.Low, p.Grown = f.low, f.grown
	return p
}

// view makes the messages that are sent and counts them.
func (f *fitting) view(d *draft) ([]wire.Piece, int, error) {
	kept := d.h.Cuts.Messages(d.keep)
	var view []wire.Piece
	sent := f.request.Sizes
	sent.Messages = make([]token.Size, 0, len(d.h.Messages))
	for i := range d.h.Messages {
		if !kept[i] {
			continue
		}
		raw, err := f.edited(d, i)
		if err != nil {
			return nil, 0, fmt.Errorf("message %d: %w", i, err)
		}
		view = append(view, wire.Piece{Index: i, Raw: raw})
		if raw == nil {
			sent.Messages = append(sent.Messages, f.request.Sizes.Messages[i])
			continue
		}
		m, err := wire.ReadMessage(f.request.Format, raw)
		if err != nil {
			return nil, 0, fmt.Errorf("message %d: %w", i, err)
		}
		sent.Messages = append(sent.Messages, f.request.Counter.Size(&m))
	}
	return view, f.request.Counter.Sum(sent).Total, nil
}

// edited returns a message with its masks, trims and insertions, or nil if it
// has none.
func (f *fitting) edited(d *draft, i int) ([]byte, error) {
	var results, texts map[int]string
	for _, all := range []edits{d.masked, d.trimmed} {
		for _, j := range all.of(&d.h.Messages[i], i) {
			into := &results
			if d.h.Messages[i].Parts[j].Kind == chat.Text {
				into = &texts
			}
			if *into == nil {
				*into = map[int]string{}
			}
			(*into)[j] = all[partAt{i, j}].text
		}
	}
	raw := d.h.Messages[i].Raw
	format := f.request.Format
	var err error
	changed := false
	step := func(next []byte, e error) {
		raw, err, changed = next, e, true
	}
	if calls := d.cleared.of(&d.h.Messages[i], i); len(calls) > 0 {
		parts := map[int]bool{}
		for _, j := range calls {
			parts[j] = true
		}
		step(wire.ClearArguments(format, raw, parts))
	}
	if err == nil && len(results) > 0 {
		step(wire.ReplaceResults(format, raw, results))
	}
	if err == nil && len(texts) > 0 {
		step(wire.ReplaceTexts(format, raw, texts))
	}
	for _, in := range d.inserts {
		if in.into != i || err != nil {
			continue
		}
		if in.after {
			step(wire.AppendText(format, raw, in.text))
		} else {
			step(wire.PrependText(format, raw, in.text))
		}
	}
	if err != nil || !changed {
		return nil, err
	}
	return raw, nil
}

// plan returns the plan of a draft.
func (d *draft) plan(policy, model string, s *settings, tokens int, warnings []string) *Plan {
	p := NewPlan(policy, model, s.Budget, s.Low)
	p.Mode, p.TokensBefore, p.TokensAfter = s.Mode, d.h.Total(), tokens
	p.Summary, p.Warnings = d.summary, slices.Concat(warnings, d.warnings)
	for e, x := range d.h.Cuts.Exchanges {
		for i := x.Start; i < x.End; i++ {
			b := Block{Index: i, Role: d.h.Messages[i].Role, Tokens: d.h.Tokens[i], Pinned: d.h.Pinned[i]}
			b.Verdict, b.Reason = d.verdict(e, i)
			b.Lost = d.savedOf(i)
			p.Judge(b)
		}
	}
	if len(d.trimmed) > 0 { // perhaps only an insertion of an earlier pass
		p.Raise("trim")
	}
	if d.folded && d.byModel {
		p.Raise("condense")
	}
	for _, in := range slices.Concat(d.inserts, d.updated) {
		p.Insert(Insertion{Kind: in.kind, Into: in.into, Tokens: in.tokens, Text: in.text})
	}
	return p
}

// verdict returns the verdict on a message, and the reason.
func (d *draft) verdict(e, i int) (Verdict, string) {
	x := &d.h.Cuts.Exchanges[e]
	masked, trimmed := d.masked.of(&d.h.Messages[i], i), d.trimmed.of(&d.h.Messages[i], i)
	cleared := d.cleared.of(&d.h.Messages[i], i)
	switch {
	case !d.keep[e] && d.folded:
		return Fold, d.reason[e]
	case !d.keep[e]:
		return Evict, d.reason[e]
	case len(masked) > 0:
		return Mask, d.masked[partAt{i, masked[0]}].reason
	case len(cleared) > 0:
		return Mask, d.cleared[partAt{i, cleared[0]}].reason
	case len(trimmed) > 0 && !d.onlyUpdated(i, len(trimmed)):
		return Trim, d.trimmed[partAt{i, trimmed[0]}].reason
	case d.h.Pinned[i]:
		return Keep, "pinned"
	case i == d.h.firstPrompt():
		return Keep, "first message"
	case x.Fixed != "":
		return Keep, x.Fixed
	}
	return Keep, "fits"
}

// onlyUpdated reports whether nothing of a message changed except an insertion
// of an earlier pass.
func (d *draft) onlyUpdated(i, edited int) bool {
	for _, in := range d.updated {
		if in.into == i {
			return edited == 1
		}
	}
	return false
}
