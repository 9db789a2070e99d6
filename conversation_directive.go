package oriel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/recall"
	"github.com/oriel-context/oriel/timeline"
)

// Directive is a standing instruction or preference of the user: "always …", "call me …",
// "I prefer …". Directives are detected in the user's own items, so that they last as
// long as the history, imported or not.
type Directive struct {
	// ID is the id of the item that contains it.
	ID int64 `json:"id"`
	// Conversation is the item's conversation: the one that was asked, or one that it
	// continues. Only that one can dismiss it.
	Conversation string      `json:"conversation"`
	Kind         recall.Kind `json:"kind"`
	Time         time.Time   `json:"time"`
	Text         string      `json:"text"`

	block string
}

// Directives returns the standing instructions and preferences of the conversation that
// are not dismissed, oldest first. Views show the newest of them, with their times,
// within Config.DirectiveTokens.
func (c *Conversation) Directives(ctx context.Context) ([]Directive, error) {
	const op = "list directives"
	var at timeline.Place
	if err := c.run(ctx, op, func(p *loaded) error {
		at = p.stored.Head
		return nil
	}); err != nil {
		return nil, err
	}
	all, _, err := c.directives(ctx, at, recall.ReachConversation)
	if err != nil {
		return nil, c.engine.storeError(ctx, op, c.id, err)
	}
	return all, nil
}

// Dismiss ends the directives of an item for good. The item stays in the history and can
// be recalled. Dismissing an item twice is not an error.
func (c *Conversation) Dismiss(ctx context.Context, id int64) error {
	op := fmt.Sprintf("dismiss the directives of item %d", id)
	return c.run(ctx, op, func(p *loaded) error {
		if err := p.known(op, id); err != nil {
			return err
		}
		if was, err := p.dismissedHere(ctx, id); err != nil || len(was) > 0 {
			return err
		}
		note, err := p.newPin(ctx, timeline.KindDismissed, id)
		if err != nil {
			return err
		}
		p.put(note.DismissedRecord())
		return nil
	})
}

// directives returns the directives in effect, oldest first, and the blocks of dismissed
// ones.
func (c *Conversation) directives(ctx context.Context, at timeline.Place, reach recall.Reach) (hold []Directive, gone map[string]bool, err error) {
	said, err := c.engine.library.Directives(ctx, c.where(at, reach))
	if errors.Is(err, timeline.ErrNoConversation) { // it begins with its first item
		return nil, nil, nil
	}
	if err != nil || len(said) == 0 {
		return nil, nil, err
	}
	dismissed := map[string]map[int64]bool{} // by conversation
	gone = map[string]bool{}
	for i := range said {
		name, id := c.origin(said[i].Block)
		ids, ok := dismissed[name]
		if !ok {
			if ids, err = c.dismissed(ctx, name); err != nil {
				return nil, nil, err
			}
			dismissed[name] = ids
		}
		if ids[id] {
			gone[said[i].Block] = true
			continue
		}
		hold = append(hold, Directive{ID: id, Conversation: name, Kind: said[i].Kind, Text: said[i].Text, Time: said[i].Time, block: said[i].Block})
	}
	return hold, gone, nil
}

// dismissed returns the items of a conversation whose directives are dismissed. A
// conversation other than c is read without being opened, because opening may change it.
func (c *Conversation) dismissed(ctx context.Context, name string) (map[int64]bool, error) {
	gone := map[int64]bool{}
	if name != c.id {
		other := loaded{id: name, tenant: c.tenant, engine: c.engine}
		var err error
		if other.stored, err = c.engine.store.Conversation(ctx, c.tenant, name); err == nil {
			err = other.readDismissed(ctx, gone)
		}
		if errors.Is(err, timeline.ErrNoConversation) { // deleted meanwhile
			return gone, nil
		}
		return gone, err
	}
	err := c.run(ctx, "read directives", func(p *loaded) error { return p.readDismissed(ctx, gone) })
	return gone, err
}

func (p *loaded) readDismissed(ctx context.Context, gone map[int64]bool) error {
	notes, err := p.dismissedHere(ctx, 0)
	for i := range notes {
		gone[notes[i].ID] = true
	}
	return err
}

// standing returns the newest directives that fit and are not shown, newest first. An
// older directive that contradicts a newer one is shown beside it, with its time, or left
// out before it. A directive that is too long for the room is skipped.
func (c *Conversation) standing(s *viewInput, all []Directive, shown map[int64]*items.Item, room int) []recalled {
	var out []recalled
	known := map[string]bool{} // by text
	for _, d := range slices.Backward(all) {
		key := strings.ToLower(d.Text)
		if known[key] {
			continue
		}
		known[key] = true
		if s.shows(&d, c, shown) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].block == d.block {
			last := &out[n-1]
			was, text := last.Content, d.Text+" "+last.Content
			last.Content = text
			more := s.count(text) - s.count(was)
			if more > room {
				last.Content = was
				continue
			}
			room -= more
			continue
		}
		m := c.recalled(d.block, d.Conversation == c.id && shown[d.ID] != nil)
		m.Content, m.Source, m.Time = d.Text, items.SourceUser, d.Time
		if n := s.relevantCost(&m.Item); n <= room {
			room -= n
			out = append(out, m)
		}
	}
	return out
}

// shows reports whether a directive is in view, or is the query itself.
func (s *viewInput) shows(d *Directive, c *Conversation, shown map[int64]*items.Item) bool {
	if d.Conversation != c.id {
		return false
	}
	if s.asked >= 0 && s.items[s.asked].ID == d.ID {
		return true
	}
	it := shown[d.ID]
	return it != nil && (it.Full == "" || strings.Contains(it.Content, d.Text))
}

// directiveTokens returns the most tokens that directives may have in a view.
func (e *Engine) directiveTokens(budget int) int {
	if n := e.config.DirectiveTokens; n != 0 {
		return n
	}
	return budget / 16
}
