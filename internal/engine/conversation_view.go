package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/internal/engine/fault"
	"github.com/oriel-context/oriel/internal/prompt"
	"github.com/oriel-context/oriel/items"
)

const (
	// hiddenMark tells the model that it does not see everything. It never changes, so
	// that prompt caches can keep it.
	hiddenMark = prompt.Hidden
	// assistantFirst precedes an assistant's message at the beginning, because providers
	// require that the user begins.
	assistantFirst = prompt.AssistantFirst

	titleRelevant = prompt.TitleRelevant

	// framing is the number of tokens that a provider adds to a message.
	framing = 4
)

// kindMarker is the kind of an insertion that only says that something is not shown.
const kindMarker = "marker"

// opening returns a digest or a mark as an item: it has no id and no source, and sorts
// before all others.
func opening(text string) items.Item { return items.Item{Content: text} }

func isOpening(it items.Item) bool { return it.ID == 0 }

// inserted is a text that a view begins with.
type inserted struct{ kind, text string }

// draft is a view that is being composed.
type draft struct {
	recent, relevant []items.Item // in the order of time; digest and marker come first
	query            string       // without its middle if it is too large
	text             string
	tokens           int
	messages         []chat.Message
	openings         []inserted // what the messages begin with
	into             int        // the message that has relevant
}

// compose makes the view.
func (s *viewInput) compose() (*draft, error) {
	marked := s.hidden && s.digest == ""
	d, err := s.attempt(marked)
	if err == nil && !marked && s.leavesOut(d) {
		return s.attempt(true)
	}
	return d, err
}

// fitDigest sets the digest that the view has room for beside the query and the newest item:
// a quarter of that room.
func (s *viewInput) fitDigest(ctx context.Context) {
	room := s.budget - s.count(items.AssembleText(nil, nil, s.query))
	if n := len(s.items); n > 0 && s.asked < 0 {
		room -= min(s.itemCost(&s.items[n-1]), max(0, room/2))
	}
	s.digest, s.digestKind = s.note.within(ctx, room/4-s.count("\n\n"), s.count)
}

// leavesOut reports whether an item of the window is not shown.
func (s *viewInput) leavesOut(d *draft) bool {
	n := len(s.items)
	if s.asked >= 0 {
		n--
	}
	return len(d.recent) < n
}

// part splits the items into kept, which get their room first, and the rest. Kept are the
// digest, the marker, if marked, and pinned and held items. The newest item is sure of its
// own size or half of the room. used is the size of kept.
func (s *viewInput) part(marked bool) (kept, rest []items.Item, used int) {
	all := s.items
	if s.asked >= 0 {
		all = all[:s.asked]
	}
	if s.digest != "" {
		kept = append(kept, opening(s.digest))
	}
	if marked {
		kept = append(kept, opening(hiddenMark))
	}
	room := s.budget - s.count(items.AssembleText(kept, nil, s.query))
	rest = all
	if room > 0 && len(all) > 0 {
		newest := len(all) - 1
		spare := room - min(s.itemCost(&all[newest]), room/2)
		rest = []items.Item{all[newest]}
		for i := newest - 1; i >= 0; i-- {
			if it := &all[i]; !s.keeps(it) {
				rest = append(rest, *it)
			} else if n := s.itemCost(it); n <= spare {
				kept = append(kept, *it)
				spare -= n
			}
		}
		slices.Reverse(rest)
	}
	for i := range kept {
		used += s.itemCost(&kept[i])
	}
	return kept, rest, used
}

// reserve returns the items that the view will show in any case, and the room that is
// left for relevant ones: their share, and what recent items do not use.
func (s *viewInput) reserve() (shown map[int64]*items.Item, room int) {
	kept, rest, used := s.part(s.hidden && s.digest == "")
	shown = map[int64]*items.Item{}
	for i := range kept {
		if !isOpening(kept[i]) {
			shown[kept[i].ID] = &kept[i]
		}
	}
	room = s.budget - used - s.count(items.AssembleText(nil, nil, s.query))
	half := int(float64(room) * cmp.Or(s.share, 0.5))
	if n := len(rest); n > 0 { // as items.Assemble has it
		half = max(half, min(s.itemCost(&rest[n-1]), (room+1)/2))
	}
	spare := half
	for i := len(rest) - 1; i >= 0; i-- {
		n := s.itemCost(&rest[i])
		if n <= spare || i == len(rest)-1 { // the newest is shown, if need be without its middle
			shown[rest[i].ID] = &rest[i]
		}
		if n > spare {
			return shown, room - half
		}
		spare -= n
	}
	return shown, room - half + spare
}

// attempt makes the view with or without the marker.
func (s *viewInput) attempt(marked bool) (*draft, error) {
	kept, rest, used := s.part(marked)
	relevant := slices.DeleteFunc(slices.Clone(s.relevant), func(it items.Item) bool {
		return it.ID != 0 && slices.ContainsFunc(kept, func(k items.Item) bool { return k.ID == it.ID }) ||
			s.asked >= 0 && it.ID == s.items[s.asked].ID
	})
	a := items.Assemble(rest, relevant, s.query, items.AssembleOptions{
		MaxTokens: max(1, s.budget-used), RecentShare: s.share, Count: s.count,
	})
	d := &draft{
		recent: append(kept, a.Recent...), relevant: a.Relevant,
		// The query follows everything else.
		query: a.Text[len(items.AssembleText(a.Recent, a.Relevant, "")):],
	}
	if s.digest != "" {
		shown := slices.Concat(d.recent[1:], d.relevant)
		if d.recent[0].Content = unrepeated(s.digest, shown); d.recent[0].Content == "" {
			s.bare(d)
		}
	}
	slices.SortStableFunc(d.recent,
		func(a, b items.Item) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) })
	return d, s.settle(d)
}

