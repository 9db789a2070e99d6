package timeline

import (
	"context"
	"errors"
	"time"
)

// Said returns the time of the last message of a conversation. It is the time at which
// the message was said, which for an imported message is long before the import; if the
// message has none, or one after the last change, it is the time of that change. A
// conversation without messages was last used when it was changed.
func Said(ctx context.Context, s Store, tenant string, c *Conversation) (time.Time, error) {
	said := c.Updated
	err := s.Messages(ctx, tenant, c.Head, c.Head.Depth, c.Head.Depth, true, func(e *Entry) error {
		if !e.Time.IsZero() && e.Time.Before(said) {
			said = e.Time
		}
		return nil
	})
	if errors.Is(err, ErrNoPlace) { // deleted meanwhile
		err = nil
	}
	return said, err
}
