package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/clip"
	"github.com/oriel-context/oriel/internal/settings/suggest"
	"github.com/oriel-context/oriel/timeline"
)

// Last is the name that people use for the newest conversation, call or plan; Dash is
// another.
const (
	Last = "last"
	Dash = "-"
)

// maxRow is the largest number that is read as a row of the list of conversations. Longer
// numbers can only be the beginning of a name.
const maxRow = 999

// Missing is the error for a name that no conversation has, or more than one. It is
// timeline.ErrNoConversation.
type Missing struct {
	Name string
	// Near are names that may be meant, three at most. If Many is not 0, that many
	// names begin with Name, and Near are the first of them.
	Near []string
	Many int
	// Rows is how many rows the list has if Name is the number of a row that it does not
	// have.
	Rows int
}

func (m *Missing) Unwrap() error { return timeline.ErrNoConversation }

func (m *Missing) Error() string {
	name := strconv.Quote(clip.To(m.Name, 80))
	var near []string
	for _, n := range m.Near {
		near = append(near, strconv.Quote(clip.To(n, 80)))
	}
	switch {
	case m.Rows > 0:
		return fmt.Sprintf("there is no row %s in the list of conversations: it has rows 1 to %d", clip.To(m.Name, 80),
			m.Rows)
	case m.Many > len(near):
		return fmt.Sprintf("%s is the beginning of %d names, such as %s: give more of it", name, m.Many,
			strings.Join(near, ", "))
	case m.Many > 0:
		return fmt.Sprintf("%s is the beginning of %s: give more of it", name, strings.Join(near, " and "))
	case len(near) > 0:
		return fmt.Sprintf("no conversation is called %s: did you mean %s?", name, strings.Join(near, " or "))
	}
	return fmt.Sprintf("no conversation is called %s: oriel conversations lists them", name)
}

// Listed is a conversation with the time of its last message.
type Listed struct {
	timeline.Conversation
	Said time.Time
	// Row is its place in the list of all conversations, from 1 on.
	Row int
}

// Conversations lists the conversations of a tenant, the one that was used last first.
func Conversations(ctx context.Context, s timeline.Store, tenant string) ([]Listed, error) {
	all, err := s.Conversations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	list := make([]Listed, len(all))
	for i := range all {
		list[i].Conversation = all[i]
		if list[i].Said, err = timeline.Said(ctx, s, tenant, &all[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b Listed) int { return b.Said.Compare(a.Said) })
	for i := range list {
		list[i].Row = i + 1
	}
	return list, nil
}

// Find returns the conversation that a person means: by its name; by Last or Dash, the
// newest; by a number of up to three digits, that row of Conversations; or by the beginning
// of its name, if no other name begins so. Names of sub-agents and of further conversations
// of a session, which continue a name after a slash or as "~2", do not count as others; these
// are also found by the beginning of the session and that of what follows the slash, or the
// whole number, such as "7f3c/agent-1" or "7f3c~2". If there is none, the error is a *Missing.
func Find(ctx context.Context, s timeline.Store, tenant, name string) (timeline.Conversation, error) {
	c, err := s.Conversation(ctx, tenant, name)
	if !errors.Is(err, timeline.ErrNoConversation) {
		return c, err
	}
	row, isRow := Row(name)
	if isRow {
		list, err := Conversations(ctx, s, tenant)
		if err != nil {
			return c, err
		}
		if row <= len(list) {
			return list[row-1].Conversation, nil
		}
	}
	all, err := s.Conversations(ctx, tenant)
	if err != nil {
		return c, err
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	found := newNameIndex(names).begin(name)
	if len(found) == 1 {
		return all[slices.Index(names, found[0])], nil
	}
	missing := &Missing{Name: name, Near: found, Many: len(found)}
	switch {
	case len(found) == 0 && isRow && row > 1:
		missing.Rows = len(all)
	case len(found) == 0 && name != "":
		missing.Near = suggest.Names(name, names)
	}
	missing.Near = missing.Near[:min(3, len(missing.Near))]
	return c, missing
}

// Row returns the row of the list of conversations that a name such as "last" or "3"
// means, and whether it means a row. The next message in any conversation may change the
// rows.
func Row(name string) (row int, ok bool) {
	if name == Last || name == Dash {
		return 1, true
	}
	n, err := strconv.Atoi(name)
	return n, err == nil && 0 < n && n <= maxRow && strconv.Itoa(n) == name
}
