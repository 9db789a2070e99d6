package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oriel-context/oriel/internal/call"
	"github.com/oriel-context/oriel/internal/engine/fault"
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
	// Conversation is the item's conversation: the one that was asked, or another that
	// the search covered. Only that one can dismiss or edit it.
	Conversation string      `json:"conversation"`
	Kind         recall.Kind `json:"kind"`
	Time         time.Time   `json:"time"`
	Text         string      `json:"text"`
	// Original is what the user said, if Text was edited.
	Original string `json:"original,omitempty"`

	block string
}

// Directives implements oriel.Conversation.Directives.
func (c *Conversation) Directives(ctx context.Context) ([]Directive, error) {
	const op = "list directives"
	at, err := c.head(ctx, op)
	if err != nil {
		return nil, err
	}
	all, _, err := c.directives(ctx, at, recall.ReachConversation)
	if err != nil {
		return nil, c.engine.storeError(ctx, op, c.id, err)
	}
	return all, nil
}

// head returns the place of the newest item.
func (c *Conversation) head(ctx context.Context, op string) (at timeline.Place, err error) {
	err = c.either(ctx, op, func(r *call.Recorded) error {
		at = r.Head()
		return nil
	}, func(p *loaded) error {
		at = p.stored.Head
		return nil
	})
	return at, err
}

// Dismiss implements oriel.Conversation.Dismiss.
func (c *Conversation) Dismiss(ctx context.Context, id int64) error {
	return c.replaceDirectives(ctx, fmt.Sprintf("dismiss the directives of item %d", id), id, "")
}

// MaxDirective is the most bytes of an edited directive: what a call offers of all of them
// is limited, and a longer one would be left out.
const MaxDirective = 600

// EditDirective implements oriel.Conversation.EditDirective.
func (c *Conversation) EditDirective(ctx context.Context, id int64, text string) error {
	op := fmt.Sprintf("edit the directives of item %d", id)
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return c.fail(op, fmt.Errorf("%w: the text is empty", fault.ErrConfig), "dismiss the directive to end it")
	case len(text) > MaxDirective || !utf8.ValidString(text):
		return c.fail(op, fmt.Errorf("%w: the text has %d bytes: give at most %d, in UTF-8", fault.ErrConfig, len(text),
			MaxDirective), "")
	}
	at, err := c.head(ctx, op)
	if err != nil {
		return err
	}
	all, gone, err := c.directives(ctx, at, recall.ReachConversation)
	if err != nil {
		return c.engine.storeError(ctx, op, c.id, err)
	}
	if !gone[strconv.FormatInt(id, 10)] &&
		!slices.ContainsFunc(all, func(d Directive) bool { return d.ID == id && d.Conversation == c.id }) {
		return c.fail(op, fault.ErrNoDirective, "nobody said there that something should always hold")
	}
	return c.replaceDirectives(ctx, op, id, text)
}

// replaceDirectives stores a text in place of the directives of an item.
func (c *Conversation) replaceDirectives(ctx context.Context, op string, id int64, text string) error {
	return c.either(ctx, op, func(r *call.Recorded) error {
		return r.Note(ctx, id, func(notes timeline.Notes, at timeline.Place, revision int64) (*timeline.Record, error) {
			return dismissal(ctx, notes, at, text, revision)
		})
	}, func(p *loaded) error {
		if err := p.known(op, id); err != nil {
			return err
		}
		at, err := p.placeOf(ctx, id)
		if err != nil {
			return err
		}
		note, err := dismissal(ctx, p.notes(), at, text, p.stored.Revision+1)
		if err == nil && note != nil {
			p.put(*note)
		}
		return err
	})
}

// dismissal returns the record that replaces the directives of the message at a place by
// text; nil if it is stored already.
func dismissal(ctx context.Context, n timeline.Notes, at timeline.Place, text string,
	revision int64) (*timeline.Record, error) {
	all, err := n.Dismissed(ctx)
	if err != nil || slices.ContainsFunc(all, func(d timeline.Dismissal) bool { return d.Of(at) && d.Text == text }) {
		return nil, err
	}
	r, err := timeline.Dismiss(all, at, text, revision).Record()
	return &r, err
}

// directives returns the directives in effect, oldest first, and the blocks of dismissed
// ones.
func (c *Conversation) directives(ctx context.Context, at timeline.Place,
	reach recall.Reach) (hold []Directive, gone map[string]bool, err error) {
	said, dismissed, err := c.engine.library.Directives(ctx, c.where(at, reach))
	if errors.Is(err, timeline.ErrNoConversation) { // it begins with its first item
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	gone = map[string]bool{}
	for _, block := range dismissed {
		gone[block] = true
	}
	return directivesOf(said, c.id), gone, nil
}

// directivesOf returns directives with the items that contain them. own is the conversation
// that the search began in.
func directivesOf(said []recall.Directive, own string) (all []Directive) {
	for i := range said {
		d := &said[i]
		name, id := origin(d.Block, own)
		all = append(all, Directive{ID: id, Conversation: name, Kind: d.Kind, Text: d.Text, Original: d.Original,
			Time: d.Time, block: d.Block})
	}
	return all
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
	it := shown[d.ID]
	if d.Original != "" {
		return it != nil && strings.Contains(it.Content, d.Text)
	}
	if s.asked >= 0 && s.items[s.asked].ID == d.ID {
		return true
	}
	return it != nil && (it.Full == "" || strings.Contains(it.Content, d.Text))
}

// directiveTokens returns the most tokens that directives may have in a view.
func (e *Engine) directiveTokens(budget int) int {
	if n := e.config.DirectiveTokens; n != 0 {
		return n
	}
	return budget / 16
}
