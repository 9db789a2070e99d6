package usage

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel"
	"github.com/oriel-context/oriel/internal/thread"
	"github.com/oriel-context/oriel/timeline"
)

// Status describes a conversation and the usage of a day, for a status bar. Its JSON form
// is that of oriel statusline --json.
type Status struct {
	// Conversation is empty if no call was recorded, or none of the named session.
	Conversation string `json:"conversation,omitempty"`
	Model        string `json:"model,omitempty"`
	// Tokens is the size of the newest prompt, as counted by the provider or, if it did
	// not report it, by Oriel. LeftOut is the size of what was not sent.
	Tokens  int `json:"tokens"`
	LeftOut int `json:"left_out"`
	// Limit is the size above which something is left out: the profile's, or what the
	// model takes.
	Limit int `json:"limit"`
	// Cost and Without are those of all calls of the day.
	Cost          float64  `json:"cost"`
	Without       float64  `json:"without"`
	UnknownModels []string `json:"unknown_models"`
}

// StatusOptions are the options of ReadStatus.
type StatusOptions struct {
	// Session is the name of the session whose window is meant; empty for the newest call.
	Session string
	// Since is when the day began.
	Since time.Time
	Options
}

// ReadStatus reads the status. It reads the records of conversations of the day, and of the
// one that is meant.
func ReadStatus(ctx context.Context, store timeline.Store, tenant string, o StatusOptions) (*Status, error) {
	all, err := store.Conversations(ctx, tenant)
	if err != nil {
		return nil, err
	}
	// The session's own conversation goes before those of its sub-agents, newer before older.
	slices.SortStableFunc(all, func(a, b timeline.Conversation) int {
		switch o.Session {
		case a.Name:
			return -1
		case b.Name:
			return 1
		}
		return b.Updated.Compare(a.Updated)
	})
	s := &Status{}
	for i := range all {
		if c := &all[i]; o.Session == "" || c.Name == o.Session || strings.HasPrefix(c.Name, o.Session+"~") {
			found, err := s.newest(ctx, store, tenant, c.Name, &o)
			if err != nil {
				return nil, err
			}
			if found {
				break
			}
		}
	}
	o.By, o.Options.Since = Month, o.Since
	r, err := Read(ctx, store, tenant, o.Options)
	if err != nil {
		return nil, err
	}
	s.Cost, s.Without, s.UnknownModels = r.Total.Cost, r.Total.Without, r.Total.UnknownModels
	return s, nil
}

// newest reads the newest call of a conversation, and reports whether it has one.
func (s *Status) newest(ctx context.Context, store timeline.Store, tenant, conversation string, o *StatusOptions) (bool, error) {
	key, err := Latest(ctx, store, tenant, conversation)
	if err != nil || key == "" {
		return false, err
	}
	records, err := store.Records(ctx, tenant, conversation, "call", key)
	if err != nil || len(records) == 0 {
		return false, err
	}
	c, err := oriel.DecodeCall(&records[0])
	if err != nil {
		return false, err
	}
	s.Conversation, s.Model, s.Tokens, s.LeftOut = conversation, c.Model, c.Tokens, max(0, c.Came-c.Tokens)
	if c.Usage != nil {
		s.Tokens = cmp.Or(OfProvider(c.Usage).Prompt(), s.Tokens)
	}
	switch {
	case c.Wish > 0 && c.Wish < c.Hard:
		s.Limit = c.Wish
	case c.Hard > 0:
		s.Limit = c.Hard
	default:
		s.Limit = o.models().Lookup(c.Model).Window
	}
	return true, nil
}

// Latest returns the id of the newest call of a conversation, empty if it has none. Calls
// beside the conversation, such as one for its title, do not count unless there are only
// those.
func Latest(ctx context.Context, store timeline.Store, tenant, conversation string) (id string, err error) {
	keys, err := store.RecordKeys(ctx, tenant, conversation, "call")
	if err != nil {
		return "", err
	}
	for _, key := range slices.Backward(keys) {
		if strings.HasPrefix(key, Imported) {
			continue
		}
		found, err := store.Records(ctx, tenant, conversation, "call", key)
		if err != nil {
			return "", err
		}
		if len(found) == 0 {
			continue
		}
		c, err := oriel.DecodeCall(&found[0])
		if err != nil {
			return "", err
		}
		if c.Thread != thread.Side {
			return key, nil
		}
		id = cmp.Or(id, key)
	}
	return id, nil
}
