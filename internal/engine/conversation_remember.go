package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/recall"
)

// MetaBlock is the key under which the Meta of a recalled item without an ID names its
// block, as Plan.Inserted does.
const MetaBlock = "oriel.block"

// recalled is the part of an item that a view recalls.
type recalled struct {
	block string
	score float64 // of its best passage
	items.Item
}

// remember adds to a view directives and what the history has about the query (SPEC D3),
// within half of the time that is left. If that fails, the view is made without it and
// its plan has a warning.
func (c *Conversation) remember(ctx context.Context, s *viewInput, o *ContextOptions) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	shown, room := s.reserve()
	for i := range s.relevant {
		room -= s.relevantCost(&s.relevant[i])
	}
	if room <= 0 {
		return
	}
	all, dismissed, err := c.directives(ctx, s.at, o.Recall.Reach)
	standing := c.standing(s, all, shown, min(room, c.engine.directiveTokens(s.budget)))
	for i := range standing {
		room -= s.relevantCost(&standing[i].Item)
	}
	var found []recalled
	if err == nil {
		found, err = c.find(ctx, s, shown, dismissed, room, o.Recall)
	}
	if err != nil {
		s.failed = err
		s.warnings = append(s.warnings, fmt.Sprintf("recall failed and the view is without it: %v", err))
	}
	for _, m := range unite(standing, found) {
		s.relevant = append(s.relevant, m.Item)
	}
}

// find searches the history for what is not shown, best first.
func (c *Conversation) find(ctx context.Context, s *viewInput, shown map[int64]*items.Item, dismissed map[string]bool,
	room int, o RecallOptions) ([]recalled, error) {
	room -= s.count(titleRelevant) + s.count("\n\n")
	if room <= 0 || strings.TrimSpace(s.query) == "" {
		return nil, nil
	}
	if o.Budget == 0 || o.Budget > room {
		o.Budget = room
	}
	own := func(block string) (*items.Item, bool) {
		name, id := c.origin(block)
		if name != c.id {
			return nil, false
		}
		return shown[id], s.asked >= 0 && s.items[s.asked].ID == id
	}
	result, err := c.search(ctx, s.at, s.query, s.state, o, dismissed, func(block string) bool {
		it, asked := own(block)
		return asked || it != nil && it.Full == ""
	})
	if err != nil {
		return nil, err
	}
	repeats := s.repeats(shown)
	passages := slices.DeleteFunc(result.Passages, func(p recall.Passage) bool {
		visible, _ := own(p.Block) // without its middle
		return visible != nil && strings.Contains(visible.Content, strings.TrimSpace(p.Text)) || repeats(&p)
	})
	var found []recalled
	var last recall.Passage
	end := func() {
		if last.Cut {
			m := &found[len(found)-1]
			m.Content = strings.TrimRight(m.Content, "\n") + strings.TrimRight(gap, "\n")
		}
	}
	for _, p := range s.fitting(passages, room) {
		if n := len(found); n > 0 && found[n-1].block == p.Block && found[n-1].Source == items.Source(p.Role) {
			m := &found[n-1]
			if p.Part != last.Part+1 || p.Tool || last.Cut {
				m.Content = strings.TrimRight(m.Content, "\n") + gap
			}
			m.Content += p.Text
			m.score = max(m.score, p.Score)
		} else {
			end()
			visible, _ := own(p.Block)
			// The output of a tool within a message is an entry of its own; only one
			// entry has the item's id.
			m := c.recalled(p.Block, visible != nil || len(found) > 0 && found[len(found)-1].block == p.Block)
			m.score, m.Content, m.Source, m.Time = p.Score, p.Text, items.Source(p.Role), timeOf(&p)
			if p.Name != "" {
				m.Content = p.Name + ": " + p.Text
			}
			found = append(found, m)
		}
		last = p
	}
	end()
	for i := range found {
		found[i].Content = strings.TrimSpace(found[i].Content)
		found[i].Tokens = s.count(found[i].Content)
	}
	slices.SortStableFunc(found, func(a, b recalled) int { return cmp.Compare(b.score, a.score) })
	return found, nil
}

// repeats returns a function that reports whether a passage has the same text as
// something that is shown, or as the query (SPEC D3).
func (s *viewInput) repeats(shown map[int64]*items.Item) func(*recall.Passage) bool {
	texts := map[string]bool{strings.TrimSpace(s.query): true}
	for _, it := range shown {
		texts[strings.TrimSpace(it.Content)] = true
	}
	return func(p *recall.Passage) bool {
		said := strings.TrimSpace(p.Text)
		if p.Parts == 1 && !p.Cut || texts[said] {
			return texts[said]
		}
		for text := range texts {
			if strings.Contains(text, said) {
				return true
			}
		}
		return false
	}
}

// gap separates two passages of an item that are not adjacent, and follows a passage of
// which only the beginning is shown.
const gap = "\n…\n"

func timeOf(p *recall.Passage) time.Time {
	if p.Time == nil {
		return time.Time{}
	}
	return *p.Time
}

// fitting returns the best passages that fit the room, in their order. An item is shown
// as a whole or not at all, so the passages of one item together must fit.
func (s *viewInput) fitting(passages []recall.Passage, room int) []recall.Passage {
	order := make([]int, len(passages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(passages[b].Score, passages[a].Score) })
	begun := map[string]bool{}
	var fit []int
	for _, i := range order {
		p := &passages[i]
		n := s.count(p.Text)
		if p.Cut {
			n += s.count(gap)
		}
		if begun[p.Block] {
			n += s.count(gap)
		} else {
			n += s.relevantCost(&items.Item{Source: items.Source(p.Role), Time: timeOf(p), Content: p.Name + ": "})
		}
		if n <= room {
			room -= n
			begun[p.Block] = true
			fit = append(fit, i)
		}
	}
	slices.Sort(fit)
	out := make([]recall.Passage, len(fit))
	for k, i := range fit {
		out[k] = passages[i]
	}
	return out
}

// recalled returns an empty entry for an item. Only an item of this conversation that is
// not in view gets its id, because a second entry with the same id would count as a
// repetition.
func (c *Conversation) recalled(block string, inView bool) recalled {
	m := recalled{block: block}
	if name, id := c.origin(block); name == c.id && !inView {
		m.ID = id
	} else {
		m.Meta = map[string]string{MetaBlock: block}
	}
	return m
}

// blockOf returns the block that an item of the relevant part comes from.
func blockOf(it *items.Item) string {
	if it.ID != 0 {
		return itemKey(it.ID)
	}
	return it.Meta[MetaBlock]
}

// unite returns the directives followed by what was found, without duplicates.
func unite(standing, found []recalled) []recalled {
	for i := range standing {
		d := &standing[i]
		at := slices.IndexFunc(found, func(m recalled) bool { return m.block == d.block })
		if at < 0 {
			continue
		}
		if !strings.Contains(found[at].Content, d.Content) {
			found[at].Content = d.Content + gap + found[at].Content
		}
		standing[i] = found[at]
		found = slices.Delete(found, at, at+1)
	}
	return append(standing, found...)
}
