package usage

import (
	"cmp"
	"context"
	"errors"
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
	if o.Session == "" {
		all, err = calledLast(ctx, store, tenant, all)
	} else {
		all = sessionFirst(all, o.Session)
	}
	if err != nil {
		return nil, err
	}
	s := &Status{}
	for i := range all {
		found, tools, err := s.newest(ctx, store, tenant, all[i].Name, &o)
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) { // deleted meanwhile
			return nil, err
		}
		if found && tools {
			break
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

// calledLast returns the conversation with the newest call; none if there is no call. Pins
// and other notes change conversations, too.
func calledLast(ctx context.Context, store timeline.Store, tenant string, all []timeline.Conversation) (last []timeline.Conversation, err error) {
	slices.SortStableFunc(all, func(a, b timeline.Conversation) int { return b.Updated.Compare(a.Updated) })
	var ended time.Time
	for i := range all {
		if all[i].Updated.Before(ended) {
			break // older ones have older calls
		}
		key, err := Latest(ctx, store, tenant, all[i].Name)
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) { // deleted meanwhile
			return nil, err
		}
		if key == "" {
			continue
		}
		records, err := store.Records(ctx, tenant, all[i].Name, "call", key)
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) {
			return nil, err
		}
		if len(records) > 0 && records[0].Time.After(ended) {
			last, ended = all[i:i+1], records[0].Time
		}
	}
	return last, nil
}

// sessionFirst returns the conversations of a session in the order in which they may be the
// one that its user sees: its own and those that continue one, newer before older, then the
// others by number, because sub-agents come later. A small call without tools, such as one for
// a title, may have been the first and have the session's name.
func sessionFirst(all []timeline.Conversation, session string) []timeline.Conversation {
	all = slices.DeleteFunc(all, func(c timeline.Conversation) bool {
		return c.Name != session && !strings.HasPrefix(c.Name, session+"~")
	})
	main := func(c *timeline.Conversation) int {
		if c.Name == session || c.Continues != "" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b timeline.Conversation) int {
		if n := cmp.Compare(main(&a), main(&b)); n != 0 || main(&a) == 1 {
			return cmp.Or(n, cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
		}
		return b.Updated.Compare(a.Updated)
	})
	return all
}

// newest reads the newest call of a conversation, if it has one and s has no call or that one
// has tools. It reports both.
func (s *Status) newest(ctx context.Context, store timeline.Store, tenant, conversation string, o *StatusOptions) (found, tools bool, err error) {
	key, err := Latest(ctx, store, tenant, conversation)
	if err != nil || key == "" {
		return false, false, err
	}
	records, err := store.Records(ctx, tenant, conversation, "call", key)
	if err != nil || len(records) == 0 {
		return false, false, err
	}
	c, err := oriel.DecodeCall(&records[0])
	if err != nil {
		return false, false, err
	}
	tools = c.Tools != "" && c.Tools != emptyList
	if !tools && s.Conversation != "" {
		return true, false, nil
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
	return true, tools, nil
}

// emptyList names the content of an empty list of tools.
var emptyList = timeline.HashOf([]byte("[]")).String()

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
