package window

import (
	"slices"

	"github.com/oriel-context/oriel/chat"
)

// draft is a plan in the making: what stays, what replaces the rest, and the
// size of the result.
type draft struct {
	h *History
	// keep has one flag per exchange; it is always a legal set.
	keep []bool
	// words marks the exchanges that stay because of what people wrote in
	// them; nil if that is not asked for.
	words []bool
	// brief marks short exchanges that stay beside people's words; see ladder.
	brief []bool
	// newestOnly reports that the policy keeps the newest messages without
	// gaps, so that nothing older comes back.
	newestOnly bool
	// reason is why an exchange left.
	reason []string
	// masked and trimmed are the new texts of parts, by message and part.
	masked, trimmed edits
	// cleared are the calls whose arguments are emptied.
	cleared edits
	// inserts are texts to add to kept messages.
	inserts []insert
	// updated are insertions of an earlier pass that got a new text.
	updated []insert
	summary Summary
	folded  bool
	// byModel reports that a model wrote the summary, not the rules.
	byModel bool
	// warnings go into the plan besides its verdicts.
	warnings []string
	// saved is the number of tokens saved by masking and trimming, gone that
	// of what left.
	saved, gone int
}

// edit is the new text of one part.
type edit struct {
	text   string
	reason string
	saves  int
}

// partAt identifies a part of a message.
type partAt struct{ message, part int }

// edits maps parts to their new texts.
type edits map[partAt]edit

// of lists the edited parts of a message, in order.
func (e edits) of(m *chat.Message, message int) []int {
	if len(e) == 0 {
		return nil
	}
	var parts []int
	for j := range m.Parts {
		if _, ok := e[partAt{message, j}]; ok {
			parts = append(parts, j)
		}
	}
	return parts
}

type insert struct {
	kind string
	text string
	// into is the message that receives the text; after reports that the text
	// follows the message's own words.
	into   int
	after  bool
	tokens int
}

func newDraft(h *History) *draft {
	n := len(h.Cuts.Exchanges)
	return &draft{
		h: h, keep: slices.Repeat([]bool{true}, n), reason: make([]string, n),
		masked: edits{}, trimmed: edits{}, cleared: edits{},
	}
}

// tokens returns the size of the request as it would be sent.
func (d *draft) tokens() int {
	n := d.h.Total() + d.h.unsaved - d.gone - d.saved
	for _, in := range d.inserts {
		n += in.tokens
	}
	return n
}

// drop leaves out the given exchanges, and whatever the rules of providers require
// in addition.
func (d *draft) drop(gone func(e int) bool, reason string) {
	d.settle(func(e int) bool { return d.keep[e] && !gone(e) }, reason)
}

// settle sets the legal set nearest to keeping the given exchanges; reason is
// why others leave.
func (d *draft) settle(stays func(e int) bool, reason string) {
	want := make([]bool, len(d.keep))
	for e := range want {
		want[e] = stays(e)
	}
	keep := d.h.Cuts.Keep(want)
	for e := range keep {
		switch {
		case d.keep[e] && !keep[e]:
			d.gone += d.h.exchangeTokens(e)
		case keep[e] && !d.keep[e]: // another cut needs it after all
			d.gone -= d.h.exchangeTokens(e)
			d.reason[e] = ""
		}
		if !keep[e] && d.reason[e] == "" {
			d.reason[e] = reason
			if b := d.h.Cuts.Exchanges[e].Broken; b != "" {
				d.reason[e] = "broken as it came: " + b
			}
			d.forget(e)
		}
	}
	d.keep = keep
}

// forget removes the edits of an exchange that left, because their savings
// left with it.
func (d *draft) forget(e int) {
	for i := d.h.Cuts.Exchanges[e].Start; i < d.h.Cuts.Exchanges[e].End; i++ {
		d.saved -= d.savedOf(i)
		for _, all := range []edits{d.masked, d.trimmed, d.cleared} {
			for _, j := range all.of(&d.h.Messages[i], i) {
				delete(all, partAt{i, j})
			}
		}
	}
}

// mask replaces a result by a stub, if that saves anything.
func (d *draft) mask(message, part int, stub, reason string) bool {
	return d.edit(d.masked, message, part, stub, reason)
}

// trim replaces a text by a shorter one.
func (d *draft) trim(message, part int, text, reason string) bool {
	return d.edit(d.trimmed, message, part, text, reason)
}

func (d *draft) edit(into edits, message, part int, text, reason string) bool {
	saves := d.h.partTokens(message, part) - d.h.withText(message, part, text)
	if saves <= 0 {
		return false
	}
	at := partAt{message, part}
	d.saved += saves - into[at].saves
	into[at] = edit{text, reason, saves}
	return true
}

// insert adds a text at the first gap: after the words of the nearest prompt
// before it, or before those of the first prompt after it. It never puts it
// directly after tool results, nor in a message of its own, which could make
// two messages of one role adjacent.
func (d *draft) insert(kind, text string) {
	gap := slices.Index(d.keep, false)
	if gap < 0 {
		gap = 0
	}
	in := insert{kind: kind, text: text, into: -1, tokens: d.h.Count(text) + insertOverhead}
	for e := gap - 1; e >= 0 && in.into < 0; e-- {
		in.into, in.after = d.prompt(e), true
	}
	for e := gap; e < len(d.keep) && in.into < 0; e++ {
		in.into, in.after = d.prompt(e), false
	}
	if in.into < 0 {
		d.warnings = append(d.warnings, "no user message is left that could tell the model what is missing")
		return
	}
	d.inserts = append(d.inserts, in)
}

// insertOverhead is what a further text part costs besides its text.
const insertOverhead = 4

// prompt returns a message of a kept exchange that can take a text, or -1.
func (d *draft) prompt(e int) int {
	x := d.h.Cuts.Exchanges[e]
	if !d.keep[e] || x.First != chat.Question {
		return -1
	}
	for i := x.End - 1; i >= x.Start; i-- {
		if d.h.Messages[i].Role == chat.User {
			return i
		}
	}
	return -1
}

// removed returns the number of messages that left, and their tokens.
func (d *draft) removed() (messages, tokens int) {
	for e, k := range d.keep {
		if !k {
			messages += d.h.Cuts.Exchanges[e].End - d.h.Cuts.Exchanges[e].Start
			tokens += d.h.exchangeTokens(e)
		}
	}
	return messages, tokens
}

// clearArguments empties the arguments of a call.
func (d *draft) clearArguments(message, part int) {
	at := partAt{message, part}
	if _, done := d.cleared[at]; done || d.h.Pinned[message] || d.h.Messages[message].Parts[part].Signed ||
		d.h.Messages[message].Parts[part].Arguments() == noArguments {
		return
	}
	saves := max(0, d.h.partTokens(message, part)-d.h.withoutArguments(message, part))
	d.saved += saves
	d.cleared[at] = edit{noArguments, "the result is masked: the arguments are emptied", saves}
}

// noArguments is what is left of the arguments of a call.
const noArguments = "{}"

// savedOf returns the tokens that the edits of a message save.
func (d *draft) savedOf(i int) (n int) {
	for _, all := range []edits{d.masked, d.trimmed, d.cleared} {
		for _, j := range all.of(&d.h.Messages[i], i) {
			n += all[partAt{i, j}].saves
		}
	}
	return n
}

// changed reports whether the draft does anything.
func (d *draft) changed() bool {
	return slices.Contains(d.keep, false) || len(d.masked) > 0 || len(d.trimmed) > 0 || len(d.cleared) > 0
}
