package eval

import (
	"fmt"
	"slices"

	"github.com/oriel-context/oriel/recall"
)

// Together returns the set with all conversations as one, so that each question is asked of
// all of them, as a search of a project or of everything is. Refs, blocks and ids get the name
// of their conversation in front. Sets whose questions are asked in the middle of a
// conversation cannot be put together.
func (s *Set) Together() (*Set, error) {
	all := Conversation{Name: "all"}
	for i := range s.Conversations {
		c := &s.Conversations[i]
		name := func(id string) string { return c.Name + "/" + id }
		for _, m := range c.Messages {
			m.Conversation, m.Block, m.Ref = c.Name, name(m.Block), name(m.Ref)
			if m.Session != "" {
				m.Session = name(m.Session)
			}
			all.Messages = append(all.Messages, m)
		}
		for _, q := range c.Questions {
			if q.Said != 0 || q.Gone != 0 || q.File != "" {
				return nil, fmt.Errorf(
					"%w: questions of %s are asked in the middle of a conversation: leave out --scope", ErrOption,
					s.Format)
			}
			q.ID, q.Evidence = name(q.ID), slices.Clone(q.Evidence)
			for k := range q.Evidence {
				q.Evidence[k] = name(q.Evidence[k])
			}
			all.Questions = append(all.Questions, q)
		}
	}
	return &Set{Format: s.Format, Conversations: []Conversation{all}, Unknown: s.Unknown}, nil
}

// Reaches returns the reaches that a set can be measured with.
func Reaches() []recall.Reach { return []recall.Reach{recall.ReachConversation, recall.ReachUser} }
