package recall

import (
	"context"
	"fmt"
	"strconv"

	"github.com/oriel-context/oriel/timeline"
)

// loadBatch is how many messages are indexed between two looks at the context.
const loadBatch = 256

// Load adds what a conversation of a store has said, from its first message to where
// it stands. Blocks are the ids that people see; of another conversation than own,
// with its name before them: "support#17". What several conversations share is added
// once.
func (s *Scope) Load(ctx context.Context, store timeline.Store, tenant string, c *timeline.Conversation, own string) error {
	r := Reader{Conversation: c.Name}
	var batch []Message
	seen := func(p timeline.Place) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.places[p] {
			return true
		}
		if s.places == nil {
			s.places = map[timeline.Place]bool{}
		}
		s.places[p] = true
		return false
	}
	flush := func() error {
		err := s.Add(ctx, batch)
		batch = batch[:0]
		return err
	}
	err := store.Messages(ctx, tenant, c.Head, 1, c.Head.Depth, false, func(e *timeline.Entry) error {
		m, ok := r.Read(e)
		if !ok || seen(e.Place) {
			return nil
		}
		m.Block = strconv.FormatInt(e.Place.Depth, 10)
		if c.Name != own {
			m.Block = c.Name + "#" + m.Block
		}
		if batch = append(batch, m); len(batch) < loadBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return fmt.Errorf("load conversation %q: %w", c.Name, err)
	}
	return nil
}
