package usage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/oriel-context/oriel/internal/call"
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
	s := &Status{}
	var err error
	if o.Session == "" {
		err = s.newest(ctx, store, tenant, &o)
	} else {
		err = s.ofSession(ctx, store, tenant, &o)
	}
	if err != nil {
		return nil, err
	}
	o.By, o.Options.Since = Month, o.Since
	r, err := Read(ctx, store, tenant, o.Options)
	if err != nil {
		return nil, err
	}
	s.Cost, s.Without, s.UnknownModels = r.Total.Cost, r.Total.Without, r.Total.UnknownModels
	return s, nil
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

// newest takes the newest call of all.
func (s *Status) newest(ctx context.Context, store timeline.Store, tenant string, o *StatusOptions) error {
	conversation, call, err := Newest(ctx, store, tenant)
	if err == nil && call != "" {
		_, err = s.readCall(ctx, store, tenant, conversation, call, o)
	}
	return err
}

// ofSession takes the newest call of the first conversation of the session whose newest call
// has tools or, if there is none, of the first one with a call.
func (s *Status) ofSession(ctx context.Context, store timeline.Store, tenant string, o *StatusOptions) error {
	all, err := store.Conversations(ctx, tenant)
	if err != nil {
		return err
	}
	session := sessionFirst(all, o.Session)
	for i := range session {
		call, err := Latest(ctx, store, tenant, session[i].Name)
		tools := false
		if err == nil && call != "" {
			tools, err = s.readCall(ctx, store, tenant, session[i].Name, call, o)
		}
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) { // deleted meanwhile
			return err
		}
		if tools {
			break
		}
	}
	return nil
}

// readCall reads a call, and uses it if s has no call or this one has tools. It reports whether
// it has.
func (s *Status) readCall(ctx context.Context, store timeline.Store, tenant, conversation, key string,
	o *StatusOptions) (tools bool, err error) {
	records, err := store.Records(ctx, tenant, conversation, "call", key)
	if err != nil || len(records) == 0 {
		return false, err
	}
	c, err := call.Decode(&records[0])
	if err != nil {
		return false, err
	}
	tools = c.Tools != "" && c.Tools != emptyList
	if !tools && s.Conversation != "" {
		return false, nil
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
	return tools, nil
}

// emptyList names the content of an empty list of tools.
var emptyList = timeline.HashOf([]byte("[]")).String()

// Newest returns the newest call of all, of those that Latest returns, and its conversation.
// Both are empty if no call was recorded. Pins and other notes change conversations, too.
func Newest(ctx context.Context, store timeline.Store, tenant string) (conversation, call string, err error) {
	all, err := store.Conversations(ctx, tenant)
	if err != nil {
		return "", "", err
	}
	slices.SortStableFunc(all, func(a, b timeline.Conversation) int { return b.Updated.Compare(a.Updated) })
	var began time.Time
	for i := range all {
		if all[i].Updated.Before(began) {
			break // older ones have older calls
		}
		key, err := Latest(ctx, store, tenant, all[i].Name)
		var records []timeline.Record
		if err == nil && key != "" {
			records, err = store.Records(ctx, tenant, all[i].Name, "call", key)
		}
		if err != nil && !errors.Is(err, timeline.ErrNoConversation) { // deleted meanwhile
			return "", "", err
		}
		if len(records) > 0 && (call == "" || records[0].Time.After(began)) {
			conversation, call, began = all[i].Name, key, records[0].Time
		}
	}
	return conversation, call, nil
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
		c, err := call.Decode(&found[0])
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