// itemCost returns the tokens that an item adds to the text.
func (s *viewInput) itemCost(it *items.Item) int {
	return s.count(items.RecentEntry(it)) + s.count("\n\n")
}

// relevantCost returns the tokens that an item adds to the relevant part.
func (s *viewInput) relevantCost(it *items.Item) int {
	return s.count(items.RelevantEntry(it)) + s.count("\n\n")
}

// settle drops items until text and messages are within the budget: the whole may have a
// few tokens more than its parts, and the messages more than the text.
func (s *viewInput) settle(d *draft) error {
	for {
		size := s.writeMessages(d)
		if size <= s.budget {
			d.text = items.AssembleText(d.recent, d.relevant, d.query)
			d.tokens = s.count(d.text)
			size = d.tokens
		}
		lost := strings.TrimSpace(d.query) == "" && strings.TrimSpace(s.query) != ""
		if size <= s.budget && !lost {
			return nil
		}
		if lost || !s.drop(d) {
			least := s.count(items.AssembleText(nil, nil, s.query))
			return fmt.Errorf("%w: the query alone takes %d tokens, and %d have no room even for a part of it",
				fault.ErrCannotFit, least, s.budget)
		}
	}
}

// drop removes what matters least: the oldest item that is neither pinned nor held, then
// relevant items, then the digest, for which the marker is enough, pinned and held items, the
// marker, and the newest item.
func (s *viewInput) drop(d *draft) bool {
	newest := int64(0)
	for i := range d.recent {
		newest = max(newest, d.recent[i].ID)
	}
	plain := slices.IndexFunc(d.recent, func(it items.Item) bool {
		return it.ID != newest && !isOpening(it) &&
			!s.keeps(&it)
	})
	kept := slices.IndexFunc(d.recent, func(it items.Item) bool { return it.ID != newest && !isOpening(it) })
	switch {
	case plain >= 0:
		d.recent = slices.Delete(d.recent, plain, plain+1)
	case len(d.relevant) > 0:
		d.relevant = d.relevant[1:]
	case len(d.recent) > 0 && isOpening(d.recent[0]) && d.recent[0].Content != hiddenMark:
		s.bare(d)
	case kept >= 0:
		d.recent = slices.Delete(d.recent, kept, kept+1)
	case len(d.recent) > 0:
		d.recent = d.recent[1:]
	default:
		return false
	}
	return true
}

// bare replaces the digest by the marker.
func (s *viewInput) bare(d *draft) {
	if d.recent = d.recent[1:]; len(d.recent) == 0 || !isOpening(d.recent[0]) {
		d.recent = slices.Insert(d.recent, 0, opening(hiddenMark))
	}
}

// writeMessages writes the messages and returns their size. They end with the query, or with
// the newest item if there is none.
func (s *viewInput) writeMessages(d *draft) int {
	d.messages, d.openings = nil, nil
	size := 0
	say := func(role chat.Role, text string) {
		if strings.TrimSpace(text) == "" {
			return // providers refuse empty parts
		}
		n := len(d.messages)
		if n == 0 || d.messages[n-1].Role != role {
			d.messages = append(d.messages, chat.Message{Role: role})
			n++
			size += framing
		}
		m := &d.messages[n-1]
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Text, Type: "text", Text: chat.Quote(text)})
		size += s.count(text)
	}
	recall := func() {
		if len(d.relevant) == 0 {
			return
		}
		entries := []string{titleRelevant}
		for i := range d.relevant {
			entries = append(entries, items.RelevantEntry(&d.relevant[i]))
		}
		say(chat.User, entries[0]+"\n"+strings.Join(entries[1:], "\n\n"))
		d.into = len(d.messages) - 1
	}
	end := len(d.recent) // what ends the messages; without a query that is the newest item
	if strings.TrimSpace(d.query) == "" {
		for end--; end >= 0 && (isOpening(d.recent[end]) || strings.TrimSpace(d.recent[end].Content) == ""); end-- {
		}
	}
	for i := range d.recent {
		if i == end {
			recall()
		}
		it := &d.recent[i]
		role := roleOf(it.Source)
		if strings.TrimSpace(it.Content) == "" {
			continue
		}
		if isOpening(*it) {
			kind := kindMarker
			if it.Content != hiddenMark {
				kind = s.digestKind
			}
			d.openings = append(d.openings, inserted{kind, it.Content})
		} else if role == chat.Assistant && len(d.messages) == 0 {
			d.openings = append(d.openings, inserted{kindMarker, assistantFirst})
			say(chat.User, assistantFirst)
		}
		if it.Source == items.SourceUser || it.Source == items.SourceAssistant { // the role says it
			say(role, it.Content)
		} else {
			say(role, items.RecentEntry(it))
		}
	}
	if end < 0 || end == len(d.recent) {
		recall()
	}
	say(chat.User, d.query)
	return size
}
