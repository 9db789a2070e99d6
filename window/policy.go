package window

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/prompt"
)

// settings are the options of one decision with their defaults filled in:
// Budget, Low and Mode are set, and Words is 0 if people's words are not
// protected.
type settings struct {
	Options
	// Trigger is why the policy runs.
	Trigger Trigger
}

// recovering returns the settings after a refusal: whatever the count, the
// request gets smaller, and no model is called.
func (s settings) recovering(tokens int) settings {
	s.Budget = min(s.Budget, tokens-max(1, tokens/10))
	s.Low = min(s.Low, s.Budget)
	s.Condenser = nil
	return s
}

func (s *settings) summaryMax() int {
	if s.SummaryMax > 0 {
		return s.SummaryMax
	}
	return max(64, min(1024, s.Budget/10))
}

// policy decides what leaves. It is pure: the same history and settings give
// the same draft.
type policy func(ctx context.Context, d *draft, s *settings) error

// policies maps names to policies.
var policies = map[string]policy{
	"fifo":      fifo,
	"slide":     slide,
	"halve":     halve,
	"condense":  condenseMiddle,
	"relevance": relevance,
	"mask":      maskResults,
	"ladder":    ladder,
}

// Policies returns the names of the policies for requests.
func Policies() []string {
	var names []string
	for n := range policies {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// ErrCannotFit reports that what must stay is larger than the budget.
var ErrCannotFit = errors.New("cannot fit")

// decide runs a policy and then brings the result within bounds.
func decide(ctx context.Context, h *History, name string, s settings) (*draft, error) {
	if s.MaxItems < 0 {
		return nil, fmt.Errorf("a limit of %d messages: it must be 0, for the default, or more", s.MaxItems)
	}
	run, ok := policies[name]
	if !ok {
		return nil, fmt.Errorf("unknown policy %q: use one of %s, or trajectory for a trajectory", name,
			strings.Join(Policies(), ", "))
	}
	before := h.Total()
	d := newDraft(h)
	if !s.Trigger.Manages() && s.Mode != Recovery {
		return d, nil
	}
	if s.Mode == Recovery {
		for _, x := range h.Cuts.Exchanges {
			if x.Fixed != "" && x.Broken != "" {
				return nil, fmt.Errorf(
					"%w: message %d must stay and is broken as it came (%s): no cut makes this request acceptable",
					ErrCannotFit, x.Start, x.Broken)
			}
		}
		s = s.recovering(before)
	}
	if s.Words > 0 {
		most := min(s.Words, s.Budget)
		// Half of what a cut leaves for the messages is for the newest
		// replies.
		d.words = h.words(most-markerRoom, h.Base+(min(s.Low-s.summaryMax(), most*3/4)-h.Base)/2)
	}
	if err := run(ctx, d, &s); err != nil {
		return nil, err
	}
	if s.Mode == Soft {
		if before-d.tokens() < before/10 && !s.forcedSoft(d) {
			declined := newDraft(h)
			declined.summary = d.summary
			return declined, nil
		}
		return d, nil
	}
	if !d.changed() && !s.Trigger.Over {
		return d, nil
	}
	return d, fitWithin(d, &s)
}

// forcedSoft reports whether a soft cut is made although it saves little: a
// policy that counts messages and not tokens has its own measure.
func (s *settings) forcedSoft(d *draft) bool { return s.MaxItems > 0 && d.changed() }

// fitWithin brings a draft that is still over the budget within it: the digest
// and the oldest exchanges leave, then pinned ones, and finally the middles of
// what must stay are clipped (SPEC A4, E4).
func fitWithin(d *draft, s *settings) error {
	if d.tokens() <= s.Budget {
		return nil
	}
	// A digest is worth less than what it would displace.
	d.unfold(s.Budget)
	large := d.core() > s.Budget
	if large {
		// What must stay is too large by itself. Leave a quarter of the room
		// for the rest, unless the newest words could then not stay whole.
		d.trimBeside(func(d *draft) int { return d.core() - s.Budget*3/4 },
			func(d *draft) bool { return d.core()+d.leastMarker() <= s.Budget })
	}
	for protected := d.top(); protected >= pinned; protected-- {
		evictTo(d, s.Budget-markerRoom, protected)
	}
	d.evictPins(s.Budget)
	if large { // what it displaced gets a quarter
		d.readmit(s.Budget - markerRoom)
	} else {
		d.readmitLost(s.Budget - markerRoom)
	}
	d.mark(s.Budget)
	if d.tokens() > s.Budget {
		d.trimBeside(func(d *draft) int { return d.tokens() - s.Budget },
			func(d *draft) bool { return d.tokens() <= s.Budget })
	}
	d.relax(s.Budget-d.tokens(), clippedLarge)
	if over := d.tokens() - s.Budget; over > 0 {
		return d.cannotFit(d.tokens(), s.Budget)
	}
	return nil
}

// evictPins drops pinned exchanges if no set with all of them fits: oldest
// first, no more than needed.
func (d *draft) evictPins(budget int) {
	if d.tokens() <= budget-markerRoom {
		return
	}
	marked := d.clone()
	if marked.mark(budget); marked.tokens() <= budget {
		return
	}
	if !d.lostPins() {
		if p := d.pinsAlone(budget); p != nil {
			*d = *p
			return
		}
	}
	evictTo(d, budget-markerRoom, nothing)
}

// cannotFit returns an error with the numbers of what does not fit.
func (d *draft) cannotFit(tokens, budget int) error {
	frame := d.h.Base
	if x := d.h.Cuts.Exchanges; len(x) > 0 && x[0].First == chat.Preamble {
		frame += d.h.exchangeTokens(0)
	}
	frame = max(0, frame)
	return fmt.Errorf("%w: system prompt, tools and structure have %d tokens and the newest turn, elided, %d; that is %d over the budget of %d: raise the budget, or send less system prompt and fewer tools",
		ErrCannotFit, frame, tokens-frame, tokens-budget, budget)
}

// markerRoom is left free for the marker.
const markerRoom = 64

// leastMarker returns the size of the shortest marker if everything leaves
// that may.
func (d *draft) leastMarker() int {
	messages, tokens := 0, 0
	for e, x := range d.h.Cuts.Exchanges {
		if x.Fixed == "" {
			messages, tokens = messages+x.End-x.Start, tokens+d.h.exchangeTokens(e)
		}
	}
	if messages == 0 {
		return 0
	}
	return d.h.Count(fmt.Sprintf(prompt.MissingShort, messages, tokens)) + insertOverhead
}

// core returns the size of what must stay.
func (d *draft) core() int {
	n := d.h.Base - d.saved
	for e, x := range d.h.Cuts.Exchanges {
		if x.Fixed != "" {
			n += d.h.exchangeTokens(e)
		}
	}
	return n
}

// What evictTo protects.
const (
	nothing = iota
	pinned
	firstAndPinned
	wordsToo
)

// top returns the highest protection that can be kept.
func (d *draft) top() int {
	if d.words != nil {
		return wordsToo
	}
	return firstAndPinned
}

// evictTo drops the oldest exchanges until the draft is within the target, no
// more than needed. protected selects what stays: what people wrote, the first
// prompt, pinned exchanges.
func evictTo(d *draft, target, protected int) {
	if d.tokens() <= target {
		return
	}
	first := d.h.firstPrompt()
	var order []int
	for e, x := range d.h.Cuts.Exchanges {
		if !d.keep[e] || x.Fixed != "" {
			continue
		}
		if protected >= pinned && d.h.pinnedExchange(e) ||
			protected >= firstAndPinned && first >= x.Start && first < x.End {
			continue
		}
		if protected >= wordsToo && (d.words[e] || d.brief != nil && d.brief[e]) {
			continue
		}
		order = append(order, e)
	}
	evictInOrder(d, order, target, [...]string{"pinned, but nothing else was left", "the first turn, to make room",
		"oldest", "oldest"}[protected])
}

// evictInOrder drops as few of the exchanges as bring the draft within the
// target, in the given order.
func evictInOrder(d *draft, order []int, target int, reason string) {
	evictUntil(d, order, func(d *draft) bool { return d.tokens() <= target }, reason)
}

// evictUntil drops the fewest of the exchanges for which enough holds, or all
// of them if it never does. The size only falls as more leave, so the number
// is found by bisection.
func evictUntil(d *draft, order []int, enough func(*draft) bool, reason string) {
	if len(order) == 0 || enough(d) {
		return
	}
	rank := make(map[int]int, len(order))
	for i, e := range order {
		rank[e] = i
	}
	without := func(n int) *draft {
		try := d.clone()
		try.drop(func(e int) bool { i, ok := rank[e]; return ok && i < n }, reason)
		return try
	}
	low, high := 1, len(order) // the smallest sufficient n is in this range
	for low < high {
		if mid := (low + high) / 2; enough(without(mid)) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	*d = *without(low)
}

// clone copies what drop changes.
func (d *draft) clone() *draft {
	c := *d
	c.keep = slices.Clone(d.keep)
	c.reason = slices.Clone(d.reason)
	c.masked, c.trimmed, c.cleared = maps.Clone(d.masked), maps.Clone(d.trimmed), maps.Clone(d.cleared)
	c.inserts, c.updated, c.warnings = slices.Clone(d.inserts), slices.Clone(d.updated), slices.Clone(d.warnings)
	return &c
}

// trimBeside shortens texts until over is 0, the newest words of the user
// last: if enough holds with these whole, they stay whole.
func (d *draft) trimBeside(over func(*draft) int, enough func(*draft) bool) {
	spare := d.clone()
	spare.trimLargest(over(spare), d.h.newestWords())
	if !enough(spare) {
		d.trimLargest(over(d), -1)
		return
	}
	*d = *spare
}

// newestWords returns the newest message in which the user says something, or
// -1.
func (h *History) newestWords() int {
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if h.Messages[i].Prompts() {
			return i
		}
	}
	return -1
}

// trimLargest shortens the largest texts of what stays until enough is saved, or
// nothing can be shortened further. The texts of message spared stay whole.
func (d *draft) trimLargest(enough, spared int) {
	type piece struct{ message, part, tokens int }
	var pieces []piece
	for e, k := range d.keep {
		if !k {
			continue
		}
		x := d.h.Cuts.Exchanges[e]
		if x.First == chat.Preamble {
			continue // the system prompt is never touched
		}
		for i := x.Start; i < x.End; i++ {
			for j := range d.h.Messages[i].Parts {
				p := &d.h.Messages[i].Parts[j]
				_, done := d.masked[partAt{i, j}]
				if i == spared && p.Kind == chat.Text {
					continue
				}
				if t := d.h.partTokens(i, j); clippable(p) && !done && t > clipFloor {
					pieces = append(pieces, piece{i, j, t - d.trimmed[partAt{i, j}].saves})
				}
			}
		}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return b.tokens - a.tokens })
	for _, p := range pieces {
		if enough <= 0 {
			return
		}
		before := d.saved
		text := partText(&d.h.Messages[p.message].Parts[p.part])
		short, _ := clip.Middle(text, max(clipFloor, p.tokens-enough-clipSlack), d.h.Count)
		d.trim(p.message, p.part, short, clippedLarge)
		enough -= d.saved - before
	}
}

// Reasons for which the middle of a text is missing.
const (
	clippedLarge = "larger than the window: the middle is elided"
	clippedReply = "a reply between what people wrote: the middle is elided"
)

// relax restores texts that were clipped for the given reason, as far as room
// allows: the newest words of the user first, then the texts that lost most.
func (d *draft) relax(room int, reason string) {
	newest := d.h.newestWords()
	var at []partAt
	for p := range d.trimmed {
		if d.trimmed[p].reason == reason {
			at = append(at, p)
		}
	}
	slices.SortFunc(at, func(a, b partAt) int {
		said := func(p partAt) int {
			if p.message == newest && d.h.Messages[p.message].Parts[p.part].Kind == chat.Text {
				return 0
			}
			return 1
		}
		return cmp.Or(said(a)-said(b), d.trimmed[b].saves-d.trimmed[a].saves, a.message-b.message, a.part-b.part)
	})
	for _, p := range at {
		part := &d.h.Messages[p.message].Parts[p.part]
		if saves := d.trimmed[p].saves; saves <= room { // all of it
			d.saved -= saves
			room -= saves
			delete(d.trimmed, p)
			continue
		}
		if room < 4*clipSlack {
			continue
		}
		now := d.h.partTokens(p.message, p.part) - d.trimmed[p].saves
		longer, _ := clip.Middle(partText(part), now+room-2*clipSlack, d.h.Count)
		before := d.saved
		d.trim(p.message, p.part, longer, d.trimmed[p].reason)
		room -= before - d.saved
	}
}

const (
	// clipFloor is the least that is left of a text.
	clipFloor = 16
	// clipSlack compensates for the difference between the count of a whole
	// and of its parts.
	clipSlack = 16
)

// clippable reports whether a part's text can be shortened in place.
func clippable(p *chat.Part) bool {
	return p.Kind == chat.Text && !p.Text.Empty() && !p.Signed && !inserted(*p) ||
		p.Kind == chat.Result && replaceable(p) &&
			!slices.ContainsFunc(p.Parts, func(q chat.Part) bool { return q.Kind == chat.Catalog })
}

// partText returns the words of a text or a result.
func partText(p *chat.Part) string {
	if p.Kind == chat.Text || p.Parts == nil {
		return p.Text.String()
	}
	var b strings.Builder
	for i := range p.Parts {
		switch q := &p.Parts[i]; q.Kind {
		case chat.Text:
			b.WriteString(q.Text.String())
		default:
			b.WriteString(clip.Note(q))
		}
		if i < len(p.Parts)-1 {
			b.WriteString("\n")
		}
	}
	return b.String()
}
